package dev.mergedb;

import static dev.mergedb.Testing.bytes;
import static dev.mergedb.Testing.direct;
import static dev.mergedb.Testing.fails;
import static dev.mergedb.Testing.keys;
import static dev.mergedb.Testing.small;
import static dev.mergedb.Testing.text;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.mergedb.MergedbException.Code;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Each call of Database does what it says. */
class DatabaseTest {
  @TempDir Path folder;
  private Path directory;
  private Database db;

  @BeforeEach
  void open() {
    directory = folder.resolve("db");
    db = Database.open(directory, small());
  }

  @AfterEach
  void close() {
    db.close();
  }

  private void reopen() {
    db.close();
    db = Database.open(directory, small());
  }

  @Test
  void putsAreThereAfterReopen() {
    db.put(bytes("apple"), bytes("green"));
    db.put(WriteOptions.SYNCED, bytes("cherry"), bytes("red"));
    db.put(WriteOptions.DEFAULT.withDurability(Durability.NO_WAL), bytes("plum"), bytes("blue"));
    reopen();
    assertEquals("green", text(db.get(bytes("apple"))));
    assertEquals("red", text(db.get(bytes("cherry"))));
    assertEquals("blue", text(db.get(bytes("plum"))));
    assertNull(db.get(bytes("pear")));
  }

  @Test
  void emptyKeysAndValues() {
    db.put(new byte[0], bytes("of the empty key"));
    db.put(bytes("k"), new byte[0]);
    assertEquals("of the empty key", text(db.get(new byte[0])));
    assertArrayEquals(new byte[0], db.get(bytes("k")));
    ByteBuffer value = ByteBuffer.allocateDirect(8);
    assertEquals(0, db.get(ReadOptions.DEFAULT, direct("k"), value));
    assertEquals(0, value.position());
    try (EntryIterator it = db.iterator()) {
      assertTrue(it.seekToFirst());
      assertEquals(0, it.key().length);
      assertTrue(it.next());
      assertEquals(0, it.value().length);
      assertFalse(it.next());
    }
  }

  @Test
  void valuesOfAllSizes() {
    Random random = new Random(1);
    for (int size : new int[] {1, 767, 768, 4095, 4096, 65_535, 65_536, 65_537, 1 << 20, (1 << 20) + 1, 5 << 20}) {
      byte[] value = new byte[size];
      random.nextBytes(value);
      byte[] key = bytes("size " + size);
      db.put(key, value);
      assertArrayEquals(value, db.get(key));
      ByteBuffer direct = ByteBuffer.allocateDirect(size + 3);
      direct.position(2);
      assertEquals(size, db.get(ReadOptions.DEFAULT, ByteBuffer.wrap(key), direct));
      assertEquals(size + 2, direct.position());
      assertEquals(ByteBuffer.wrap(value), direct.flip().position(2));
      ByteBuffer heap = ByteBuffer.allocate(size);
      assertEquals(size, db.get(ReadOptions.DEFAULT, ByteBuffer.wrap(key), heap));
      assertArrayEquals(value, heap.array());
    }
  }

  @Test
  void buffersOfAllKinds() {
    byte[] wide = bytes("..key......");
    ByteBuffer slice = ByteBuffer.wrap(wide, 2, 3).slice();
    List<ByteBuffer> keys = List.of(
        ByteBuffer.wrap(wide, 2, 3), slice, slice.asReadOnlyBuffer(), direct("key"), direct("xkey").position(1));
    List<ByteBuffer> values =
        List.of(ByteBuffer.wrap(bytes("value")), ByteBuffer.wrap(bytes("value")).asReadOnlyBuffer(), direct("value"));
    for (ByteBuffer key : keys) {
      for (ByteBuffer value : values) {
        int keyPosition = key.position();
        db.put(WriteOptions.DEFAULT, key, value);
        assertEquals(keyPosition, key.position());
        assertEquals(0, value.position());
        assertEquals("value", text(db.get(bytes("key"))));
        ByteBuffer found = ByteBuffer.allocateDirect(5);
        assertEquals(5, db.get(ReadOptions.DEFAULT, key, found));
        assertEquals(ByteBuffer.wrap(bytes("value")), found.flip());
        db.delete(WriteOptions.DEFAULT, key);
        assertNull(db.get(bytes("key")));
        assertEquals(-1, db.get(ReadOptions.DEFAULT, key, found));
        assertEquals(0, found.position());
      }
    }
  }

