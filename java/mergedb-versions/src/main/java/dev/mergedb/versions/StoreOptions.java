package dev.mergedb.versions;

import java.util.Objects;
import java.util.function.ToIntFunction;

/** How a versioned store is opened. Fluent and mutable; for one thread at a time. The store copies what it needs. */
public final class StoreOptions {
  String name = "versions";
  ToIntFunction<byte[]> partitioner;
  int lockStripes = 100;
  int readPool;
  int writePool;
  boolean hasPoolThreads;
  boolean isSynced;
  boolean fillsCache = true;
  boolean verifiesChecksums = true;

  /** All defaults. */
  public StoreOptions() {}

  /**
   * What messages call the store.
   *
   * @param value the name; default "versions"
   * @return this
   */
  public StoreOptions name(String value) {
    name = Objects.requireNonNull(value, "name");
    return this;
  }

  /**
   * The partition of a key. The store puts it in front of the key, so that a scan of a partition reads nothing else. A store keeps the layout with which
   * it was created.
   *
   * @param value gives 0 to 65,535, always the same for one key, and is called by any thread; null: no partitions, the default
   * @return this
   */
  public StoreOptions partitioner(ToIntFunction<byte[]> value) {
    partitioner = value;
    return this;
  }

  /**
   * How many locks serialize the writers. Writers of keys under different locks do not wait for each other.
   *
   * @param value 1 or more; default 100
   * @return this
   */
  public StoreOptions lockStripes(int value) {
    lockStripes = value;
    return this;
  }

  /**
   * How many reads may be in the database at once. Scans do not count.
   *
   * @param value 0: any number, the default
   * @return this
   */
  public StoreOptions readPool(int value) {
    readPool = value;
    return this;
  }

  /**
   * How many writes may be in the database at once.
   *
   * @param value 0: any number, the default
   * @return this
   */
  public StoreOptions writePool(int value) {
    writePool = value;
    return this;
  }

  /**
   * Which threads run the calls that a pool admits.
   *
   * @param value true: as many threads of the pool as it admits calls; false, the default: the callers
   * @return this
   */
  public StoreOptions poolThreads(boolean value) {
    hasPoolThreads = value;
    return this;
  }

  /**
   * What a write survives when it returns.
   *
   * @param value true: power loss; false, the default: the end of the process
   * @return this
   */
  public StoreOptions synced(boolean value) {
    isSynced = value;
    return this;
  }

  /**
   * Whether reads put blocks into the cache of the database.
   *
   * @param value default true
   * @return this
   */
  public StoreOptions fillCache(boolean value) {
    fillsCache = value;
    return this;
  }

  /**
   * Whether reads verify the checksums of blocks that come from disk.
   *
   * @param value default true
   * @return this
   */
  public StoreOptions verifyChecksums(boolean value) {
    verifiesChecksums = value;
    return this;
  }
}
