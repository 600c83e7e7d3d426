package dev.mergedb;

import static dev.mergedb.Testing.bytes;
import static dev.mergedb.Testing.fails;
import static dev.mergedb.Testing.keys;
import static dev.mergedb.Testing.small;
import static dev.mergedb.Testing.text;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.mergedb.MergedbException.Code;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Orders and listeners that are written in Java. */
class ComparatorTest {
  @TempDir Path folder;

  /** Descending, and it throws when it is told to. */
  private static final class Descending implements KeyComparator {
    final AtomicInteger calls = new AtomicInteger();
    final RuntimeException thrown = new IllegalStateException("of the comparator");
    volatile int throwAfter = Integer.MAX_VALUE;

    @Override
    public String name() {
      return "test.descending";
    }

    @Override
    public int compare(byte[] a, byte[] b) {
      if (calls.incrementAndGet() > throwAfter) {
        throw thrown;
      }
      return Arrays.compareUnsigned(b, a);
    }
  }

  @Test
  void theOrderOfAComparator() {
    Descending order = new Descending();
    Path directory = folder.resolve("db");
    List<String> keys = new ArrayList<>();
    try (Database db = Database.open(directory, small().comparator(order))) {
      for (int i = 0; i < 3000; ++i) {
        String key = "key" + (10_000 + (i * 7919) % 3000);
        keys.add(key);
        db.put(bytes(key), new byte[200]);
        if (i % 1000 == 999) {
          db.flush(); // the engine's own threads compare
        }
      }
      db.compactRange(null, null);
      keys.sort(Collections.reverseOrder());
      try (EntryIterator it = db.iterator()) {
        assertEquals(keys, keys(it));
        assertTrue(it.seek(bytes("key11500x")));
        assertEquals("key11500", text(it.key()));
      }
      for (String key : keys.subList(0, keys.size() - 2)) {
        db.delete(bytes(key));
      }
      assertNull(db.get(bytes("key12000")));
      fails(Code.NOT_SUPPORTED, () -> db.deleteRange(bytes("b"), bytes("a")));
      try (WriteBatch batch = new WriteBatch(); Transaction transaction = db.begin()) {
        batch.deleteRange(bytes("b"), bytes("a"));
        fails(Code.NOT_SUPPORTED, () -> db.write(batch));
        fails(Code.NOT_SUPPORTED, () -> transaction.deleteRange(bytes("b"), bytes("a")));
      }
      fails(Code.NOT_SUPPORTED, () -> db.keyspace("x"));
    }
    assertTrue(order.calls.get() > 3000);
    fails(Code.INVALID_ARGUMENT, () -> Database.open(directory, small()));
    assertEquals(List.of(), Database.verify(directory, small().comparator(order)).damages());
    try (Database db = Database.open(directory, small().comparator(order)); EntryIterator it = db.iterator()) {
      assertEquals(List.of("key10001", "key10000"), keys(it));
    }
  }

  @Test
  void aComparatorThatThrows() {
    List<String> lines = new CopyOnWriteArrayList<>();
    Descending order = new Descending();
    Path directory = folder.resolve("db");
    Database db = Database.open(directory, small().comparator(order).logger(lines::add));
    for (int i = 0; i < 100; ++i) {
      db.put(bytes("key" + i), bytes("v"));
    }
    EntryIterator it = db.iterator();
    it.seekToFirst();
    order.throwAfter = 0;
    MergedbException e = fails(Code.ABORTED, () -> db.iterator().seek(bytes("key5")));
    assertSame(order.thrown, e.getCause());
    fails(Code.ABORTED, () -> db.put(bytes("a"), bytes("b")));
    fails(Code.ABORTED, () -> db.get(bytes("a")));
    fails(Code.ABORTED, db::flush);
    fails(Code.ABORTED, () -> it.seek(bytes("key1")));
    assertTrue(lines.stream().anyMatch(line -> line.contains("of the comparator")), lines::toString);
    it.close();
    db.close();
  }