  @Test
  void aBufferThatIsTooSmallGetsWhatFits() {
    db.put(bytes("k"), bytes("0123456789"));
    for (ByteBuffer buffer : List.of(ByteBuffer.allocate(6), ByteBuffer.allocateDirect(6))) {
      buffer.position(2);
      assertEquals(10, db.get(ReadOptions.DEFAULT, direct("k"), buffer));
      assertEquals(6, buffer.position());
      byte[] got = new byte[4];
      buffer.position(2).get(got);
      assertEquals("0123", text(got));
    }
    ByteBuffer none = ByteBuffer.allocateDirect(0);
    assertEquals(10, db.get(ReadOptions.DEFAULT, direct("k"), none));
  }

  @Test
  void aReadOnlyBufferTakesNoValue() {
    db.put(bytes("k"), bytes("v"));
    ByteBuffer readOnly = ByteBuffer.allocateDirect(4).asReadOnlyBuffer();
    assertThrows(IllegalArgumentException.class, () -> db.get(ReadOptions.DEFAULT, direct("k"), readOnly));
  }

  @Test
  void multiGet() {
    db.put(bytes("a"), bytes("1"));
    db.put(bytes("c"), new byte[0]);
    List<byte[]> values = db.multiGet(ReadOptions.DEFAULT, List.of(bytes("a"), bytes("b"), bytes("c"), bytes("a")));
    assertEquals(Arrays.asList("1", null, "", "1"), values.stream().map(Testing::text).toList());
    assertEquals(List.of(), db.multiGet(ReadOptions.DEFAULT, List.of()));
  }

  @Test
  void deletes() {
    for (String key : List.of("a", "b", "c", "pa", "pb", "q")) {
      db.put(bytes(key), bytes("v"));
    }
    db.delete(bytes("a"));
    db.delete(WriteOptions.DEFAULT, bytes("never there"));
    db.deleteRange(WriteOptions.DEFAULT, bytes("b"), bytes("c"));
    db.deletePrefix(WriteOptions.DEFAULT, bytes("p"));
    try (EntryIterator it = db.iterator()) {
      assertEquals(List.of("c", "q"), keys(it));
    }
    fails(Code.INVALID_ARGUMENT, () -> db.deleteRange(bytes("z"), bytes("a")));
    fails(Code.INVALID_ARGUMENT, () -> db.deletePrefix(new byte[0]));
    fails(Code.INVALID_ARGUMENT, () -> db.deletePrefix(new byte[] {-1, -1}));
  }

  @Test
  void merges() {
    byte[] key = bytes("counter");
    db.addU64(key, 3);
    db.addU64(WriteOptions.DEFAULT, key, 4);
    db.merge(key, Merge.addU64(-1));
    assertEquals(6, Merge.toU64(db.get(key)));
    db.merge(WriteOptions.DEFAULT, bytes("list"), Merge.append(bytes("a")));
    db.merge(bytes("list"), Merge.append(bytes("b"), bytes(","), 0, Merge.Keep.NEWEST));
    assertEquals("a,b", text(db.get(bytes("list"))));
  }

