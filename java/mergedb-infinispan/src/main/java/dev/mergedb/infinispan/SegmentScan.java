package dev.mergedb.infinispan;

import dev.mergedb.Database;
import dev.mergedb.EntryIterator;
import dev.mergedb.IteratorOptions;
import dev.mergedb.ReadOptions;
import dev.mergedb.Snapshot;

/**
 * Walks the entries of some segments in key order. Neighbouring segments cost nothing extra: the scan seeks only over
 * segments that are not wanted. For one thread at a time. It owns its iterator, not the snapshot.
 */
final class SegmentScan implements AutoCloseable {
  private final EntryIterator iterator;
  private final int[] segments;  // ascending
  private int index;  // of the segment that the scan is in or before
  private boolean isStarted;

  /**
   * Starts before the first entry.
   *
   * @param segments ascending
   * @param snapshot null: as of now
   */
  SegmentScan(Database database, int[] segments, Snapshot snapshot, boolean keysOnly) {
    this.segments = segments;
    ReadOptions read = snapshot == null ? ReadOptions.DEFAULT : ReadOptions.DEFAULT.withSnapshot(snapshot);
    iterator = segments.length == 0 ? null : database.iterator(IteratorOptions.DEFAULT.read(read).keysOnly(keysOnly)
        .lower(StoreKeys.segmentBegin(segments[0])).upper(StoreKeys.segmentBegin(segments[segments.length - 1] + 1)));
  }

  /** Moves to the next entry. False: there is none. */
  boolean next() {
    if (iterator == null) return false;
    boolean isAtEntry = isStarted ? iterator.next() : iterator.seekToFirst();
    isStarted = true;
    while (isAtEntry) {
      int segment = StoreKeys.segmentOf(iterator.key());
      while (index < segments.length && segments[index] < segment) ++index;
      if (index == segments.length) return false;
      if (segments[index] == segment) return true;
      isAtEntry = iterator.seek(StoreKeys.segmentBegin(segments[index]));
    }
    return false;
  }

  /** The key of the entry, with its segment. */
  byte[] key() {
    return iterator.key();
  }

  /** The value of the entry. */
  byte[] value() {
    return iterator.value();
  }

  /** The segments of the scan, ascending. */
  int[] segments() {
    return segments;
  }

  @Override
  public void close() {
    if (iterator != null) iterator.close();
  }
}