  /** It throws at a random comparison, also in the engine's threads, and the JVM lives on. */
  @Test
  void aComparatorThatThrowsAnywhere() {
    long seed = Testing.seed();
    Random random = new Random(seed);
    int thrown = 0;
    for (int round = 0; round < 20; ++round) {
      Descending order = new Descending();
      order.throwAfter = random.nextInt(30_000);
      Database db = null;
      try {
        db = Database.open(folder.resolve("round" + round), small().comparator(order));
        for (int i = 0; i < 1500; ++i) {
          byte[] key = new byte[random.nextInt(8)];
          random.nextBytes(key);
          int kind = random.nextInt(20);
          if (kind == 0) {
            db.delete(key);
          } else {
            db.put(key, new byte[random.nextInt(100)]);
          }
          if (i % 300 == 299) {
            db.flush();
          }
        }
        db.compactRange(null, null);
        try (EntryIterator it = db.iterator()) {
          for (boolean there = it.seekToFirst(); there; there = it.next()) {
            it.key();
          }
        }
      } catch (MergedbException e) {
        // CORRUPTION: a flush or a compaction noticed that the order has changed, and nothing of it was kept.
        assertTrue(e.code() == Code.ABORTED || e.code() == Code.CORRUPTION, () -> "seed " + seed + ": " + e);
        assertTrue(order.calls.get() > order.throwAfter, () -> "seed " + seed + ", and the comparator threw not: " + e);
        ++thrown;
      } finally {
        if (db != null) {
          db.close();
        }
      }
      order.throwAfter = Integer.MAX_VALUE;
      try (Database again = Database.open(folder.resolve("round" + round), small().comparator(order));
           EntryIterator it = again.iterator()) {
        again.check();
        byte[] before = null;
        for (boolean there = it.seekToFirst(); there; there = it.next()) {
          assertTrue(before == null || order.compare(before, it.key()) < 0, "seed " + seed + ", round " + round);
          before = it.key();
        }
      } catch (MergedbException e) {
        throw new AssertionError("seed " + seed + ", round " + round, e);
      }
    }
    assertTrue(thrown > 1, "seed " + seed + ": " + thrown + " of 20 threw");
  }

  @Test
  void callbacksMustNotCallMergedb() throws Exception {
    try (Database other = Database.open(folder.resolve("other"), small())) {
      KeyComparator calling =
          new KeyComparator() {
            @Override
            public String name() {
              return "test.calling";
            }

            @Override
            public int compare(byte[] a, byte[] b) {
              other.get(a);
              return Arrays.compareUnsigned(a, b);
            }
          };
      Database db = Database.open(folder.resolve("db"), small().comparator(calling));
      MergedbException e =
          fails(
              Code.ABORTED,
              () -> {
                for (int i = 0; i < 100; ++i) {
                  db.put(bytes("k" + i), bytes("v"));
                }
                db.flush();
                db.iterator().seek(bytes("k5"));
              });
      assertEquals(Code.INVALID_ARGUMENT, ((MergedbException) e.getCause()).code());
      db.close();
    }
  }

  /** What a crash leaves, with its unsynced end overwritten: an open says what it dropped. */
  private Path torn(String name) throws Exception {
    Path copy = Files.createDirectory(folder.resolve(name));
    Path directory = folder.resolve(name + " before");
    try (Database db = Database.open(directory)) {
      for (int i = 0; i < 200; ++i) {
        db.put(bytes("key" + i), new byte[100]);
        if (i == 99) {
          db.syncWal();
        }
      }
      try (var files = Files.list(directory)) {
        for (Path file : files.toList()) {
          Files.copy(file, copy.resolve(file.getFileName()));
        }
      }
    }
    try (RandomAccessFile ring = new RandomAccessFile(copy.resolve("STAGING").toFile(), "rw")) {
      ring.seek(20_000);
      ring.write(new byte[5000]);
    }
    return copy;
  }

  @Test
  void aLogger() throws Exception {
    List<String> lines = new CopyOnWriteArrayList<>();
    try (Database db = Database.open(torn("db"), new Options().logger(lines::add))) {
      assertTrue(lines.stream().anyMatch(line -> line.contains("torn tail")), lines::toString);
      assertTrue(db.get(bytes("key99")) != null);
    }
  }

  @Test
  void aLoggerThatThrowsOrCallsMergedb() throws Exception {
    AtomicInteger heard = new AtomicInteger();
    Options throwing =
        new Options()
            .logger(
                line -> {
                  heard.incrementAndGet();
                  throw new IllegalStateException(line);
                });
    try (Database db = Database.open(torn("db"), throwing)) {
      assertTrue(db.get(bytes("key99")) != null);
    }
    assertEquals(1, heard.get());
    List<Code> refused = new CopyOnWriteArrayList<>();
    Options calling =
        new Options()
            .logger(line -> refused.add(assertThrows(MergedbException.class, () -> new WriteBatch()).code()));
    try (Database db = Database.open(torn("other"), calling)) {
      assertTrue(db.get(bytes("key99")) != null);
    }
    assertEquals(List.of(Code.INVALID_ARGUMENT), refused);
  }
}