  @Test
  void everyMerge() {
    check("u", Merge.maxU64(-1), Merge.fromU64(-1));
    check("u min", Merge.minU64(7), Merge.fromU64(7));
    check("i", Merge.addI64(-5), Merge.fromI64(-5));
    check("i failing", Merge.addI64Failing(6), Merge.fromI64(6));
    check("i max", Merge.maxI64(9), Merge.fromI64(9));
    check("i max", Merge.maxI64(-9), Merge.fromI64(9));
    check("i min", Merge.minI64(-9), Merge.fromI64(-9));
    check("f", Merge.addF64(1.5), Merge.fromF64(1.5));
    check("f max", Merge.maxF64(2.5), Merge.fromF64(2.5));
    check("f min", Merge.minF64(-2.5), Merge.fromF64(-2.5));
    check("b", Merge.maxBytes(bytes("m")), bytes("m"));
    check("b", Merge.maxBytes(bytes("a")), bytes("m"));
    check("b min", Merge.minBytes(bytes("c")), bytes("c"));
    check("or", Merge.or(new byte[] {5}), new byte[] {5});
    check("or", Merge.or(new byte[] {2}), new byte[] {7});
    check("and", Merge.and(new byte[] {6}), new byte[] {6});
    check("and", Merge.and(new byte[] {3}), new byte[] {2});
    check("xor", Merge.xor(new byte[] {7}), new byte[] {7});
    check("xor", Merge.xor(new byte[] {4}), new byte[] {3});
    check("cap", Merge.append(bytes("abc"), new byte[0], 4, Merge.Keep.NEWEST), bytes("abc"));
    check("cap", Merge.append(bytes("def"), new byte[0], 4, Merge.Keep.NEWEST), bytes("cdef"));
    check("first", Merge.first(5, bytes("x")), bytes("x"));
    check("first", Merge.first(6, bytes("y")), bytes("x"));
    check("last", Merge.last(5, bytes("x")), bytes("x"));
    check("last", Merge.last(6, bytes("y")), bytes("y"));
    check("json", Merge.jsonPatch("{\"a\":1}"), bytes("{\"a\":1}"));
    check("put", Merge.put(bytes("z")), bytes("z"));
    check("named", Merge.named("uint64add", Merge.fromU64(4)), Merge.fromU64(4));
    assertEquals(2.5, Merge.toF64(Merge.fromF64(2.5)));
    assertThrows(IllegalArgumentException.class, () -> Merge.toI64(new byte[7]));
    assertThrows(IllegalArgumentException.class, () -> Merge.named("", bytes("x")));
    assertThrows(IllegalArgumentException.class, () -> Merge.named("a\0b", bytes("x")));
  }

  private void check(String key, Merge operand, byte[] expected) {
    db.merge(bytes(key), operand);
    assertArrayEquals(expected, db.get(bytes(key)), key);
  }

  @Test
  void anOperandThatDoesNotFitMakesTheKeyFail() {
    db.put(bytes("k"), bytes("not 8 bytes"));
    db.addU64(bytes("k"), 1);
    fails(Code.MERGE_FAILED, () -> db.get(bytes("k")));
    db.put(bytes("k"), bytes("healed"));
    assertEquals("healed", text(db.get(bytes("k"))));
  }

  @Test
  void snapshots() {
    db.put(bytes("k"), bytes("old"));
    try (Snapshot snapshot = db.snapshot()) {
      db.put(bytes("k"), bytes("new"));
      db.put(bytes("l"), bytes("new"));
      ReadOptions then = ReadOptions.DEFAULT.withSnapshot(snapshot).withFillCache(false).withVerifyChecksums(false);
      assertEquals("old", text(db.get(then, bytes("k"))));
      assertEquals(Arrays.asList("old", null),
          db.multiGet(then, List.of(bytes("k"), bytes("l"))).stream().map(Testing::text).toList());
      try (EntryIterator it = db.iterator(IteratorOptions.DEFAULT.read(then))) {
        assertEquals(List.of("k"), keys(it));
      }
      assertTrue(snapshot.sequence() > 0);
    }
    assertEquals("new", text(db.get(bytes("k"))));
  }

