package dev.mergedb.kafka.streams;

import java.util.Objects;
import java.util.function.Predicate;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.DslStoreFormat;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.state.HeadersBytesStore;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.SessionStore;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A session store of bytes. An iterator goes through segments in the order of time, and through the
 * keys of a segment in the order of their bytes; the sessions of one key come in the order of their
 * ends, then of their starts.
 */
class MergedbSessionStore extends SegmentedStore implements SessionStore<Bytes, byte[]> {
  private static final Logger LOG = LoggerFactory.getLogger(MergedbSessionStore.class);
  private static final int SUFFIX = SegmentKeys.SESSION_SUFFIX_BYTES;

  /** A store whose values are those of format `format`. */
  static SessionStore<Bytes, byte[]> of(
      MergedbSessionBytesStoreSupplier supplier, DslStoreFormat format) {
    return format == DslStoreFormat.HEADERS
        ? new WithHeaders(supplier)
        : new MergedbSessionStore(supplier, DslStoreFormat.PLAIN);
  }

  private static final class WithHeaders extends MergedbSessionStore implements HeadersBytesStore {
    WithHeaders(MergedbSessionBytesStoreSupplier supplier) {
      super(supplier, DslStoreFormat.HEADERS);
    }
  }

  private MergedbSessionStore(MergedbSessionBytesStoreSupplier supplier, DslStoreFormat format) {
    super(
        supplier.name(),
        "session " + format,
        SUFFIX,
        supplier.retentionPeriod(),
        supplier.segmentIntervalMs());
  }

  @Override
  public void put(Windowed<Bytes> session, byte[] aggregate) {
    Objects.requireNonNull(session, "sessionKey cannot be null");
    long end = session.window().end();
    put(
        end,
        segment -> SegmentKeys.session(segment, session.key().get(), end, session.window().start()),
        aggregate);
  }

  @Override
  public void remove(Windowed<Bytes> session) {
    put(session, null);
  }

  @Override
  public byte[] fetchSession(Bytes key, long sessionStart, long sessionEnd) {
    Objects.requireNonNull(key, "key cannot be null");
    if (isExpired(sessionEnd)) return null;
    return database()
        .get(SegmentKeys.session(segmentOf(sessionEnd), key.get(), sessionEnd, sessionStart));
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> fetch(Bytes key) {
    return findSessions(key, 0, Long.MAX_VALUE, true);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFetch(Bytes key) {
    return findSessions(key, 0, Long.MAX_VALUE, false);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> fetch(Bytes keyFrom, Bytes keyTo) {
    return findSessions(keyFrom, keyTo, 0, Long.MAX_VALUE, Long.MAX_VALUE, true);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFetch(Bytes keyFrom, Bytes keyTo) {
    return findSessions(keyFrom, keyTo, 0, Long.MAX_VALUE, Long.MAX_VALUE, false);
  }

  /**
   * The sessions of all keys whose ends are in [earliestEnd, latestEnd]. Reads every entry of the
   * segments of these times. Also shows what has expired but is not removed yet: Kafka Streams asks
   * for the sessions that it emits when they close, which is when they expire.
   */
  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> findSessions(long earliestEnd, long latestEnd) {
    return findSessionsFrom(null, null, Math.max(0, earliestEnd), latestEnd, Long.MAX_VALUE, true);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> findSessions(
      Bytes key, long earliestEnd, long latestStart) {
    return findSessions(key, earliestEnd, latestStart, true);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFindSessions(
      Bytes key, long earliestEnd, long latestStart) {
    return findSessions(key, earliestEnd, latestStart, false);
  }

  private KeyValueIterator<Windowed<Bytes>, byte[]> findSessions(
      Bytes key, long earliestEnd, long latestStart, boolean isForward) {
    Objects.requireNonNull(key, "key cannot be null");
    long from = earliest(earliestEnd);
    byte[] bytes = key.get();
    int length = SegmentKeys.SEGMENT_BYTES + bytes.length + SUFFIX;
    SegmentIterator.Bounds bounds =
        new SegmentIterator.Bounds() {
          @Override
          public byte[] first(long segment) {
            return SegmentKeys.session(segment, bytes, from, 0);
          }

          @Override
          public byte[] last(long segment) {
            return SegmentKeys.session(segment, bytes, Long.MAX_VALUE, Long.MAX_VALUE);
          }
        };
    Predicate<byte[]> isAskedFor =
        storeKey -> storeKey.length == length && SegmentKeys.sessionStart(storeKey) <= latestStart;
    return new SegmentIterator<>(
        this, from, Long.MAX_VALUE, bounds, isAskedFor, SegmentKeys::session, isForward);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> findSessions(
      Bytes keyFrom, Bytes keyTo, long earliestEnd, long latestStart) {
    return findSessions(keyFrom, keyTo, earliestEnd, Long.MAX_VALUE, latestStart, true);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFindSessions(
      Bytes keyFrom, Bytes keyTo, long earliestEnd, long latestStart) {
    return findSessions(keyFrom, keyTo, earliestEnd, Long.MAX_VALUE, latestStart, false);
  }

  private KeyValueIterator<Windowed<Bytes>, byte[]> findSessions(
      Bytes keyFrom,
      Bytes keyTo,
      long earliestEnd,
      long latestEnd,
      long latestStart,
      boolean isForward) {
    if (StoreIterator.isInverted(keyFrom, keyTo)) {
      LOG.warn(StoreIterator.INVALID_RANGE);
      return StoreIterator.none();
    }
    return findSessionsFrom(
        keyFrom, keyTo, earliest(earliestEnd), latestEnd, latestStart, isForward);
  }

  private KeyValueIterator<Windowed<Bytes>, byte[]> findSessionsFrom(
      Bytes keyFrom, Bytes keyTo, long from, long latestEnd, long latestStart, boolean isForward) {
    if (latestEnd < from) return StoreIterator.none();
    byte[] low = keyFrom == null ? null : keyFrom.get();
    byte[] high = keyTo == null ? null : keyTo.get();
    Predicate<byte[]> isAskedFor =
        storeKey -> {
          long end = SegmentKeys.sessionEnd(storeKey);
          return end >= from
              && end <= latestEnd
              && SegmentKeys.sessionStart(storeKey) <= latestStart
              && SegmentKeys.isKeyWithin(storeKey, SUFFIX, low, high);
        };
    SegmentIterator.Bounds bounds =
        new KeyBounds(low, high, SegmentKeys.sessionSuffix(latestEnd, Long.MAX_VALUE));
    return new SegmentIterator<>(
        this, from, latestEnd, bounds, isAskedFor, SegmentKeys::session, isForward);
  }
}
