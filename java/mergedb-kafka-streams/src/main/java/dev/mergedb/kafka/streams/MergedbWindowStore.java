package dev.mergedb.kafka.streams;

import java.util.Objects;
import java.util.function.Predicate;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.DslStoreFormat;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.state.HeadersBytesStore;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.TimestampedBytesStore;
import org.apache.kafka.streams.state.WindowStore;
import org.apache.kafka.streams.state.WindowStoreIterator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A window store of bytes. An iterator goes through segments in the order of time, and through the
 * keys of a segment in the order of their bytes; the windows of one key come in the order of time.
 */
class MergedbWindowStore extends SegmentedStore implements WindowStore<Bytes, byte[]> {
  private static final Logger LOG = LoggerFactory.getLogger(MergedbWindowStore.class);
  private static final int SUFFIX = SegmentKeys.WINDOW_SUFFIX_BYTES;

  private final long windowSize;
  private final boolean retainsDuplicates;
  private int sequence;

  /** A store whose values are those of format `format`. */
  static WindowStore<Bytes, byte[]> of(
      MergedbWindowBytesStoreSupplier supplier, DslStoreFormat format) {
    switch (format) {
      case PLAIN:
        return new MergedbWindowStore(supplier, format);
      case TIMESTAMPED:
        return new Timestamped(supplier);
      case HEADERS:
        return new WithHeaders(supplier);
      default:
        throw new IllegalArgumentException(
            "store "
                + supplier.name()
                + ": format "
                + format
                + " is not known; expected PLAIN, TIMESTAMPED or HEADERS");
    }
  }

  private static final class Timestamped extends MergedbWindowStore
      implements TimestampedBytesStore {
    Timestamped(MergedbWindowBytesStoreSupplier supplier) {
      super(supplier, DslStoreFormat.TIMESTAMPED);
    }
  }

  private static final class WithHeaders extends MergedbWindowStore implements HeadersBytesStore {
    WithHeaders(MergedbWindowBytesStoreSupplier supplier) {
      super(supplier, DslStoreFormat.HEADERS);
    }
  }

  private MergedbWindowStore(MergedbWindowBytesStoreSupplier supplier, DslStoreFormat format) {
    super(
        supplier.name(),
        "window " + format,
        SUFFIX,
        supplier.retentionPeriod(),
        supplier.segmentIntervalMs());
    windowSize = supplier.windowSize();
    retainsDuplicates = supplier.retainDuplicates();
  }

  @Override
  public void put(Bytes key, byte[] value, long windowStart) {
    Objects.requireNonNull(key, "key cannot be null");
    if (retainsDuplicates) {
      // A delete names one record, but the key has many: it has no effect.
      if (value == null) return;
      sequence = sequence + 1 & Integer.MAX_VALUE;
    }
    put(
        windowStart,
        segment -> SegmentKeys.window(segment, key.get(), windowStart, sequence),
        value);
  }

  @Override
  public byte[] fetch(Bytes key, long windowStart) {
    Objects.requireNonNull(key, "key cannot be null");
    if (isExpired(windowStart)) return null;
    return database()
        .get(SegmentKeys.window(segmentOf(windowStart), key.get(), windowStart, sequence));
  }

  @Override
  public WindowStoreIterator<byte[]> fetch(Bytes key, long timeFrom, long timeTo) {
    return fetch(key, timeFrom, timeTo, true);
  }

  @Override
  public WindowStoreIterator<byte[]> backwardFetch(Bytes key, long timeFrom, long timeTo) {
    return fetch(key, timeFrom, timeTo, false);
  }

  private WindowStoreIterator<byte[]> fetch(
      Bytes key, long timeFrom, long timeTo, boolean isForward) {
    Objects.requireNonNull(key, "key cannot be null");
    long from = earliest(timeFrom);
    if (timeTo < from) return new NoWindows();
    byte[] bytes = key.get();
    int length = SegmentKeys.SEGMENT_BYTES + bytes.length + SUFFIX;
    SegmentIterator.Bounds bounds =
        new SegmentIterator.Bounds() {
          @Override
          public byte[] first(long segment) {
            return SegmentKeys.window(segment, bytes, from, 0);
          }

          @Override
          public byte[] last(long segment) {
            return SegmentKeys.window(segment, bytes, timeTo, Integer.MAX_VALUE);
          }
        };
    // A key of the same length between the bounds begins with the same bytes; one of another length
    // is another key.
    return new WindowIterator(
        this, from, timeTo, bounds, storeKey -> storeKey.length == length, isForward);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> fetch(
      Bytes keyFrom, Bytes keyTo, long timeFrom, long timeTo) {
    return fetch(keyFrom, keyTo, timeFrom, timeTo, true);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFetch(
      Bytes keyFrom, Bytes keyTo, long timeFrom, long timeTo) {
    return fetch(keyFrom, keyTo, timeFrom, timeTo, false);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> all() {
    return fetch(null, null, 0, Long.MAX_VALUE, true);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> backwardAll() {
    return fetch(null, null, 0, Long.MAX_VALUE, false);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> fetchAll(long timeFrom, long timeTo) {
    return fetch(null, null, timeFrom, timeTo, true);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFetchAll(long timeFrom, long timeTo) {
    return fetch(null, null, timeFrom, timeTo, false);
  }

  private KeyValueIterator<Windowed<Bytes>, byte[]> fetch(
      Bytes keyFrom, Bytes keyTo, long timeFrom, long timeTo, boolean isForward) {
    if (StoreIterator.isInverted(keyFrom, keyTo)) {
      LOG.warn(StoreIterator.INVALID_RANGE);
      return StoreIterator.none();
    }
    long from = earliest(timeFrom);
    if (timeTo < from) return StoreIterator.none();
    byte[] low = keyFrom == null ? null : keyFrom.get();
    byte[] high = keyTo == null ? null : keyTo.get();
    Predicate<byte[]> isAskedFor =
        storeKey -> {
          long start = SegmentKeys.windowStart(storeKey);
          return start >= from
              && start <= timeTo
              && SegmentKeys.isKeyWithin(storeKey, SUFFIX, low, high);
        };
    SegmentIterator.Bounds bounds =
        new KeyBounds(low, high, SegmentKeys.windowSuffix(timeTo, Integer.MAX_VALUE));
    return new SegmentIterator<>(
        this,
        from,
        timeTo,
        bounds,
        isAskedFor,
        storeKey -> SegmentKeys.windowed(storeKey, windowSize),
        isForward);
  }

  private static final class WindowIterator extends SegmentIterator<Long>
      implements WindowStoreIterator<byte[]> {
    WindowIterator(
        SegmentedStore segments,
        long from,
        long to,
        Bounds bounds,
        Predicate<byte[]> filter,
        boolean isForward) {
      super(segments, from, to, bounds, filter, SegmentKeys::windowStart, isForward);
    }
  }

  private static final class NoWindows extends StoreIterator.Empty<Long>
      implements WindowStoreIterator<byte[]> {}
}
