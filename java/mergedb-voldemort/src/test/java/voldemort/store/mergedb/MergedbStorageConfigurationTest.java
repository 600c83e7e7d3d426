package voldemort.store.mergedb;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotSame;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;
import static org.junit.Assume.assumeTrue;

import dev.mergedb.versions.SeedEncoding;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Properties;
import org.fusesource.leveldbjni.JniDBFactory;
import org.iq80.leveldb.DB;
import org.junit.After;
import org.junit.Before;
import org.junit.Test;
import voldemort.TestUtils;
import voldemort.server.storage.KeyLockHandle;
import voldemort.store.PersistenceFailureException;
import voldemort.store.StorageConfiguration;
import voldemort.store.StorageInitializationException;
import voldemort.store.leveldb.LevelDBStorageConfiguration;
import voldemort.utils.ByteArray;
import voldemort.utils.ClosableIterator;
import voldemort.versioning.ObsoleteVersionException;
import voldemort.versioning.Versioned;

/** Where stores live, how they come and go, and what Voldemort's engine tests leave out. */
public class MergedbStorageConfigurationTest {
  private Path home;
  private StorageConfiguration configuration;

  @Before
  public void setUp() throws IOException {
    home = Files.createTempDirectory("mergedb-voldemort");
  }

  @After
  public void tearDown() throws IOException {
    if (configuration != null) {
      configuration.close();
    }
    EngineTests.delete(home);
  }

  /** Closes the configuration and makes another, as a restart of the node does. */
  private StorageConfiguration restart(String... namesAndValues) {
    if (configuration != null) {
      configuration.close();
    }
    configuration = new MergedbStorageConfiguration(EngineTests.config(home, properties(namesAndValues)));
    return configuration;
  }

  private static Properties properties(String... namesAndValues) {
    Properties properties = new Properties();
    for (int i = 0; i < namesAndValues.length; i += 2) {
      properties.setProperty(namesAndValues[i], namesAndValues[i + 1]);
    }
    return properties;
  }

  private MergedbStorageEngine store(String name) {
    return store(configuration, name);
  }

  private static MergedbStorageEngine store(StorageConfiguration configuration, String name) {
    return (MergedbStorageEngine) configuration.getStore(TestUtils.makeStoreDefinition(name), EngineTests.routing());
  }

  private static ByteArray key(String text) {
    return new ByteArray(text.getBytes());
  }

  private static Versioned<byte[]> version(String value, int... nodes) {
    return TestUtils.getVersioned(value.getBytes(), nodes);
  }

  private static String get(MergedbStorageEngine engine, String key) {
    return String.join(" ", engine.get(key(key), null).stream().map(version -> new String(version.getValue())).sorted().toList());
  }

  private static int count(ClosableIterator<?> iterator) {
    int count = 0;
    for (; iterator.hasNext(); iterator.next()) {
      ++count;
    }
    iterator.close();
    return count;
  }

  private String refusal() {
    return assertThrows(StorageInitializationException.class, () -> store("a")).getMessage();
  }

  @Test
  public void storesShareOneDatabase() {
    restart();
    store("a").put(key("k"), version("in a", 1), null);
    store("b").put(key("k"), version("in b", 1), null);
    assertSame(store("a"), store("a"));
    assertEquals("in a", get(store("a"), "k"));
    store("b").truncate();
    assertEquals("in a", get(store("a"), "k"));
    assertEquals("", get(store("b"), "k"));
    assertTrue(Files.exists(home.resolve("data/mergedb/shared/CURRENT")));
    assertFalse(Files.exists(home.resolve("data/mergedb/stores")));
  }

  @Test
  public void aStoreMayHaveItsOwnDatabase() {
    restart("mergedb.a.one.database", "false");
    store("a").put(key("k"), version("in a", 1), null);
    store("b").put(key("k"), version("in b", 1), null);
    assertTrue(Files.exists(home.resolve("data/mergedb/stores/a/CURRENT")));
    restart("mergedb.a.one.database", "false");
    assertEquals("in a", get(store("a"), "k"));
    assertEquals("in b", get(store("b"), "k"));
  }

