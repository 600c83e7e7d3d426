package dev.mergedb.leveldb;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.mergedb.Database;
import dev.mergedb.Merge;
import dev.mergedb.MergedbException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.iq80.leveldb.DB;
import org.iq80.leveldb.DBException;
import org.iq80.leveldb.DBIterator;
import org.iq80.leveldb.Options;
import org.iq80.leveldb.Range;
import org.iq80.leveldb.ReadOptions;
import org.iq80.leveldb.Snapshot;
import org.iq80.leveldb.WriteBatch;
import org.iq80.leveldb.WriteOptions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

class StoreTest {
  @TempDir Path folder;
  private DB db;

  static byte[] b(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static String s(byte[] bytes) {
    return bytes == null ? null : new String(bytes, StandardCharsets.UTF_8);
  }

  private static String text(Map.Entry<byte[], byte[]> entry) {
    return s(entry.getKey()) + "=" + s(entry.getValue());
  }

  /** Every entry from the position on. */
  private static String rest(DBIterator iterator) {
    List<String> found = new ArrayList<>();
    while (iterator.hasNext()) {
      found.add(text(iterator.next()));
    }
    return String.join(" ", found);
  }

  private String all(ReadOptions options) throws IOException {
    try (DBIterator iterator = db.iterator(options)) {
      iterator.seekToFirst();
      return rest(iterator);
    }
  }

  private void fill(String... keys) {
    for (String key : keys) {
      db.put(b(key), b("v" + key));
    }
  }

  private static DBException fails(String part, Executable call) {
    DBException e = assertThrows(DBException.class, call);
    assertTrue(e.getMessage().contains(part), e.getMessage());
    return e;
  }

  private static void refuses(String message, Executable call) {
    assertEquals(message, assertThrows(IllegalArgumentException.class, call).getMessage());
  }

  @BeforeEach
  void open() throws IOException {
    db = MergedbFactory.factory.open(folder.resolve("db").toFile(), new Options());
  }

  @AfterEach
  void close() throws IOException {
    db.close();
  }

  @Test
  void putGetDelete() {
    assertNull(db.get(b("a")));
    db.put(b("a"), b("1"));
    assertEquals("1", s(db.get(b("a"))));
    db.put(b("a"), b(""));
    assertArrayEquals(new byte[0], db.get(b("a")));
    db.delete(b("a"));
    db.delete(b("never there"));
    assertNull(db.get(b("a")));
    db.put(b(""), b("empty key"));
    assertEquals("empty key", s(db.get(b(""))));
  }

  @Test
  void arraysAreCopied() {
    byte[] key = b("k");
    byte[] value = b("v");
    db.put(key, value);
    key[0] = 'x';
    value[0] = 'x';
    assertEquals("v", s(db.get(b("k"))));
    db.get(b("k"))[0] = 'y';
    assertEquals("v", s(db.get(b("k"))));
  }

  @Test
  void writesReturnASnapshotIfAsked() throws IOException {
    assertNull(db.put(b("a"), b("1"), new WriteOptions()));
    assertNull(db.put(b("a"), b("1"), new WriteOptions().sync(true)));
    assertNull(db.delete(b("a"), new WriteOptions()));
    Snapshot afterPut = db.put(b("a"), b("2"), new WriteOptions().snapshot(true));
    Snapshot afterDelete = db.delete(b("a"), new WriteOptions().snapshot(true).sync(true));
    try (WriteBatch batch = db.createWriteBatch()) {
      batch.put(b("a"), b("3"));
      assertNull(db.write(batch, new WriteOptions()));
      batch.put(b("b"), b("4"));
      try (Snapshot afterWrite = db.write(batch, new WriteOptions().snapshot(true))) {
        db.put(b("a"), b("5"));
        assertEquals("a=3 b=4", all(new ReadOptions().snapshot(afterWrite)));
      }
    }
    assertEquals("2", s(db.get(b("a"), new ReadOptions().snapshot(afterPut))));
    assertNull(db.get(b("a"), new ReadOptions().snapshot(afterDelete)));
    assertEquals("5", s(db.get(b("a"))));
    afterPut.close();
    afterDelete.close();
  }

  @Test
  void batchesAreAtomicAndMayBeWrittenTwice() throws IOException {
    fill("gone");
    try (WriteBatch batch = db.createWriteBatch()) {
      assertEquals(batch, batch.put(b("a"), b("1")).delete(b("gone")).put(b("b"), b("2")));
      db.write(batch);
      assertEquals("a=1 b=2", all(new ReadOptions()));
      db.delete(b("a"));
      db.write(batch);
    }
    assertEquals("a=1 b=2", all(new ReadOptions()));
  }

  @Test
  void snapshotsKeepTheirView() throws IOException {
    fill("a", "b");
    try (Snapshot snapshot = db.getSnapshot()) {
      db.delete(b("a"));
      fill("c");
      ReadOptions options = new ReadOptions().snapshot(snapshot).fillCache(false).verifyChecksums(true);
      assertEquals("a=va b=vb", all(options));
      assertEquals("va", s(db.get(b("a"), options)));
      assertEquals("b=vb c=vc", all(new ReadOptions()));
    }
  }

  @Test
  void iteratorsWalkBothWays() throws IOException {
    fill("b", "d", "f");
    try (DBIterator it = db.iterator()) {
      it.seek(b("c"));
      assertTrue(it.hasNext());
      assertTrue(it.hasPrev());
      assertEquals("d=vd", text(it.peekNext()));
      assertEquals("b=vb", text(it.peekPrev()));
      assertEquals("d=vd", text(it.peekNext()));
      assertEquals("d=vd", text(it.next()));
      assertEquals("d=vd", text(it.prev()));
      assertEquals("b=vb", text(it.prev()));
      assertFalse(it.hasPrev());
      assertThrows(NoSuchElementException.class, it::prev);
      assertThrows(NoSuchElementException.class, it::peekPrev);
      assertEquals("b=vb d=vd f=vf", rest(it));
      assertFalse(it.hasPrev());
      assertThrows(NoSuchElementException.class, it::next);
      assertThrows(NoSuchElementException.class, it::peekNext);
      assertThrows(NoSuchElementException.class, it::prev);
      it.seekToLast();
      assertEquals("f=vf", text(it.peekNext()));
      assertEquals("d=vd", text(it.prev()));
      it.seekToFirst();
      assertEquals("b=vb", text(it.next()));
      it.seek(b("g"));
      assertFalse(it.hasNext());
      assertThrows(UnsupportedOperationException.class, it::remove);
      refuses("The key argument cannot be null", () -> it.seek(null));
    }
  }

  /** Random writes, and walks both ways beside a TreeMap. */
  @Test
  void iteratorsWalkAsATreeMapDoes() throws IOException {
    String given = System.getProperty("mergedb.seed", "");
    long seed = given.isEmpty() ? System.nanoTime() : Long.parseLong(given);
    System.out.println("iteratorsWalkAsATreeMapDoes: -Dmergedb.seed=" + seed);
    Random random = new Random(seed);
    TreeMap<String, String> model = new TreeMap<>();
    for (int i = 0; i < 300; ++i) {
      for (int n = 0; n < 10; ++n) {
        String key = "k" + random.nextInt(60);
        if (random.nextInt(3) == 0) {
          db.delete(b(key));
          model.remove(key);
        } else {
          db.put(b(key), b("v" + i));
          model.put(key, "v" + i);
        }
      }
      if (random.nextInt(40) == 0) {
        db.compactRange(null, null);
      }
      try (DBIterator it = db.iterator()) {
        walkBeside(model, it, random, "seed " + seed + ", round " + i);
      }
    }
  }

  private static void walkBeside(TreeMap<String, String> model, DBIterator it, Random random, String where) {
    String at = model.isEmpty() ? null : model.firstKey(); // null: behind the last entry
    for (int n = 0; n < 20; ++n) {
      String before = at == null ? null : model.lowerKey(at);
      switch (random.nextInt(7)) {
        case 0 -> {
          it.seekToFirst();
          at = model.isEmpty() ? null : model.firstKey();
        }
        case 1 -> {
          it.seekToLast();
          at = model.isEmpty() ? null : model.lastKey();
        }
        case 2 -> {
          String key = "k" + random.nextInt(60);
          it.seek(b(key));
          at = model.ceilingKey(key);
        }
        case 3, 4 -> {
          if (at == null) {
            assertThrows(NoSuchElementException.class, it::next, where);
          } else {
            assertEquals(at + "=" + model.get(at), text(it.next()), where);
            at = model.higherKey(at);
          }
        }
        case 5 -> {
          if (before == null) {
            assertThrows(NoSuchElementException.class, it::peekPrev, where);
          } else {
            assertEquals(before + "=" + model.get(before), text(it.peekPrev()), where);
          }
        }
        default -> {
          if (before == null) {
            assertThrows(NoSuchElementException.class, it::prev, where);
          } else {
            assertEquals(before + "=" + model.get(before), text(it.prev()), where);
            at = before;
          }
        }
      }
      assertEquals(at != null, it.hasNext(), where);
      assertEquals(at != null && model.lowerKey(at) != null, it.hasPrev(), where);
      if (at != null) {
        assertEquals(at, s(it.peekNext().getKey()), where);
      }
    }
  }

  @Test
  void aNewIteratorStandsAtTheFirstEntry() throws IOException {
    try (DBIterator empty = db.iterator()) {
      assertFalse(empty.hasNext());
      assertFalse(empty.hasPrev());
      assertThrows(NoSuchElementException.class, empty::next);
    }
    fill("b", "a");
    List<String> found = new ArrayList<>();
    for (Map.Entry<byte[], byte[]> entry : db) {
      found.add(text(entry));
    }
    assertEquals(List.of("a=va", "b=vb"), found);
  }

  @Test
  void iteratorsShowTheMomentTheyWereMade() throws IOException {
    fill("a");
    try (DBIterator it = db.iterator()) {
      fill("b");
      assertEquals("a=va", rest(it));
    }
  }

  @Test
  void approximateSizesGrowWithTheData() {
    for (int i = 0; i < 2000; ++i) {
      db.put(b(String.format("k%06d", i)), new byte[100]);
    }
    db.compactRange(null, null);
    long[] sizes = db.getApproximateSizes(new Range(b("k"), b("l")), new Range(b("l"), b("m")), new Range(b("z"), b("a")));
    assertEquals(3, sizes.length);
    assertTrue(sizes[0] > 10_000, "bytes of all entries: " + sizes[0]);
    assertEquals(0, sizes[1]);
    assertEquals(0, sizes[2]);
    assertEquals(0, db.getApproximateSizes().length);
    refuses("The ranges argument cannot be null", () -> db.getApproximateSizes((Range[]) null));
  }

  @Test
  void compactRangeIncludesBothEnds() throws IOException {
    fill("a", "b", "c");
    db.compactRange(b("a"), b("b"));
    db.compactRange(b("c"), null);
    db.compactRange(null, b("zz"));
    db.compactRange(b("z"), b("a"));
    assertEquals("a=va b=vb c=vc", all(new ReadOptions()));
  }

  @Test
  void properties() {
    assertEquals("0", db.getProperty("leveldb.num-files-at-level0"));
    fill("a", "b]x ..y");
    db.compactRange(null, null);
    assertEquals("1", db.getProperty("leveldb.num-files-at-level6"));
    for (String name : List.of("level0", "level1", "level2", "level3", "level4", "level5")) {
      assertEquals("0", db.getProperty("leveldb.num-files-at-" + name), name);
    }
    for (String name : List.of("leveldb.num-files-at-level7", "leveldb.num-files-at-level", "leveldb.x", "x", "mergedb.x")) {
      assertNull(db.getProperty(name), name);
    }
    String stats = db.getProperty("leveldb.stats");
    assertTrue(stats.startsWith("                               Compactions\nLevel  Files Size(MB) Time(sec) Read(MB) Write(MB)\n"), stats);
    assertTrue(stats.contains("\n  6        1        0"), stats);
    String tables = db.getProperty("leveldb.sstables");
    assertTrue(tables.matches("(?s).*--- level 6 ---\n \\d+:\\d+\\['a' .. 'b]x ..y'\\]\n"), tables);
    assertTrue(Long.parseLong(db.getProperty("leveldb.approximate-memory-usage")) > 0);
    assertNotNull(db.getProperty("mergedb.stats"));
    refuses("The name argument cannot be null", () -> db.getProperty(null));
  }

  @Test
  void nullsAreRefused() {
    refuses("The key argument cannot be null", () -> db.put(null, b("")));
    refuses("The value argument cannot be null", () -> db.put(b(""), null));
    refuses("The key argument cannot be null", () -> db.get(null));
    refuses("The key argument cannot be null", () -> db.delete(null));
    refuses("The options argument cannot be null", () -> db.get(b(""), null));
    refuses("The options argument cannot be null", () -> db.put(b(""), b(""), null));
    refuses("The options argument cannot be null", () -> db.iterator(null));
    refuses("The updates argument cannot be null", () -> db.write(null));
    refuses("The key argument cannot be null", () -> db.createWriteBatch().put(null, b("")));
    refuses("The value argument cannot be null", () -> db.createWriteBatch().put(b(""), null));
    refuses("The key argument cannot be null", () -> db.createWriteBatch().delete(null));
  }

  @Test
  void strangersAreRefused() {
    WriteBatch stranger =
        new WriteBatch() {
          @Override
          public WriteBatch put(byte[] key, byte[] value) {
            return this;
          }

          @Override
          public WriteBatch delete(byte[] key) {
            return this;
          }

          @Override
          public void close() {}
        };
    assertThrows(IllegalArgumentException.class, () -> db.write(stranger));
    assertThrows(IllegalArgumentException.class, () -> db.get(b("a"), new ReadOptions().snapshot(() -> {})));
  }

  @Test
  void aSnapshotOfAnotherDatabaseIsRefused() throws IOException {
    try (DB other = MergedbFactory.factory.open(folder.resolve("other").toFile(), new Options());
        Snapshot snapshot = other.getSnapshot()) {
      fails("Invalid argument", () -> db.get(b("a"), new ReadOptions().snapshot(snapshot)));
    }
  }

  @Test
  void largeKeysAreRefused() {
    fails("Invalid argument", () -> db.put(new byte[(8 << 20) + 1], b("")));
  }

  @Test
  void everyCallAfterCloseThrows() throws Exception {
    fill("a", "b");
    Snapshot snapshot = db.getSnapshot();
    WriteBatch batch = db.createWriteBatch().put(b("x"), b("y"));
    DBIterator open = db.iterator();
    open.seekToFirst();
    db.close();
    db.close();
    List<Executable> calls =
        List.of(
            () -> db.get(b("a")),
            () -> db.get(b("a"), new ReadOptions().snapshot(snapshot)),
            () -> db.put(b("a"), b("b")),
            () -> db.put(b("a"), b("b"), new WriteOptions().snapshot(true)),
            () -> db.delete(b("a")),
            () -> db.write(batch),
            () -> db.iterator(),
            () -> db.getSnapshot(),
            () -> db.getApproximateSizes(),
            () -> db.getProperty("leveldb.stats"),
            () -> db.compactRange(null, null),
            () -> db.suspendCompactions(),
            () -> db.resumeCompactions());
    for (Executable call : calls) {
      assertEquals("Closed", assertThrows(DBException.class, call).getMessage());
    }
    for (Executable call : List.<Executable>of(open::hasNext, open::next, open::peekNext, open::hasPrev, open::prev, open::peekPrev)) {
      assertThrows(DBException.class, call);
    }
    assertThrows(DBException.class, open::seekToFirst);
    assertThrows(DBException.class, open::seekToLast);
    assertThrows(DBException.class, () -> open.seek(b("a")));
    open.close();
    open.close();
    snapshot.close();
    snapshot.close();
    batch.close();
  }

  @Test
  void everyCallOnAClosedObjectThrows() throws Exception {
    fill("a", "b");
    DBIterator it = db.iterator();
    it.seekToFirst();
    it.close();
    it.close();
    for (Executable call : List.<Executable>of(it::hasNext, it::next, it::peekNext, it::hasPrev, it::prev, it::peekPrev)) {
      assertEquals("Closed", assertThrows(DBException.class, call).getMessage());
    }
    assertThrows(DBException.class, it::seekToFirst);
    assertThrows(DBException.class, it::seekToLast);
    assertThrows(DBException.class, () -> it.seek(b("a")));
    Snapshot snapshot = db.getSnapshot();
    snapshot.close();
    snapshot.close();
    assertThrows(DBException.class, () -> db.get(b("a"), new ReadOptions().snapshot(snapshot)));
    assertThrows(DBException.class, () -> db.iterator(new ReadOptions().snapshot(snapshot)));
    WriteBatch batch = db.createWriteBatch();
    batch.close();
    batch.close();
    assertThrows(DBException.class, () -> batch.put(b("a"), b("b")));
    assertThrows(DBException.class, () -> batch.delete(b("a")));
    assertThrows(DBException.class, () -> db.write(batch));
    assertEquals("va", s(db.get(b("a"))));
  }

  @Test
  void suspendedCompactionsHoldOtherThreadsBack() throws Exception {
    ExecutorService others = Executors.newSingleThreadExecutor();
    try {
      fill("a");
      db.suspendCompactions();
      db.suspendCompactions();
      db.put(b("own"), b("1"));
      CountDownLatch begun = new CountDownLatch(1);
      Future<?> put =
          others.submit(
              () -> {
                begun.countDown();
                db.put(b("other"), b("2"));
              });
      begun.await();
      assertEquals("va", s(db.get(b("a"))));
      assertNull(db.get(b("other")));
      assertFalse(put.isDone());
      db.resumeCompactions();
      put.get(60, TimeUnit.SECONDS);
      assertEquals("2", s(db.get(b("other"))));
      db.resumeCompactions();
    } finally {
      others.shutdownNow();
    }
  }

  @Test
  void closeEndsASuspension() throws Exception {
    ExecutorService others = Executors.newSingleThreadExecutor();
    try {
      db.suspendCompactions();
      Future<?> put = others.submit(() -> db.put(b("other"), b("2")));
      db.close();
      Exception e = assertThrows(java.util.concurrent.ExecutionException.class, () -> put.get(60, TimeUnit.SECONDS));
      assertInstanceOf(DBException.class, e.getCause());
    } finally {
      others.shutdownNow();
    }
  }

  @Test
  void manyThreadsShareADatabase() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try {
      List<Future<?>> tasks = new ArrayList<>();
      for (int t = 0; t < 4; ++t) {
        String name = "t" + t;
        tasks.add(
            threads.submit(
                () -> {
                  for (int i = 0; i < 500; ++i) {
                    db.put(b(name + i), b(name));
                    assertEquals(name, s(db.get(b(name + i))));
                  }
                  return null;
                }));
      }
      for (Future<?> task : tasks) {
        task.get(120, TimeUnit.SECONDS);
      }
    } finally {
      threads.shutdownNow();
    }
    try (DBIterator it = db.iterator()) {
      int count = 0;
      for (; it.hasNext(); it.next()) {
        ++count;
      }
      assertEquals(2000, count);
    }
  }

  @Test
  void theDatabaseBehindItIsThere() throws IOException {
    Database database = MergedbFactory.unwrap(db);
    database.addU64(b("n"), 40);
    database.merge(b("n"), Merge.addU64(2));
    assertEquals(42, Merge.toU64(db.get(b("n"))));
    assertThrows(IllegalArgumentException.class, () -> MergedbFactory.unwrap(null));
    database.merge(b("bad"), Merge.addU64(1));
    db.put(b("bad"), b("not a number"));
    database.merge(b("bad"), Merge.addU64(1));
    DBException e = fails("Corruption", () -> db.get(b("bad")));
    assertEquals(MergedbException.Code.MERGE_FAILED, assertInstanceOf(MergedbException.class, e.getCause()).code());
    fill("a", "z");
    try (DBIterator it = db.iterator()) {
      assertEquals("a=va", text(it.next()));
      fails("Corruption", it::hasNext);
      fails("Corruption", it::next);
      fails("Corruption", it::hasPrev);
      it.seek(b("o"));
      assertEquals("z=vz", text(it.next()));
    }
  }
}
