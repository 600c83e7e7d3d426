package dev.mergedb.kafka.streams;

import dev.mergedb.Options;
import java.util.Map;

/**
 * Changes the options of a store before its database opens, as {@code RocksDBConfigSetter} does for
 * the RocksDB stores. Named by {@link MergedbConfig#OPTIONS_SETTER}; an implementation needs a
 * public constructor without parameters.
 */
@FunctionalInterface
public interface MergedbOptionsSetter {
  /**
   * Called once each time a store opens, by the thread that opens it.
   *
   * @param storeName name of the store
   * @param options options made from the streams configuration; change them in place. A comparator
   *     is not supported: range queries, windows and sessions need the bytewise order.
   * @param configs the streams configuration
   */
  void setOptions(String storeName, Options options, Map<String, ?> configs);
}
