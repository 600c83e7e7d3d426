package dev.mergedb.leveldb;

import static dev.mergedb.leveldb.StoreTest.b;
import static dev.mergedb.leveldb.StoreTest.s;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.iq80.leveldb.CompressionType;
import org.iq80.leveldb.DB;
import org.iq80.leveldb.DBComparator;
import org.iq80.leveldb.DBException;
import org.iq80.leveldb.DBIterator;
import org.iq80.leveldb.Options;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

class FactoryTest {
  @TempDir Path folder;
  private File file;
  private String path;

  @BeforeEach
  void name() throws IOException {
    file = folder.resolve("db").toFile();
    path = file.getCanonicalPath();
  }

  private static DB open(File file, Options options) throws IOException {
    return MergedbFactory.factory.open(file, options);
  }

  private static void fails(String message, Executable call) {
    LevelDbException e = assertThrows(LevelDbException.class, call);
    assertEquals(message, e.getMessage());
    assertFalse(e.isNotFound());
  }

  /** From the largest key to the smallest. */
  private static class Backwards implements DBComparator {
    private final String name;

    Backwards(String name) {
      this.name = name;
    }

    @Override
    public String name() {
      return name;
    }

    @Override
    public int compare(byte[] a, byte[] b) {
      return Arrays.compareUnsigned(b, a);
    }

    @Override
    public byte[] findShortestSeparator(byte[] start, byte[] limit) {
      return start;
    }

    @Override
    public byte[] findShortSuccessor(byte[] key) {
      return key;
    }
  }

  private static String keys(DB db) throws IOException {
    StringBuilder text = new StringBuilder();
    try (DBIterator it = db.iterator()) {
      for (it.seekToFirst(); it.hasNext(); it.next()) {
        text.append(s(it.peekNext().getKey())).append(' ');
      }
    }
    return text.toString().trim();
  }

  @Test
  void whatMustBeThere() throws IOException {
    Options never = new Options().createIfMissing(false);
    Options both = new Options().createIfMissing(false).errorIfExists(true);
    fails("Invalid argument: " + path + ": does not exist (create_if_missing is false)", () -> open(file, never));
    fails("Invalid argument: " + path + ": does not exist (create_if_missing is false)", () -> open(file, both));
    assertFalse(file.exists());
    open(file, new Options().errorIfExists(true)).close();
    fails("Invalid argument: " + path + ": exists (error_if_exists is true)", () -> open(file, new Options().errorIfExists(true)));
    fails("Invalid argument: " + path + ": exists (error_if_exists is true)", () -> open(file, both));
    open(file, never).close();
  }

  @Test
  void onlyOneAtATime() throws IOException {
    try (DB db = open(file, new Options())) {
      for (Executable call :
          List.<Executable>of(
              () -> open(file, new Options()),
              () -> MergedbFactory.factory.destroy(file, new Options()),
              () -> MergedbFactory.factory.repair(file, new Options()))) {
        LevelDbException e = assertThrows(LevelDbException.class, call);
        assertTrue(e.getMessage().startsWith("IO error: lock " + path + "/LOCK: "), e.getMessage());
      }
      db.put(b("a"), b("1"));
      assertEquals("1", s(db.get(b("a"))));
    }
  }

  @Test
  void aMissingParentIsAnError() {
    LevelDbException e = assertThrows(LevelDbException.class, () -> open(new File(file, "deep/down"), new Options()));
    assertTrue(e.getMessage().startsWith("IO error: "), e.getMessage());
  }

  @Test
  void nullsAreRefused() {
    assertThrows(IllegalArgumentException.class, () -> open(null, new Options()));
    assertThrows(IllegalArgumentException.class, () -> open(file, null));
    assertThrows(IllegalArgumentException.class, () -> MergedbFactory.factory.destroy(null, new Options()));
    assertThrows(IllegalArgumentException.class, () -> MergedbFactory.factory.repair(file, null));
    assertFalse(file.exists());
  }

  @Test
  void everyOptionAtItsEnds() throws IOException {
    List<Options> all =
        List.of(
            new Options().writeBufferSize(1).blockSize(1).maxOpenFiles(1).cacheSize(1).blockRestartInterval(1),
            new Options().writeBufferSize(64 << 20).blockSize(64 << 20).maxOpenFiles(Integer.MAX_VALUE).cacheSize(64 << 20),
            new Options().writeBufferSize(-1).blockSize(-1).maxOpenFiles(-1).cacheSize(-1),
            new Options().compressionType(CompressionType.NONE).paranoidChecks(true).verifyChecksums(false),
            new Options().compressionType(CompressionType.SNAPPY));
    int n = 0;
    for (Options options : all) {
      try (DB db = open(file, options)) {
        db.put(b("k" + n), b("v"));
        db.compactRange(null, null);
        assertEquals("v", s(db.get(b("k0"))), "options " + n);
      }
      ++n;
    }
  }

