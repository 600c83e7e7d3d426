package dev.mergedb.kafka.streams;

import dev.mergedb.EntryIterator;
import dev.mergedb.WriteBatch;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Collection;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.metrics.Sensor;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.processor.internals.InternalProcessorContext;
import org.apache.kafka.streams.processor.internals.ProcessorContextUtils;
import org.apache.kafka.streams.processor.internals.metrics.TaskMetrics;
import org.apache.kafka.streams.query.PositionBound;
import org.apache.kafka.streams.query.Query;
import org.apache.kafka.streams.query.QueryConfig;
import org.apache.kafka.streams.query.QueryResult;
import org.apache.kafka.streams.state.internals.StoreQueryUtils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What window and session stores share: stream time, retention and restoring.
 *
 * <p>An entry has a time: the start of its window, or the end of its session. It has expired once
 * its time is at most the stream time less the retention, and is not shown from then on. When a
 * whole segment has expired, one range delete removes it, and the store takes no more entries of
 * it. The stream time is part of each commit, so that a restart does not forget what had expired.
 */
abstract class SegmentedStore extends MergedbStateStore {
  private static final Logger LOG = LoggerFactory.getLogger(SegmentedStore.class);

  private static final long MOVE_BATCH_BYTES = 1 << 20;

  private final int suffixBytes;
  private final long retentionMillis;
  private final long segmentMillis;

  private InternalProcessorContext<?, ?> internalContext;
  private Sensor droppedRecords;

  // Changed by the stream thread only.
  private volatile long streamTime = -1;
  private volatile long firstSegment = Long.MAX_VALUE;
  private volatile long lastSegment = -1;

  /** `suffixBytes`: of what follows the key in the changelog, and begins with the time. */
  SegmentedStore(
      String name, String layout, int suffixBytes, long retentionMillis, long segmentMillis) {
    super(name, layout);
    this.suffixBytes = suffixBytes;
    this.retentionMillis = retentionMillis;
    this.segmentMillis = segmentMillis;
  }

  /** The time of the entry whose key in the changelog is `changelogKey`. */
  private long timeOf(byte[] changelogKey) {
    return ByteBuffer.wrap(changelogKey).getLong(changelogKey.length - suffixBytes);
  }

  @Override
  public final void init(StateStoreContext stateStoreContext, StateStore root) {
    internalContext = ProcessorContextUtils.asInternalProcessorContext(stateStoreContext);
    droppedRecords =
        TaskMetrics.droppedRecordsSensor(
            Thread.currentThread().getName(),
            stateStoreContext.taskId().toString(),
            ProcessorContextUtils.metricsImpl(stateStoreContext));
    super.init(stateStoreContext, root);
  }

  @Override
  final void open() {
    super.open();
    long storedMillis = database().segmentMillis();
    if (storedMillis != segmentMillis) {
      if (storedMillis >= 0) moveToSegments();
      database().setSegmentMillis(segmentMillis);
    }
    streamTime = Math.max(streamTime, database().committedStreamTime());
    try (EntryIterator entries = database().call(db -> db.iterator())) {
      if (!entries.seekToFirst()) return;
      firstSegment = Math.min(firstSegment, SegmentKeys.segmentOf(entries.key()));
      entries.seekToLast();
      lastSegment = Math.max(lastSegment, SegmentKeys.segmentOf(entries.key()));
      streamTime = Math.max(streamTime, lastSegment * segmentMillis);
    }
  }

