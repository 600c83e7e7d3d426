package dev.mergedb.kafka.streams;

import java.time.Duration;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.streams.DslStoreFormat;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.SessionBytesStoreSupplier;
import org.apache.kafka.streams.state.WindowBytesStoreSupplier;

/**
 * Suppliers of stores on mergedb, as {@code org.apache.kafka.streams.state.Stores} has them for the
 * built-in ones. Use them with the builders of that class or with {@code Materialized}. All methods
 * are for any number of threads.
 *
 * <p>The names say what the bytes of a value hold: the plain ones the serialized value, the
 * timestamped ones the timestamp of the record first, those with headers the record's headers
 * first.
 */
public final class MergedbStores {
  private MergedbStores() {}

  /**
   * @param name name of the store
   * @return a supplier for {@code Stores.keyValueStoreBuilder}
   */
  public static KeyValueBytesStoreSupplier keyValueStore(String name) {
    return new MergedbKeyValueBytesStoreSupplier(name, DslStoreFormat.PLAIN);
  }

  /**
   * @param name name of the store
   * @return a supplier for {@code Stores.timestampedKeyValueStoreBuilder} and {@code Materialized}
   */
  public static KeyValueBytesStoreSupplier timestampedKeyValueStore(String name) {
    return new MergedbKeyValueBytesStoreSupplier(name, DslStoreFormat.TIMESTAMPED);
  }

  /**
   * @param name name of the store
   * @return a supplier for {@code Stores.timestampedKeyValueStoreWithHeadersBuilder}
   */
  public static KeyValueBytesStoreSupplier timestampedKeyValueStoreWithHeaders(String name) {
    return new MergedbKeyValueBytesStoreSupplier(name, DslStoreFormat.HEADERS);
  }

  /**
   * @param name name of the store
   * @param retention how long a window is kept after its start, in stream time; at least
   *     `windowSize`
   * @param windowSize size of a window
   * @param retainDuplicates keep every record of a key and window instead of the last
   * @return a supplier for {@code Stores.windowStoreBuilder}
   * @throws IllegalArgumentException if a duration is negative or the retention smaller than a
   *     window
   */
  public static WindowBytesStoreSupplier windowStore(
      String name, Duration retention, Duration windowSize, boolean retainDuplicates) {
    return windowStore(name, retention, windowSize, retainDuplicates, DslStoreFormat.PLAIN);
  }

  /**
   * @param name name of the store
   * @param retention how long a window is kept after its start, in stream time; at least
   *     `windowSize`
   * @param windowSize size of a window
   * @param retainDuplicates keep every record of a key and window instead of the last
   * @return a supplier for {@code Stores.timestampedWindowStoreBuilder} and {@code Materialized}
   * @throws IllegalArgumentException if a duration is negative or the retention smaller than a
   *     window
   */
  public static WindowBytesStoreSupplier timestampedWindowStore(
      String name, Duration retention, Duration windowSize, boolean retainDuplicates) {
    return windowStore(name, retention, windowSize, retainDuplicates, DslStoreFormat.TIMESTAMPED);
  }

  /**
   * @param name name of the store
   * @param retention how long a window is kept after its start, in stream time; at least
   *     `windowSize`
   * @param windowSize size of a window
   * @param retainDuplicates keep every record of a key and window instead of the last
   * @return a supplier for {@code Stores.timestampedWindowStoreWithHeadersBuilder}
   * @throws IllegalArgumentException if a duration is negative or the retention smaller than a
   *     window
   */
  public static WindowBytesStoreSupplier timestampedWindowStoreWithHeaders(
      String name, Duration retention, Duration windowSize, boolean retainDuplicates) {
    return windowStore(name, retention, windowSize, retainDuplicates, DslStoreFormat.HEADERS);
  }

  private static WindowBytesStoreSupplier windowStore(
      String name,
      Duration retention,
      Duration windowSize,
      boolean retainDuplicates,
      DslStoreFormat format) {
    return new MergedbWindowBytesStoreSupplier(
        name, retention.toMillis(), windowSize.toMillis(), retainDuplicates, format);
  }

  /**
   * @param name name of the store
   * @param retention how long a session is kept after its end, in stream time
   * @return a supplier for {@code Stores.sessionStoreBuilder} and {@code Materialized}
   * @throws IllegalArgumentException if the retention is negative
   */
  public static SessionBytesStoreSupplier sessionStore(String name, Duration retention) {
    return new MergedbSessionBytesStoreSupplier(name, retention.toMillis(), DslStoreFormat.PLAIN);
  }

  /**
   * @param name name of the store
   * @param retention how long a session is kept after its end, in stream time
   * @return a supplier for {@code Stores.sessionStoreWithHeadersBuilder}
   * @throws IllegalArgumentException if the retention is negative
   */
  public static SessionBytesStoreSupplier sessionStoreWithHeaders(String name, Duration retention) {
    return new MergedbSessionBytesStoreSupplier(name, retention.toMillis(), DslStoreFormat.HEADERS);
  }

  /**
   * @param name name of the store
   * @param keySerde serde of the keys
   * @param aggregator what the store aggregates; {@link MergedbAggregators} has the ready ones
   * @param <K> type of the keys
   * @param <V> type of the values that are merged, and of the aggregate
   * @return a builder for {@code Topology.addStateStore}
   */
  public static <K, V> MergedbMergeStoreBuilder<K, V> mergeStoreBuilder(
      String name, Serde<K> keySerde, MergedbAggregator<V> aggregator) {
    return new MergedbMergeStoreBuilder<>(name, keySerde, aggregator);
  }
}
