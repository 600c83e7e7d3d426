package voldemort.store.leveldb;

import java.util.Properties;
import voldemort.server.VoldemortConfig;
import voldemort.store.mergedb.EngineTests;
import voldemort.store.mergedb.MergedbStorageConfiguration;

/** The names and the settings with which the seed tested its engine. One test syncs its writes: ten thousand syncs take minutes on some disks. */
public class LevelDBStorageEngineTest extends EngineTests {
  @Override
  protected Properties settings() {
    Properties settings = new Properties();
    settings.setProperty("leveldb.write.sync", String.valueOf("testPersistence".equals(getName())));
    settings.setProperty("leveldb.stripes", "10");
    settings.setProperty("leveldb.poolsize", "4");
    return settings;
  }

  @Override
  protected MergedbStorageConfiguration configuration(VoldemortConfig config) {
    return new LevelDBStorageConfiguration(config);
  }

  /** An old configuration finds the class and the type that it names. */
  @Override
  public void testPersistence() {
    assertEquals("leveldb", LevelDBStorageConfiguration.TYPE_NAME);
    assertEquals(LevelDBStorageEngine.class, getStorageEngine().getClass());
    super.testPersistence();
  }
}