  @Test
  void keyspaces() {
    Keyspace users = db.createKeyspace("users");
    Keyspace names = db.keyspace("名前 \uD83D\uDE00");
    assertEquals(users, db.keyspace("users"));
    assertEquals(users.hashCode(), db.findKeyspace("users").hashCode());
    assertNull(db.findKeyspace("none"));
    assertEquals(Map.of("users", users, "名前 \uD83D\uDE00", names), db.keyspaces());
    fails(Code.INVALID_ARGUMENT, () -> db.createKeyspace("users"));
    fails(Code.INVALID_ARGUMENT, () -> db.createKeyspace(""));
    fails(Code.INVALID_ARGUMENT, () -> db.createKeyspace("x".repeat(1025)));
    assertThrows(IllegalArgumentException.class, () -> db.createKeyspace("half \uD83D"));

    db.put(WriteOptions.DEFAULT.in(users), bytes("k"), bytes("of users"));
    db.put(WriteOptions.SYNCED.in(names), bytes("k"), bytes("of names"));
    assertNull(db.get(bytes("k")));
    assertEquals("of users", text(db.get(ReadOptions.DEFAULT.in(users), bytes("k"))));
    try (EntryIterator it = db.iterator(IteratorOptions.DEFAULT.read(ReadOptions.DEFAULT.in(names)))) {
      assertEquals(List.of("k"), keys(it));
    }
    reopen();
    assertEquals(names, db.findKeyspace("名前 \uD83D\uDE00"));
    db.compactKeyspace(users, null, null);
    db.clearKeyspace(WriteOptions.DEFAULT, users);
    assertNull(db.get(ReadOptions.DEFAULT.in(users), bytes("k")));
    db.dropKeyspace(users);
    assertNull(db.findKeyspace("users"));
    fails(Code.INVALID_ARGUMENT, () -> db.put(WriteOptions.DEFAULT.in(users), bytes("k"), bytes("v")));
    fails(Code.INVALID_ARGUMENT, () -> db.dropKeyspace(Keyspace.DEFAULT));
    fails(Code.INVALID_ARGUMENT, () -> db.dropKeyspace(WriteOptions.DEFAULT.in(names), names));
  }

  @Test
  void maintenance() {
    for (int i = 0; i < 2000; ++i) {
      db.put(bytes("key" + (10_000 + i)), new byte[100]);
    }
    db.syncWal();
    db.flush();
    db.compactRange(null, null);
    db.compactRange(bytes("key1"), bytes("key2"));
    db.waitForCompactions();
    db.check();
    long[] sizes =
        db.approximateSizes(List.of(new Range(bytes("key"), bytes("kez")), new Range(bytes("x"), bytes("y"))));
    assertEquals(2, sizes.length);
    assertTrue(sizes[0] > 0);
    assertEquals(0, sizes[1]);
    assertEquals(0, db.approximateSizes(List.of()).length);
    assertFalse(db.property("mergedb.stats").isEmpty());
    assertNull(db.property("no such property"));
    assertThrows(IllegalArgumentException.class, () -> db.property("a\0b"));
  }

  @Test
  void checkpoints() {
    db.put(bytes("k"), bytes("v"));
    List<Long> heard = new ArrayList<>();
    CheckpointReport report =
        db.checkpoint(
            folder.resolve("copy"),
            CheckpointOptions.DEFAULT.withLinks(false).withProgress((done, all) -> heard.add(all)));
    assertTrue(report.files() >= 1, report::toString);
    assertEquals(0, report.linked());
    assertTrue(report.sequence() >= 1);
    try (Database copy = Database.open(folder.resolve("copy"), new Options().mode(Options.Mode.READ_ONLY))) {
      assertEquals("v", text(copy.get(bytes("k"))));
      fails(Code.NOT_SUPPORTED, () -> copy.put(bytes("k"), bytes("w")));
    }
    fails(Code.INVALID_ARGUMENT, () -> db.checkpoint(folder.resolve("copy")));
    db.checkpoint(folder.resolve("another"), CheckpointOptions.DEFAULT.withVerify(false));
    assertTrue(Files.isDirectory(folder.resolve("another")));
  }

  @Test
  void aProgressListenerGivesUpOrThrows() {
    db.put(bytes("k"), new byte[100_000]);
    fails(
        Code.ABORTED,
        () -> db.checkpoint(folder.resolve("a"), CheckpointOptions.DEFAULT.withProgress((done, all) -> false)));
    IllegalStateException thrown = new IllegalStateException("of the listener");
    MergedbException e =
        fails(
            Code.ABORTED,
            () ->
                db.checkpoint(
                    folder.resolve("b"),
                    CheckpointOptions.DEFAULT.withProgress(
                        (done, all) -> {
                          throw thrown;
                        })));
    assertSame(thrown, e.getCause());
    assertFalse(Files.exists(folder.resolve("b")));
  }

