package dev.mergedb;

import static dev.mergedb.Testing.bytes;
import static dev.mergedb.Testing.fails;
import static dev.mergedb.Testing.keys;
import static dev.mergedb.Testing.small;
import static dev.mergedb.Testing.text;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.mergedb.MergedbException.Code;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Iterators, which read ahead, stand where they say. */
class EntryIteratorTest {
  @TempDir Path folder;
  private Database db;

  @BeforeEach
  void open() {
    db = Database.open(folder.resolve("db"), small());
  }

  @AfterEach
  void close() {
    db.close();
  }

  @Test
  void anEmptyDatabase() {
    try (EntryIterator it = db.iterator()) {
      assertFalse(it.isValid());
      assertFalse(it.next());
      assertFalse(it.prev());
      assertFalse(it.seekToFirst());
      assertFalse(it.seekToLast());
      assertFalse(it.seek(bytes("a")));
      assertFalse(it.seekForPrev(bytes("a")));
      assertNull(it.failedKey());
      fails(Code.NOT_FOUND, it::key);
      fails(Code.NOT_FOUND, it::value);
    }
  }

  @Test
  void bounds() {
    for (String key : List.of("a", "ba", "bb", "c", "d")) {
      db.put(bytes(key), bytes("value of " + key));
    }
    try (EntryIterator it = db.iterator(IteratorOptions.DEFAULT.prefix(bytes("b")))) {
      assertEquals(List.of("ba", "bb"), keys(it));
    }
    try (EntryIterator it = db.iterator(IteratorOptions.DEFAULT.lower(bytes("bb")).upper(bytes("d")))) {
      assertEquals(List.of("bb", "c"), keys(it));
      assertTrue(it.seekToLast());
      assertEquals("c", text(it.key()));
    }
    try (EntryIterator it = db.iterator(IteratorOptions.DEFAULT.keysOnly(true))) {
      assertTrue(it.seek(bytes("c")));
      assertEquals(0, it.value().length);
    }
  }

  @Test
  void itShowsWhatWasThereWhenItWasMade() {
    db.put(bytes("a"), bytes("1"));
    try (EntryIterator it = db.iterator()) {
      db.put(bytes("b"), bytes("2"));
      assertEquals(List.of("a"), keys(it));
    }
  }

  /** Against a TreeMap: every move, with entries from empty to larger than what is read ahead. */
  @Test
  void likeAMap() {
    long seed = Testing.seed();
    Random random = new Random(seed);
    TreeMap<byte[], byte[]> model = new TreeMap<>(Arrays::compareUnsigned);
    for (int i = 0; i < 3000; ++i) {
      byte[] key = new byte[random.nextInt(12)];
      random.nextBytes(key);
      int kind = random.nextInt(100);
      byte[] value = new byte[kind == 0 ? 70_000 + random.nextInt(100_000)
              : kind < 20               ? random.nextInt(3000)
                                        : random.nextInt(50)];
      random.nextBytes(value);
      db.put(key, value);
      model.put(key, value);
    }
    try (EntryIterator it = db.iterator()) {
      Map.Entry<byte[], byte[]> at = null;
      int towards = 0;
      for (int i = 0; i < 60_000; ++i) {
        boolean moved;
        int move = random.nextInt(1000);
        if (move < 2) {
          at = model.firstEntry();
          moved = it.seekToFirst();
        } else if (move < 4) {
          at = model.lastEntry();
          moved = it.seekToLast();
        } else if (move < 24) {
          byte[] key = new byte[random.nextInt(6)];
          random.nextBytes(key);
          boolean back = random.nextBoolean();
          at = back ? model.floorEntry(key) : model.ceilingEntry(key);
          moved = back ? it.seekForPrev(key) : it.seek(key);
        } else {
          if (move < 60) {
            towards = 1 - towards;
          }
          if (towards == 0) {
            at = at == null ? null : model.higherEntry(at.getKey());
            moved = it.next();
          } else {
            at = at == null ? null : model.lowerEntry(at.getKey());
            moved = it.prev();
          }
        }
        String where = "seed " + seed + ", move " + i;
        assertEquals(at != null, moved, where);
        assertEquals(moved, it.isValid(), where);
        if (moved) {
          assertArrayEquals(at.getKey(), it.key(), where);
          if (i % 8 == 0) {
            assertArrayEquals(at.getValue(), it.value(), where);
          }
        }
      }
    }
  }

  /** The error of one key is thrown when the iterator comes to it, names the key, and lets the iterator go on. */
  @Test
  void anErrorIsThrownWhereItIs() {
    for (int i = 0; i < 300; ++i) {
      db.put(bytes("key" + (1000 + i)), bytes("some value"));
    }
    byte[] bad = bytes("key1150");
    db.addU64(bad, 1);
    try (EntryIterator it = db.iterator()) {
      assertTrue(it.seekToFirst());
      for (int i = 1; i < 150; ++i) {
        assertTrue(it.next());
        assertEquals("key" + (1000 + i), text(it.key()));
        assertNull(it.failedKey());
      }
      fails(Code.MERGE_FAILED, it::next);
      assertFalse(it.isValid());
      fails(Code.NOT_FOUND, it::key);
      assertArrayEquals(bad, it.failedKey());
      assertTrue(it.next());
      assertEquals("key1151", text(it.key()));
      fails(Code.MERGE_FAILED, it::prev);
      assertArrayEquals(bad, it.failedKey());
      assertTrue(it.prev());
      assertEquals("key1149", text(it.key()));
      fails(Code.MERGE_FAILED, () -> it.seek(bad));
      assertArrayEquals(bad, it.failedKey());
      assertTrue(it.seekToLast());
      int seen = 1;
      for (; seen < 149; ++seen) {
        assertTrue(it.prev());
      }
      assertEquals("key1151", text(it.key()));
      fails(Code.MERGE_FAILED, it::prev);
    }
  }
}
