package dev.mergedb.kafka.streams;

import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;

/**
 * A store for processors that aggregates without reading: {@link #merge} writes an operand, and the
 * engine applies the operands of a key when the key is read, flushed or compacted. Made by {@link
 * MergedbMergeStoreBuilder}.
 *
 * <p>The changelog holds whole aggregates, not operands: at each commit the store reads the keys
 * that changed since the last one and logs what they are. So a changelog costs one read per changed
 * key and commit, instead of one per record. Without a changelog nothing is read.
 *
 * <p>The DSL's {@code count}, {@code reduce} and {@code aggregate} cannot use it: they pass each
 * new aggregate on, so they read it.
 *
 * <p>The stream thread writes; any thread may read, also through interactive queries as a {@code
 * QueryableStoreTypes.keyValueStore()}.
 *
 * <p>Guarantees: with {@code exactly_once_v2}, each record counts once. With {@code at_least_once},
 * records that were merged after the last commit before a crash count again, as in every store of
 * Kafka Streams.
 *
 * @param <K> type of the keys
 * @param <V> type of the values that are merged, and of the aggregate
 */
public interface MergedbMergeStore<K, V> extends StateStore, ReadOnlyKeyValueStore<K, V> {
  /**
   * Merge `value` into the aggregate of `key`. Reads nothing.
   *
   * @param key the key
   * @param value what to merge
   * @throws NullPointerException if an argument is null
   * @throws org.apache.kafka.streams.errors.InvalidStateStoreException if the store is closed
   * @throws org.apache.kafka.streams.errors.ProcessorStateException if the engine fails
   */
  void merge(K key, V value);

  /**
   * Replace the aggregate of `key`.
   *
   * @param key the key
   * @param aggregate the new aggregate; null deletes the key
   * @throws NullPointerException if `key` is null
   * @throws org.apache.kafka.streams.errors.InvalidStateStoreException if the store is closed
   * @throws org.apache.kafka.streams.errors.ProcessorStateException if the engine fails
   */
  void put(K key, V aggregate);

  /**
   * Delete `key`.
   *
   * @param key the key
   * @throws NullPointerException if `key` is null
   * @throws org.apache.kafka.streams.errors.InvalidStateStoreException if the store is closed
   * @throws org.apache.kafka.streams.errors.ProcessorStateException if the engine fails
   */
  default void delete(K key) {
    put(key, null);
  }
}