  @Test
  public void dataElsewhereIsNotPassedOver() {
    restart();
    store("a").put(key("k"), version("v", 1), null);
    restart("mergedb.one.database", "false");
    String text = refusal();
    assertTrue(text, text.contains("mergedb.a.one.database = true"));
    store("fresh");
    restart("mergedb.a.one.database", "false");
    store("b");
    assertTrue(refusal(), refusal().contains("mergedb.a.one.database = true"));
    restart("mergedb.fresh.one.database", "false");
    assertEquals("v", get(store("a"), "k"));
    restart();
    text = assertThrows(StorageInitializationException.class, () -> store("fresh")).getMessage();
    assertTrue(text, text.contains("mergedb.fresh.one.database = false"));
  }

  @Test
  public void bothTypesShareTheDatabaseOfTheNode() {
    restart();
    StorageConfiguration old = new LevelDBStorageConfiguration(EngineTests.config(home, properties()));
    try {
      store("a").put(key("k"), version("new", 1), null);
      store(old, "b").put(key("k"), version("old", 1), null);
      assertEquals("leveldb", old.getType());
      assertEquals("mergedb", configuration.getType());
    } finally {
      old.close();
    }
    assertEquals("new", get(store("a"), "k"));
    assertEquals("a store may change its type", "old", get(store("b"), "k"));
  }

  @Test
  public void aDeletedStoreIsGone() {
    restart();
    store("a").put(key("k"), version("v", 1), null);
    MergedbStorageEngine a = store("a");
    a.truncate();
    a.close();
    configuration.removeStorageEngine(a);
    assertNotSame(a, store("a"));
    assertEquals("", get(store("a"), "k"));
    restart("mergedb.createifmissing", "false");
    store("a");
    configuration.removeStorageEngine(store("a"));
    assertTrue(refusal(), refusal().contains("createifmissing"));
  }

  @Test
  public void aClosedStoreWithKeysKeepsThem() {
    restart("mergedb.one.database", "false");
    store("a").put(key("k"), version("v", 1), null);
    configuration.removeStorageEngine(store("a"));
    assertEquals("v", get(store("a"), "k"));
    store("a").truncate();
    configuration.removeStorageEngine(store("a"));
    assertFalse(Files.exists(home.resolve("data/mergedb/stores/a")));
  }

  @Test
  public void createIfMissingAndErrorIfExists() {
    restart("leveldb.createifmissing", "false");
    refusal();
    assertFalse(Files.exists(home.resolve("data/mergedb")));
    restart("leveldb.errorifexists", "true");
    store("a");
    restart("leveldb.errorifexists", "true");
    assertTrue(refusal(), refusal().contains("errorifexists"));
    restart("leveldb.createifmissing", "false");
    assertEquals("", get(store("a"), "k"));
  }

  @Test
  public void theLayoutIsKept() {
    restart();
    store("a").put(key("k"), version("v", 1), null);
    restart("mergedb.prefix.keys.with.partitionid", "false");
    assertTrue(refusal(), refusal().contains("partition prefixes"));
    restart();
    assertEquals("v", get(store("a"), "k"));
  }

  @Test
  public void partitionScansSeeEachKeyOnce() {
    restart();
    MergedbStorageEngine engine = store("a");
    assertTrue(engine.isPartitionScanSupported());
    assertFalse(engine.isPartitionAware());
    for (int i = 0; i < 500; ++i) {
      engine.put(key("k" + i), version("v", 1), null);
    }
    engine.put(key("k0"), version("w", 2), null);
    int partitions = 64;  // more than the cluster of the test has
    int keys = 0;
    int entries = 0;
    for (int partition = 0; partition < partitions; ++partition) {
      int expected = partition;
      ClosableIterator<ByteArray> scan = engine.keys(partition);
      while (scan.hasNext()) {
        assertEquals(expected, (int) EngineTests.routing().getMasterPartition(scan.next().get()));
        ++keys;
      }
      scan.close();
      entries += count(engine.entries(partition));
    }
    assertEquals(500, keys);
    assertEquals(501, entries);
    assertEquals(500, count(engine.keys()));
    assertEquals(501, count(engine.entries()));
  }

  @Test
  public void aStoreWithoutPrefixesHasNoPartitionScans() {
    restart("mergedb.prefix.keys.with.partitionid", "false");
    MergedbStorageEngine engine = store("a");
    assertFalse(engine.isPartitionScanSupported());
    assertThrows(UnsupportedOperationException.class, () -> engine.keys(0));
    assertThrows(UnsupportedOperationException.class, () -> engine.entries(0));
    assertThrows(UnsupportedOperationException.class, () -> engine.keys().remove());
  }

