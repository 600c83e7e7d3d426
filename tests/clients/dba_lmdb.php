<?php
// PHP's dba on LMDB: php dba_lmdb.php FILE. It says what every call answers; debian_lmdb.py runs it on two libraries and compares.
$file = $argv[1];

function open($file, $mode) {
  $db = dba_open($file, $mode, "lmdb", 0644, 64 << 20);
  if ($db === false) die("dba_open $mode fails\n");
  return $db;
}
function walk($db) {
  $count = 0;
  $all = hash_init("crc32b");
  // Fetches between the steps: each ends or resets the transaction under the cursor.
  for ($key = dba_firstkey($db); $key !== false; $key = dba_nextkey($db)) {
    hash_update($all, $key . "=" . dba_fetch($key, $db) . ";");
    ++$count;
  }
  echo "walk: $count items, ", hash_final($all), "\n";
}

$db = open($file, "c");
for ($i = 0; $i < 3000; ++$i) {
  if (!dba_insert("key" . ($i * 7919 % 3000), "value $i " . str_repeat("x", $i % 100), $db)) echo "insert $i fails\n";
}
var_dump(dba_insert("key5", "again", $db), dba_fetch("key5", $db), dba_fetch("none", $db), dba_exists("key6", $db), dba_exists("none", $db));
walk($db);
for ($i = 0; $i < 3000; $i += 3) if (!dba_delete("key$i", $db)) echo "delete $i fails\n";
var_dump(dba_delete("key0", $db), dba_replace("key1", "replaced", $db), dba_fetch("key1", $db));
walk($db);
var_dump(dba_sync($db), dba_optimize($db));
dba_close($db);

$db = open($file, "r");
walk($db);
var_dump(@dba_insert("read", "only", $db), dba_fetch("key1", $db));
dba_close($db);

$db = open($file, "w");
for ($i = 0; $i < 100; ++$i) dba_replace("big$i", str_repeat(chr(65 + $i % 26), 20000), $db);
walk($db);
dba_close($db);

$db = open($file, "n"); // emptied
walk($db);
var_dump(dba_insert("first", "", $db), dba_fetch("first", $db));
dba_close($db);
echo "done\n";