  @Test
  void comparators() throws IOException {
    Options options = new Options().comparator(new Backwards("backwards"));
    try (DB db = open(file, options)) {
      for (String key : List.of("a", "c", "b")) {
        db.put(b(key), b(key));
      }
      assertEquals("c b a", keys(db));
      db.compactRange(b("c"), b("b"));
      assertEquals("c b a", keys(db));
    }
    try (DB db = open(file, options)) {
      assertEquals("c b a", keys(db));
    }
    fails("Invalid argument: backwards does not match existing comparator : leveldb.BytewiseComparator", () -> open(file, new Options()));
    fails(
        "Invalid argument: backwards does not match existing comparator : other",
        () -> open(file, new Options().comparator(new Backwards("other"))));
    MergedbFactory.factory.repair(file, options);
    try (DB db = open(file, options)) {
      assertEquals("c b a", keys(db));
    }
  }

  @Test
  void theComparatorOfLevelDbIsTheBytewiseOne() throws IOException {
    Options options = new Options().comparator(new Backwards("leveldb.BytewiseComparator"));
    try (DB db = open(file, options)) {
      db.put(b("b"), b("")); // the name says bytewise, so compare is not asked
      db.put(b("a"), b(""));
      assertEquals("a b", keys(db));
    }
    open(file, new Options()).close();
  }

  @Test
  void aComparatorThatThrowsIsAnException() throws IOException {
    DBComparator broken =
        new Backwards("broken") {
          @Override
          public int compare(byte[] a, byte[] b) {
            throw new IllegalStateException("no order");
          }
        };
    try (DB db = open(file, new Options().comparator(broken))) {
      DBException e =
          assertThrows(
              DBException.class,
              () -> {
                db.put(b("a"), b("1"));
                db.put(b("b"), b("2"));
                db.get(b("b"));
              });
      assertTrue(e.getMessage().contains("no order"), e.getMessage());
    }
  }

  @Test
  void destroyRemovesTheDatabaseAndNothingElse() throws IOException {
    MergedbFactory.factory.destroy(file, new Options());
    open(file, new Options()).close();
    MergedbFactory.factory.destroy(file, new Options());
    assertFalse(file.exists());
    open(file, new Options()).close();
    Files.writeString(file.toPath().resolve("mine.txt"), "mine");
    MergedbFactory.factory.destroy(file, new Options());
    try (Stream<Path> left = Files.list(file.toPath())) {
      assertEquals(List.of("mine.txt"), left.map(each -> each.getFileName().toString()).toList());
    }
  }

  @Test
  void repairMakesADatabaseOpenAgain() throws IOException {
    MergedbFactory.factory.repair(file, new Options());
    try (DB db = open(file, new Options().createIfMissing(false))) {
      db.put(b("a"), b("1"));
      db.compactRange(null, null);
    }
    Path manifest;
    try (Stream<Path> files = Files.list(file.toPath())) {
      manifest = files.filter(each -> each.getFileName().toString().startsWith("MANIFEST")).findFirst().orElseThrow();
    }
    byte[] bytes = Files.readAllBytes(manifest);
    for (int i = 0; i < bytes.length; ++i) {
      bytes[i] ^= (byte) 0x55;
    }
    Files.write(manifest, bytes);
    LevelDbException e = assertThrows(LevelDbException.class, () -> open(file, new Options()));
    assertTrue(e.getMessage().startsWith("Corruption: "), e.getMessage());
    MergedbFactory.factory.repair(file, new Options());
    try (DB db = open(file, new Options().createIfMissing(false))) {
      assertEquals("1", s(db.get(b("a"))));
      assertNull(db.get(b("b")));
    }
  }

  @Test
  void names() {
    assertTrue(MergedbFactory.factory.toString().matches("mergedb version \\d+\\.\\d+\\.\\d+"), MergedbFactory.factory.toString());
    assertEquals("leveldb.BytewiseComparator", Settings.levelDbName("mergedb.bytewise"));
  }
}
