package voldemort.store.leveldb;

import dev.mergedb.versions.VersionedStore;
import voldemort.server.VoldemortConfig;
import voldemort.store.mergedb.MergedbStorageConfiguration;
import voldemort.store.mergedb.MergedbStorageEngine;

/** The stores of type `leveldb`, for configurations that name the LevelDB engine of Voldemort 0.90. The data is mergedb's. */
public class LevelDBStorageConfiguration extends MergedbStorageConfiguration {
  /** The type of stores in stores.xml. */
  public static final String TYPE_NAME = "leveldb";

  /**
   * Called by Voldemort.
   *
   * @param config the configuration of the node
   */
  public LevelDBStorageConfiguration(VoldemortConfig config) {
    super(config);
  }

  @Override
  public String getType() {
    return TYPE_NAME;
  }

  @Override
  protected MergedbStorageEngine engine(VersionedStore store) {
    return new LevelDBStorageEngine(store);
  }
}
