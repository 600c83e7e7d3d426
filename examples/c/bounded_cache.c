/* A cache on disk with a limit in bytes, which drops the entries that were used longest ago: bounded_cache DIR
 * "values" has the entries, "stamps" the time of the last use of each, and "order" the keys by that time. Each call is
 * one transaction, so the three agree after a crash. */
#include "text.h"

enum { BYTES_MAX = 100 };

static mergedb_db db;
static mergedb_keyspace values, stamps, order;

static size_t length_of(mergedb_transaction change, const char* key) {
  char* value = get(change, values, key);
  const size_t length = value ? strlen(value) : 0;
  mergedb_free(value);
  return length;
}

/* The key and the value of the first or of the last entry of "order"; 0 if it is empty. The caller frees both. */
static int end_of_order(mergedb_transaction change, int32_t which, char** stamp, char** key) {
  mergedb_cursor cursor = 0;
  mergedb_slice stamp_bytes, key_bytes;
  check(mergedb_cursor_open(change, order, &cursor, &error));
  const int found = there(mergedb_cursor_move(cursor, which, NULL, 0, &error));
  if (found) {
    check(mergedb_cursor_entry(cursor, &stamp_bytes, &key_bytes, &error));
    *stamp = copy(stamp_bytes), *key = copy(key_bytes);
  }
  check(mergedb_cursor_close(cursor, &error));
  return found;
}

/* Makes the key the last one in the order. */
static void touch(mergedb_transaction change, const char* key) {
  char* old = get(change, stamps, key);
  if (old) erase(change, order, old);
  mergedb_free(old);
  char *newest = NULL, *unused = NULL, stamp[24]; /* stamps have one length: the order of the keys is that of time */
  const int found = end_of_order(change, MERGEDB_TO_LAST, &newest, &unused);
  snprintf(stamp, sizeof stamp, "%lld", found ? strtoll(newest, NULL, 10) + 1 : 1000000000000LL);
  free(newest), free(unused);
  put(change, order, stamp, key);
  put(change, stamps, key, stamp);
}

/* NULL: the key is not in the cache. Give the text to mergedb_free. */
static char* cache_get(const char* key) {
  mergedb_transaction change = begin(db, MERGEDB_SINGLE_WRITER);
  char* value = get(change, values, key);
  if (value) touch(change, key);
  commit(change);
  return value;
}

static void cache_put(const char* key, const char* value) {
  mergedb_transaction change = begin(db, MERGEDB_SINGLE_WRITER);
  char* bytes = get(change, 0, "bytes");
  size_t used = (bytes ? strtoull(bytes, NULL, 10) : 0) - length_of(change, key) + strlen(value);
  mergedb_free(bytes);
  put(change, values, key, value);
  touch(change, key);
  for (char *stamp, *victim; used > BYTES_MAX && end_of_order(change, MERGEDB_TO_FIRST, &stamp, &victim);) {
    used -= length_of(change, victim);
    erase(change, order, stamp);
    erase(change, values, victim);
    erase(change, stamps, victim);
    free(stamp), free(victim);
  }
  char digits[24];
  snprintf(digits, sizeof digits, "%zu", used);
  put(change, 0, "bytes", digits);
  commit(change);
}

static void open_cache(int argc, char** argv) {
  db = open_database(argc, argv);
  values = keyspace(db, "values"), stamps = keyspace(db, "stamps"), order = keyspace(db, "order");
}

int main(int argc, char** argv) {
  open_cache(argc, argv);
  for (const char* key = "abc"; *key; ++key) cache_put((char[]){*key, '\0'}, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
  mergedb_free(cache_get("a"));           /* "b" is now the one used longest ago */
  cache_put("d", "xxxxxxxxxxxxxxxxxxxx"); /* 110 bytes are too many: "b" goes */
  if (cache_get("b")) return fprintf(stderr, "b is still there\n"), 1;
  check(mergedb_close(db, &error));
  open_cache(argc, argv); /* the cache survives a restart */
  mergedb_iterator it = iterate(db, order, "");
  for (int at = there(mergedb_iterator_seek_to_first(it, &error)); at; at = there(mergedb_iterator_next(it, &error))) {
    mergedb_slice key;
    check(mergedb_iterator_entry(it, NULL, &key, &error));
    printf("%.*s\n", (int)key.size, (const char*)key.data);
  }
  check(mergedb_iterator_close(it, &error));
  check(mergedb_close(db, &error));
  return 0;
}