  @Test
  void opensThatAreRefused() {
    Path none = folder.resolve("none");
    fails(Code.NOT_FOUND, () -> Database.open(none, new Options().mode(Options.Mode.MUST_EXIST)));
    fails(Code.BUSY, () -> Database.open(directory));
    fails(Code.BUSY, () -> Database.destroy(directory));
    db.close();
    fails(Code.INVALID_ARGUMENT, () -> Database.open(directory, new Options().mode(Options.Mode.MUST_NOT_EXIST)));
    fails(Code.NOT_FOUND, () -> Database.destroy(none));
    fails(Code.INVALID_ARGUMENT, () -> Database.open(none, new Options().bloomBitsPerKey(-2)));
    fails(Code.INVALID_ARGUMENT, () -> Database.open(none, new Options().blobValueBytesMin(-2)));
    assertThrows(IllegalArgumentException.class, () -> new Options().memoryBytes(-1));
    assertFalse(Files.exists(none));
  }

  @Test
  void everyOption() {
    db.close();
    List<String> lines = new CopyOnWriteArrayList<>();
    Options options = new Options()
                          .mode(Options.Mode.CREATE_IF_MISSING)
                          .style(Options.Style.LAZY)
                          .memoryBytes(32 << 20)
                          .writeBufferBytes(2 << 20)
                          .upperCompression(Compression.SNAPPY)
                          .bottomCompression(Compression.ZSTD)
                          .bloomBitsPerKey(-1)
                          .openTablesMax(100)
                          .blockBytes(8192)
                          .writeDelayMicrosMax(1000)
                          .walSyncIntervalMillis(1000)
                          .finishCompactionsOnClose(true)
                          .useMappedWalBuffer(false)
                          .blobValueBytesMin(-1)
                          .mappedReadBytesMax(1 << 20)
                          .logger(lines::add);
    try (Database other = Database.open(folder.resolve("other"), options)) {
      other.put(bytes("k"), bytes("v"));
      assertEquals("v", text(other.get(bytes("k"))));
      assertNotNull(other.toString());
    }
    Database.destroy(folder.resolve("other"));
    assertFalse(Files.exists(folder.resolve("other")));
  }

  @Test
  void verifyAndRepair() throws Exception {
    for (int i = 0; i < 3000; ++i) {
      db.put(bytes("key" + (10_000 + i)), bytes("value " + i));
    }
    db.flush();
    db.close();
    assertEquals(List.of(), Database.verify(directory).damages());
    List<Path> tables;
    try (var files = Files.list(directory)) {
      tables = files.filter(file -> file.toString().endsWith(".tbl")).sorted().toList();
    }
    assertFalse(tables.isEmpty());
    try (RandomAccessFile file = new RandomAccessFile(tables.get(0).toFile(), "rw")) {
      file.seek(1000);
      int found = file.read();
      file.seek(1000);
      file.write(found ^ 0x40);
    }
    Report report = Database.verify(directory);
    assertEquals(1, report.damages().size(), report::toString);
    assertTrue(report.damages().get(0).contains(tables.get(0).getFileName().toString()), report::toString);
    assertFalse(Database.repair(directory, new Options(), true).actions().isEmpty());
    Report repaired = Database.repair(directory);
    assertFalse(repaired.actions().isEmpty());
    assertEquals(List.of(), Database.verify(directory).damages());
    db = Database.open(directory, small());
    db.check();
  }

  @Test
  void aPathOfAnyName() {
    Path odd = folder.resolve("100% größer 名 #?+&;\u00a0.");
    try (Database other = Database.open(odd, small())) {
      other.put(bytes("k"), bytes("v"));
    }
    assertTrue(Files.isDirectory(odd));
    try (Database other = Database.open(odd, small().mode(Options.Mode.MUST_EXIST))) {
      assertEquals("v", text(other.get(bytes("k"))));
    }
  }

  @Test
  void versionAndState() {
    assertTrue(Database.version().matches("\\d+\\.\\d+\\.\\d+"));
    assertTrue(db.isOpen());
    db.close();
    assertFalse(db.isOpen());
    db.close();
    assertTrue(db.toString().contains("closed"));
  }
}
