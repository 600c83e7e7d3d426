package voldemort.store.mergedb;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Properties;
import java.util.stream.Stream;
import voldemort.TestUtils;
import voldemort.routing.RoutingStrategy;
import voldemort.server.VoldemortConfig;
import voldemort.store.AbstractStorageEngineTest;
import voldemort.store.StorageEngine;
import voldemort.utils.ByteArray;
import voldemort.utils.ClosableIterator;
import voldemort.utils.Pair;
import voldemort.versioning.Versioned;

/** Voldemort's own tests of an engine, and two more that every configuration passes. */
public abstract class EngineTests extends AbstractStorageEngineTest {
  private Path home;
  private MergedbStorageConfiguration configuration;
  private MergedbStorageEngine engine;

  /** The settings to test with. */
  protected abstract Properties settings();

  /** The configuration under test. */
  protected abstract MergedbStorageConfiguration configuration(VoldemortConfig config);

  /** A configuration in a directory of its own. */
  static VoldemortConfig config(Path home, Properties settings) {
    Properties all = new Properties();
    all.setProperty("node.id", "0");
    all.setProperty("voldemort.home", home.toString());
    all.setProperty("mergedb.writebuffer.size", "2");
    all.setProperty("mergedb.lrublockcache", "8");
    all.putAll(settings);
    return new VoldemortConfig(all);
  }

  static RoutingStrategy routing() {
    return TestUtils.makeSingleNodeRoutingStrategy();
  }

  static void delete(Path directory) throws IOException {
    try (Stream<Path> paths = Files.walk(directory)) {
      paths.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
    }
  }

  @Override
  public void setUp() throws Exception {
    super.setUp();
    home = Files.createTempDirectory("mergedb-voldemort");
    open();
  }

  private void open() {
    configuration = configuration(config(home, settings()));
    engine = (MergedbStorageEngine) configuration.getStore(TestUtils.makeStoreDefinition("test"), routing());
  }

  @Override
  public void tearDown() throws Exception {
    configuration.close();
    delete(home);
    super.tearDown();
  }

  @Override
  public StorageEngine<ByteArray, byte[], byte[]> getStorageEngine() {
    return engine;
  }

  /** What was put is there after a restart. */
  public void testPersistence() {
    ByteArray key = new ByteArray("key".getBytes());
    engine.put(key, TestUtils.getVersioned("one".getBytes(), 1), null);
    engine.put(key, TestUtils.getVersioned("two".getBytes(), 2), null);
    List<Versioned<byte[]>> before = engine.get(key, null);
    configuration.close();
    open();
    assertEquals(2, before.size());
    assertTrue(TestUtils.areVersionedListsEqual(before, engine.get(key, null)));
  }

  /** A scan gives each version of a key, and hasNext moves nothing. */
  public void testEntriesGiveEveryVersion() {
    ByteArray key = new ByteArray("key".getBytes());
    List<Versioned<byte[]>> versions = List.of(TestUtils.getVersioned("a".getBytes(), 1), TestUtils.getVersioned("b".getBytes(), 2));
    assertEquals(List.of(), engine.multiVersionPut(key, versions));
    int count = 0;
    ClosableIterator<Pair<ByteArray, Versioned<byte[]>>> entries = engine.entries();
    while (entries.hasNext() && entries.hasNext()) {
      Pair<ByteArray, Versioned<byte[]>> entry = entries.next();
      assertEquals(key, entry.getFirst());
      assertTrue(versions.contains(entry.getSecond()));
      ++count;
    }
    entries.close();
    assertEquals(2, count);
    ClosableIterator<ByteArray> keys = engine.keys();
    assertEquals(key, keys.next());
    assertFalse(keys.hasNext());
    keys.close();
  }
}
