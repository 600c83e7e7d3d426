package dev.mergedb.kafka.streams;

import java.util.Objects;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.DslStoreFormat;
import org.apache.kafka.streams.state.SessionBytesStoreSupplier;
import org.apache.kafka.streams.state.SessionStore;

/**
 * Supplies session stores on mergedb, for {@code Materialized.as(...)} and {@code
 * Stores.sessionStoreBuilder(...)}. Immutable, for any number of threads. The stores belong to
 * Kafka Streams, which opens and closes them.
 */
public final class MergedbSessionBytesStoreSupplier implements SessionBytesStoreSupplier {
  private final String name;
  private final long retentionMillis;
  private final DslStoreFormat format;

  /**
   * @param name name of the store and of its directory
   * @param retentionMillis how long a session is kept after its end, in milliseconds of stream time
   * @param format what the bytes of an aggregate hold: PLAIN or HEADERS (record headers first)
   * @throws NullPointerException if `name` or `format` is null
   * @throws IllegalArgumentException if the retention is negative, or the format is TIMESTAMPED,
   *     which sessions do not have
   */
  public MergedbSessionBytesStoreSupplier(
      String name, long retentionMillis, DslStoreFormat format) {
    this.name = Objects.requireNonNull(name, "name");
    this.format = Objects.requireNonNull(format, "format");
    if (retentionMillis < 0) {
      throw new IllegalArgumentException(
          "store " + name + ": retention " + retentionMillis + " ms; expected 0 or more");
    }
    if (format == DslStoreFormat.TIMESTAMPED) {
      throw new IllegalArgumentException(
          "store " + name + ": format TIMESTAMPED; expected PLAIN or HEADERS for sessions");
    }
    this.retentionMillis = retentionMillis;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public SessionStore<Bytes, byte[]> get() {
    return MergedbSessionStore.of(this, format);
  }

  /** {@code mergedb-session}: part of the names of the store's metrics. */
  @Override
  public String metricsScope() {
    return "mergedb-session";
  }

  /** Half the retention, at least a minute: what has expired is removed in steps of it. */
  @Override
  public long segmentIntervalMs() {
    return MergedbWindowBytesStoreSupplier.segmentMillis(retentionMillis);
  }

  @Override
  public long retentionPeriod() {
    return retentionMillis;
  }
}
