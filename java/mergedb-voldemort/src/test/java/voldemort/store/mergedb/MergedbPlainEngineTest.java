package voldemort.store.mergedb;

import java.util.Properties;
import voldemort.server.VoldemortConfig;

/** The other choices: a database of the store's own, keys without prefixes, pools with threads. */
public class MergedbPlainEngineTest extends EngineTests {
  @Override
  protected Properties settings() {
    Properties settings = new Properties();
    settings.setProperty("mergedb.one.database", "false");
    settings.setProperty("mergedb.prefix.keys.with.partitionid", "false");
    settings.setProperty("mergedb.pool.threads", "true");
    settings.setProperty("mergedb.read.poolsize", "2");
    return settings;
  }

  @Override
  protected MergedbStorageConfiguration configuration(VoldemortConfig config) {
    return new MergedbStorageConfiguration(config);
  }
}
