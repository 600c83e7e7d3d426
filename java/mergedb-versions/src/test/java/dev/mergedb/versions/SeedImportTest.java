package dev.mergedb.versions;

import static dev.mergedb.versions.Fixtures.bytes;
import static dev.mergedb.versions.Fixtures.values;
import static dev.mergedb.versions.Fixtures.version;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.mergedb.Database;
import dev.mergedb.Keyspace;
import dev.mergedb.MergedbException;
import dev.mergedb.Options;
import dev.mergedb.WriteOptions;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import org.fusesource.leveldbjni.JniDBFactory;
import org.iq80.leveldb.DB;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Directories that LevelDB itself wrote, in the seed's encoding. */
class SeedImportTest {
  private static final StoreOptions TARGET = new StoreOptions().name("test").partitioner(key -> key.length & 3);

  @TempDir Path directory;
  private Database database;
  private Keyspace keyspace;

  @BeforeEach
  void open() {
    database = Database.open(directory.resolve("db"), new Options().memoryBytes(16 << 20));
    keyspace = database.keyspace("store");
  }

  @AfterEach
  void close() {
    database.close();
  }

  /** leveldbjni has natives for x86-64 alone. */
  private Path levelDb(int keys) throws IOException {
    String architecture = System.getProperty("os.arch").toLowerCase(Locale.ROOT);
    Assumptions.assumeTrue(architecture.equals("amd64"), "leveldbjni has no natives for " + architecture);
    Path path = directory.resolve("seed");
    try (DB seed = JniDBFactory.factory.open(path.toFile(), new org.iq80.leveldb.Options().createIfMissing(true))) {
      for (int i = 0; i < keys; ++i) {
        seed.put(bytes("key" + i), SeedEncoding.encode(List.of(version("value" + i, 1, i + 1))));
      }
      seed.put(bytes("several"), SeedEncoding.encode(List.of(version("x", 1, 1), version("y", 2, 1), version("z", 3, 1))));
      seed.put(bytes(""), SeedEncoding.encode(List.of(version("empty", 1, 1))));
      seed.put(bytes("nothing"), SeedEncoding.encode(List.of()));
      seed.put(bytes("deleted"), SeedEncoding.encode(List.of(version("gone", 1, 1))));
      seed.delete(bytes("deleted"));
    }
    return path;
  }

  @Test
  void everyVersionArrives() throws IOException {
    Path seed = levelDb(20_000);
    assertEquals(20_002, SeedImport.run(seed, database, keyspace, TARGET));
    assertFalse(SeedImport.takesImport(database, keyspace, TARGET));
    try (VersionedStore store = VersionedStore.open(database, keyspace, TARGET)) {
      for (int i = 0; i < 20_000; i += 97) {
        assertEquals(List.of(version("value" + i, 1, i + 1)), store.get(bytes("key" + i)));
      }
      assertEquals("x y z", values(store.get(bytes("several"))));
      assertEquals("empty", values(store.get(new byte[0])));
      assertEquals(List.of(), store.get(bytes("nothing")));
      assertEquals(List.of(), store.get(bytes("deleted")));
      int keys = 0;
      try (Scan<byte[]> scan = store.keys()) {
        for (; scan.hasNext(); scan.next()) {
          ++keys;
        }
      }
      assertEquals(20_002, keys);
      store.put(bytes("several"), version("xy", 1, 1, 2, 1));
      assertEquals("xy z", values(store.get(bytes("several"))));
    }
  }

  /** A crash between the creation of the keyspace and the first write to it leaves a keyspace that is empty. */
  @Test
  void anEmptyKeyspaceTakesAnImportUntilItIsAStore() {
    assertTrue(SeedImport.takesImport(database, keyspace, TARGET));
    VersionedStore.open(database, keyspace, TARGET).close();
    assertFalse(SeedImport.takesImport(database, keyspace, TARGET));
  }

  @Test
  void aTargetThatIsAStoreIsRefused() throws IOException {
    Path seed = levelDb(1);
    VersionedStore.open(database, keyspace, TARGET).close();
    MergedbException e = assertThrows(MergedbException.class, () -> SeedImport.run(seed, database, keyspace, TARGET));
    assertEquals(MergedbException.Code.INVALID_ARGUMENT, e.code());
    try (DB untouched = JniDBFactory.factory.open(seed.toFile(), new org.iq80.leveldb.Options())) {
      assertTrue(untouched.get(bytes("key0")).length > 0);
    }
  }

  @Test
  void anInterruptedImportIsBegunAnew() throws IOException {
    Path seed = levelDb(3);
    try (Database source = Database.open(seed)) {
      source.put(bytes("key9"), bytes("no versions"));
    }
    VersionFormatException e = assertThrows(VersionFormatException.class, () -> SeedImport.run(seed, database, keyspace, TARGET));
    assertTrue(e.getMessage().contains("key 6b657939: "), e.getMessage());
    assertTrue(SeedImport.takesImport(database, keyspace, TARGET));
    assertThrows(MergedbException.class, () -> VersionedStore.open(database, keyspace, TARGET));
    database.put(WriteOptions.DEFAULT.in(keyspace), new KeyLayout(key -> 3).headKey(bytes("rest of the first try")), new byte[] {9});
    try (Database source = Database.open(seed)) {
      source.delete(bytes("key9"));
    }
    assertEquals(5, SeedImport.run(seed, database, keyspace, TARGET));
    try (VersionedStore store = VersionedStore.open(database, keyspace, TARGET)) {
      assertEquals(List.of(version("value2", 1, 3)), store.get(bytes("key2")));
      assertEquals(List.of(), store.get(bytes("rest of the first try")));
    }
  }

  @Test
  void aDirectoryWithoutADatabaseIsNotFound() {
    MergedbException e =
        assertThrows(MergedbException.class, () -> SeedImport.run(directory.resolve("none"), database, keyspace, TARGET));
    assertEquals(MergedbException.Code.NOT_FOUND, e.code());
    assertTrue(SeedImport.takesImport(database, keyspace, TARGET));
  }
}
