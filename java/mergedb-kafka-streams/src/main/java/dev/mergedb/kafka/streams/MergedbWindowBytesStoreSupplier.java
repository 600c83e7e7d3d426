package dev.mergedb.kafka.streams;

import java.util.Objects;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.DslStoreFormat;
import org.apache.kafka.streams.state.WindowBytesStoreSupplier;
import org.apache.kafka.streams.state.WindowStore;

/**
 * Supplies window stores on mergedb, for {@code Materialized.as(...)}, {@code StreamJoined} and
 * {@code Stores.windowStoreBuilder(...)}. Immutable, for any number of threads. The stores belong
 * to Kafka Streams, which opens and closes them.
 */
public final class MergedbWindowBytesStoreSupplier implements WindowBytesStoreSupplier {
  static final long SEGMENT_MILLIS_MIN = 60_000;

  private final String name;
  private final long retentionMillis;
  private final long windowMillis;
  private final boolean retainsDuplicates;
  private final DslStoreFormat format;

  /**
   * @param name name of the store and of its directory
   * @param retentionMillis how long a window is kept after its start, in milliseconds of stream
   *     time; at least `windowMillis`
   * @param windowMillis size of a window, in milliseconds
   * @param retainsDuplicates keep every record of a key and window instead of the last, as joins
   *     need
   * @param format what the bytes of a value hold: PLAIN, TIMESTAMPED (a timestamp first) or HEADERS
   *     (record headers first)
   * @throws NullPointerException if `name` or `format` is null
   * @throws IllegalArgumentException if a time is negative or the retention smaller than a window
   */
  public MergedbWindowBytesStoreSupplier(
      String name,
      long retentionMillis,
      long windowMillis,
      boolean retainsDuplicates,
      DslStoreFormat format) {
    this.name = Objects.requireNonNull(name, "name");
    this.format = Objects.requireNonNull(format, "format");
    if (windowMillis < 0 || retentionMillis < windowMillis) {
      throw new IllegalArgumentException(
          "store "
              + name
              + ": retention "
              + retentionMillis
              + " ms, window "
              + windowMillis
              + " ms; expected 0 <= window <= retention");
    }
    this.retentionMillis = retentionMillis;
    this.windowMillis = windowMillis;
    this.retainsDuplicates = retainsDuplicates;
  }

  static long segmentMillis(long retentionMillis) {
    return Math.max(retentionMillis / 2, SEGMENT_MILLIS_MIN);
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public WindowStore<Bytes, byte[]> get() {
    return MergedbWindowStore.of(this, format);
  }

  /** {@code mergedb-window}: part of the names of the store's metrics. */
  @Override
  public String metricsScope() {
    return "mergedb-window";
  }

  /** Half the retention, at least a minute: what has expired is removed in steps of it. */
  @Override
  public long segmentIntervalMs() {
    return segmentMillis(retentionMillis);
  }

  @Override
  public long windowSize() {
    return windowMillis;
  }

  @Override
  public boolean retainDuplicates() {
    return retainsDuplicates;
  }

  @Override
  public long retentionPeriod() {
    return retentionMillis;
  }
}
