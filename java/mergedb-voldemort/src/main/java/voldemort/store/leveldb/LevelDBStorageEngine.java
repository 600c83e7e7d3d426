package voldemort.store.leveldb;

import dev.mergedb.versions.VersionedStore;
import voldemort.store.mergedb.MergedbStorageEngine;

/** {@link MergedbStorageEngine} under the name of the LevelDB engine of Voldemort 0.90. */
public class LevelDBStorageEngine extends MergedbStorageEngine {
  /**
   * An engine on an open store.
   *
   * @param store the store; the engine closes it
   */
  public LevelDBStorageEngine(VersionedStore store) {
    super(store);
  }
}
