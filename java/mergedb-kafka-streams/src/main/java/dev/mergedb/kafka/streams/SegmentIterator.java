package dev.mergedb.kafka.streams;

import dev.mergedb.Database;
import dev.mergedb.EntryIterator;
import java.util.Arrays;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * The entries of a window or session store that a search asks for, segment by segment. The first
 * use opens it, so that it shows the entries as of then. Once the store is closed it has no more
 * entries.
 */
class SegmentIterator<K> extends StoreIterator<K> {
  /**
   * Where to look: the segments whose entries may be of a time of [from, to], and in each of them
   * the keys of [first, last].
   */
  interface Bounds {
    byte[] first(long segment);

    byte[] last(long segment);
  }

  private final SegmentedStore segments;
  private final long from;
  private final long to;
  private final Bounds bounds;
  private final Predicate<byte[]> filter;
  private final boolean isForward;

  private long segment;
  private long endSegment;
  private byte[] end;

  /** `filter` tells which of the store keys within the bounds are asked for. */
  SegmentIterator(
      SegmentedStore segments,
      long from,
      long to,
      Bounds bounds,
      Predicate<byte[]> filter,
      Function<byte[], K> decoder,
      boolean isForward) {
    super(segments.database(), decoder);
    this.segments = segments;
    this.from = from;
    this.to = to;
    this.bounds = bounds;
    this.filter = filter;
    this.isForward = isForward;
  }

  @Override
  final void whenStoreClosed() {}

  @Override
  final EntryIterator open() {
    return store().call(Database::iterator);
  }

  @Override
  final boolean first(EntryIterator at) {
    long low = segments.firstSegmentFrom(from);
    long high = segments.lastSegmentTo(to);
    segment = isForward ? low : high;
    endSegment = isForward ? high : low;
    return low <= high && (goToSegment(at) ? select(at) : nextSegment(at));
  }

  @Override
  final boolean following(EntryIterator at) {
    return move(at) ? select(at) : nextSegment(at);
  }

  private boolean move(EntryIterator at) {
    return isForward ? at.next() : at.prev();
  }

  /**
   * To the first key of the bounds in `segment`, or where there is none, to one outside of them.
   */
  private boolean goToSegment(EntryIterator at) {
    end = isForward ? bounds.last(segment) : bounds.first(segment);
    return isForward ? at.seek(bounds.first(segment)) : at.seekForPrev(bounds.last(segment));
  }

  private boolean nextSegment(EntryIterator at) {
    while (segment != endSegment) {
      segment += isForward ? 1 : -1;
      if (goToSegment(at) && select(at)) return true;
    }
    return false;
  }

  /**
   * From where `at` stands on to an entry that is asked for, if need be in one of the segments that
   * follow.
   */
  private boolean select(EntryIterator at) {
    do {
      byte[] key = at.key();
      int order = Arrays.compareUnsigned(key, end);
      if (isForward ? order > 0 : order < 0) return nextSegment(at);
      if (filter.test(key)) return true;
    } while (move(at));
    return nextSegment(at);
  }
}