  /**
   * Give every entry the segment that it has by the interval of now: the retention was changed.
   * Safe to be interrupted, since each batch moves whole entries, and an entry that was moved stays
   * where it is.
   */
  private void moveToSegments() {
    LOG.info(
        "store {}: the retention has changed: moving the entries to segments of {} ms",
        name(),
        segmentMillis);
    try (EntryIterator entries = database().call(db -> db.iterator());
        WriteBatch batch = new WriteBatch()) {
      for (boolean there = entries.seekToFirst(); there; there = entries.next()) {
        byte[] changelogKey =
            Arrays.copyOfRange(entries.key(), SegmentKeys.SEGMENT_BYTES, entries.key().length);
        byte[] key = SegmentKeys.ofChangelog(segmentOf(timeOf(changelogKey)), changelogKey);
        if (Arrays.equals(key, entries.key())) continue;
        batch.delete(entries.key());
        batch.put(key, entries.value());
        if (batch.bytes() >= MOVE_BATCH_BYTES) writeAndClear(batch);
      }
      writeAndClear(batch);
    }
  }

  private void writeAndClear(WriteBatch batch) {
    database().run(db -> db.write(database().writes(), batch));
    batch.clear();
  }

  /** A closed store is opened again: its restore callback outlives close(). */
  @Override
  final void restore(Collection<ConsumerRecord<byte[], byte[]>> records) {
    if (!isOpen()) open();
    synchronized (getPosition()) {
      for (ConsumerRecord<byte[], byte[]> record : records) observe(timeOf(record.key()));
      super.restore(records);
      removeExpiredSegments();
    }
  }

  @Override
  final byte[] restoredKey(byte[] changelogKey) {
    long time = timeOf(changelogKey);
    if (segmentOf(time) < firstLiveSegment()) return null;
    return SegmentKeys.ofChangelog(includeSegmentOf(time), changelogKey);
  }

  @Override
  final long streamTime() {
    return streamTime;
  }

  private void observe(long time) {
    if (time > streamTime) streamTime = time;
  }

  final boolean isExpired(long time) {
    return time <= streamTime - retentionMillis;
  }

  /** The earliest time from `time` on that has not expired; not negative. */
  final long earliest(long time) {
    return Math.max(0, Math.max(time, streamTime - retentionMillis + 1));
  }

  final long segmentOf(long time) {
    return Math.max(0, time) / segmentMillis;
  }

  /** The first segment that may hold entries from `time` on. */
  final long firstSegmentFrom(long time) {
    return Math.max(firstSegment, segmentOf(time));
  }

  /** The last segment that may hold entries up to `time`. */
  final long lastSegmentTo(long time) {
    return Math.min(lastSegment, segmentOf(time));
  }

  private long includeSegmentOf(long time) {
    long segment = segmentOf(time);
    if (segment < firstSegment) firstSegment = segment;
    if (segment > lastSegment) lastSegment = segment;
    return segment;
  }

  /** Makes the store key of an entry for its segment. */
  interface KeyMaker {
    byte[] in(long segment);
  }

  private long firstLiveSegment() {
    return segmentOf(streamTime - retentionMillis);
  }

  /**
   * Put an entry of time `time`, or delete it if `value` is null. One of an expired segment is
   * dropped and counted.
   */
  final void put(long time, KeyMaker key, byte[] value) {
    write(
        () -> {
          observe(time);
          if (segmentOf(time) < firstLiveSegment()) {
            droppedRecords.record(1.0d, internalContext.currentSystemTimeMs());
            LOG.debug(
                "store {}: dropped a record of time {}, expired at stream time {}",
                name(),
                time,
                streamTime);
          } else {
            database().put(key.in(includeSegmentOf(time)), value);
            removeExpiredSegments();
          }
        });
  }

  private void removeExpiredSegments() {
    long firstLive = firstLiveSegment();
    if (firstSegment >= firstLive) return;
    byte[] begin = SegmentKeys.segment(firstSegment);
    byte[] end = SegmentKeys.segment(firstLive);
    firstSegment = firstLive;
    database().run(db -> db.deleteRange(database().writes(), begin, end));
  }

  @Override
  public final <R> QueryResult<R> query(
      Query<R> query, PositionBound positionBound, QueryConfig config) {
    return StoreQueryUtils.handleBasicQueries(
        query, positionBound, config, this, getPosition(), context());
  }
}
