package dev.mergedb.infinispan;

import dev.mergedb.Database;
import dev.mergedb.Range;
import java.util.ArrayList;
import java.util.List;

/**
 * Estimates how many entries some segments have, expired ones among them, at a bounded cost. The first keys are
 * counted; from there on the sizes of the key ranges on disk say how many more there are.
 */
final class ApproximateSize {
  private static final long COUNTED_KEYS_MAX = 100_000;

  private ApproximateSize() {}

  /** The estimate; exact up to 100,000 entries. */
  static long of(Database database, int[] segments) {
    long count = 0;
    try (SegmentScan scan = new SegmentScan(database, segments, null, true)) {
      while (scan.next()) {
        ++count;
        if (count % COUNTED_KEYS_MAX != 0) continue;
        byte[] upTo = scan.key();
        long bytesCounted = bytes(database, segments, upTo);
        // 0: what was counted is not on disk yet. Then there is nothing to compare with, and the count goes on.
        if (bytesCounted > 0) return Math.round((double) count * bytes(database, segments, null) / bytesCounted);
      }
    }
    return count;
  }

  // Of the segments, or of their part below a key.
  private static long bytes(Database database, int[] segments, byte[] upTo) {
    int last = upTo == null ? Integer.MAX_VALUE : StoreKeys.segmentOf(upTo);
    List<Range> ranges = new ArrayList<>();
    for (int segment : segments) {
      if (segment > last) break;
      ranges.add(new Range(StoreKeys.segmentBegin(segment), segment == last && upTo != null ? upTo
          : StoreKeys.segmentBegin(segment + 1)));
    }
    long bytes = 0;
    for (long size : database.approximateSizes(ranges)) bytes += size;
    return bytes;
  }
}
