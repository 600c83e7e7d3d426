package voldemort.store.mergedb;

import java.util.Properties;
import voldemort.server.VoldemortConfig;

/** The defaults: one database for all stores, partition prefixes, pools that the callers run in. */
public class MergedbStorageEngineTest extends EngineTests {
  @Override
  protected Properties settings() {
    return new Properties();
  }

  @Override
  protected MergedbStorageConfiguration configuration(VoldemortConfig config) {
    return new MergedbStorageConfiguration(config);
  }
}