  @Test
  public void locksAreVoldemorts() {
    restart();
    MergedbStorageEngine engine = store("a");
    engine.put(key("k"), version("x", 1), null);
    engine.put(key("k"), version("y", 2), null);
    KeyLockHandle<byte[]> handle = engine.getAndLock(key("k"));
    assertEquals(2, handle.getValues().size());
    engine.releaseLock(handle);
    assertTrue(handle.isClosed());
    assertEquals("x y", get(engine, "k"));
    handle = engine.getAndLock(key("k"));
    handle.setValues(List.of(version("z", 3)));
    KeyLockHandle<byte[]> wrong = handle;
    assertThrows(IllegalArgumentException.class, () -> engine.putAndUnlock(key("other"), wrong));
    engine.putAndUnlock(key("k"), handle);
    assertTrue(handle.isClosed());
    assertEquals("z", get(engine, "k"));
    assertThrows(IllegalArgumentException.class, () -> engine.releaseLock(new KeyLockHandle<>(List.of(), "no lock of ours")));
  }

  @Test
  public void errorsAreVoldemorts() {
    restart();
    MergedbStorageEngine engine = store("a");
    engine.put(key("k"), version("x", 1, 1), null);
    String text = assertThrows(ObsoleteVersionException.class, () -> engine.put(key("k"), version("y", 1), null)).getMessage();
    assertTrue(text, text.startsWith("store a, key 6b: "));
    assertTrue(engine.beginBatchModifications());
    assertFalse(engine.beginBatchModifications());
    assertTrue(engine.endBatchModifications());
    engine.close();
    assertThrows(PersistenceFailureException.class, () -> engine.get(key("k"), null));
    assertThrows(PersistenceFailureException.class, () -> engine.entries());
  }

  // ---- directories of the LevelDB engine

  private Path levelDb(String store, int keys) throws IOException {
    assumeTrue("leveldbjni has natives for x86-64 alone", System.getProperty("os.arch").equals("amd64"));
    Path path = home.resolve("data/leveldb").resolve(store);
    Files.createDirectories(path.getParent());
    try (DB seed = JniDBFactory.factory.open(path.toFile(), new org.iq80.leveldb.Options().createIfMissing(true))) {
      for (int i = 0; i < keys; ++i) {
        seed.put(("k" + i).getBytes(), SeedEncoding.encode(Translation.ours(List.of(version("v" + i, 1), version("w" + i, 2)))));
      }
    }
    return path;
  }

  @Test
  public void aLevelDbDirectoryIsImportedOnce() throws IOException {
    Path old = levelDb("a", 300);
    configuration = new LevelDBStorageConfiguration(EngineTests.config(home, properties("leveldb.createifmissing", "false", "mergedb.createifmissing", "true")));
    MergedbStorageEngine engine = store("a");
    assertEquals("v7 w7", get(engine, "k7"));
    assertEquals(300, count(engine.keys()));
    assertEquals(600, count(engine.entries()));
    assertArrayEquals("v9".getBytes(), engine.get(key("k9"), null).get(0).getValue());
    assertFalse(Files.exists(old));
    assertTrue(Files.exists(home.resolve("data/leveldb/a.imported/CURRENT")));
    engine.delete(key("k7"), null);
    restart();
    assertEquals("a store that was imported is not imported again", "", get(store("a"), "k7"));
    assertEquals("v8 w8", get(store("a"), "k8"));
  }

  @Test
  public void aStoreWithDataIsNotReplacedByALevelDbDirectory() throws IOException {
    restart();
    store("a").put(key("k"), version("new", 1), null);
    Path old = levelDb("a", 3);
    restart();
    assertEquals("new", get(store("a"), "k"));
    assertEquals("", get(store("a"), "k1"));
    assertTrue(Files.exists(old.resolve("CURRENT")));
  }

  @Test
  public void aDirectoryThatIsNotTheSeedsIsRefused() throws IOException {
    Path old = levelDb("a", 3);
    try (DB seed = JniDBFactory.factory.open(old.toFile(), new org.iq80.leveldb.Options())) {
      seed.put("other".getBytes(), "no versions".getBytes());
    }
    restart();
    String text = refusal();
    assertTrue(text, text.contains("key 6f74686572"));
    assertTrue(Files.exists(old.resolve("CURRENT")));
    assertEquals("the next try fails the same way", text, refusal());
  }
}
