package dev.mergedb.kafka.streams;

import java.util.Objects;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.DslStoreFormat;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * Supplies key-value stores on mergedb, for {@code Materialized.as(...)} and {@code
 * Stores.keyValueStoreBuilder(...)}. Immutable, for any number of threads. The stores belong to
 * Kafka Streams, which opens and closes them.
 */
public final class MergedbKeyValueBytesStoreSupplier implements KeyValueBytesStoreSupplier {
  private final String name;
  private final DslStoreFormat format;

  /**
   * @param name name of the store and of its directory
   * @param format what the bytes of a value hold: PLAIN, TIMESTAMPED (a timestamp first) or HEADERS
   *     (record headers first)
   * @throws NullPointerException if an argument is null
   */
  public MergedbKeyValueBytesStoreSupplier(String name, DslStoreFormat format) {
    this.name = Objects.requireNonNull(name, "name");
    this.format = Objects.requireNonNull(format, "format");
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public KeyValueStore<Bytes, byte[]> get() {
    return MergedbKeyValueStore.of(name, format);
  }

  /** {@code mergedb}: part of the names of the store's metrics. */
  @Override
  public String metricsScope() {
    return "mergedb";
  }
}
