package dev.mergedb.kafka.streams;

/** The bounds of a search for the keys of [low, high] in any segment; null is an open end. */
final class KeyBounds implements SegmentIterator.Bounds {
  private final byte[] low;
  private final byte[] high;
  private final byte[] suffixMax;

  /** `suffixMax` is the largest suffix that is asked for. */
  KeyBounds(byte[] low, byte[] high, byte[] suffixMax) {
    this.low = low;
    this.high = high;
    this.suffixMax = suffixMax;
  }

  @Override
  public byte[] first(long segment) {
    return low == null ? SegmentKeys.segment(segment) : SegmentKeys.lower(segment, low);
  }

  @Override
  public byte[] last(long segment) {
    return high == null
        ? SegmentKeys.segment(segment + 1)
        : SegmentKeys.upper(segment, high, suffixMax);
  }
}
