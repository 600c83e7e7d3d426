package dev.mergedb.kafka.streams;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.internals.SessionWindow;
import org.apache.kafka.streams.kstream.internals.TimeWindow;

/**
 * The keys of window and session stores:
 *
 * <pre>
 *   window key  := segment (8 bytes) | key | window start (8 bytes) | sequence number (4 bytes)
 *   session key := segment (8 bytes) | key | session end (8 bytes)  | session start (8 bytes)
 * </pre>
 *
 * Numbers are big-endian and not negative, so that their bytes sort as they do. A segment is an
 * interval of stream time; it leads, so that one range delete removes what has expired. What
 * follows the segment is the key of the changelog record, in the order in which Kafka Streams'
 * record caches merge their entries with a store's.
 */
final class SegmentKeys {
  static final int SEGMENT_BYTES = Long.BYTES;
  static final int WINDOW_SUFFIX_BYTES = Long.BYTES + Integer.BYTES;
  static final int SESSION_SUFFIX_BYTES = 2 * Long.BYTES;

  private SegmentKeys() {}

  static byte[] segment(long segment) {
    return ByteBuffer.allocate(SEGMENT_BYTES).putLong(segment).array();
  }

  static long segmentOf(byte[] key) {
    return ByteBuffer.wrap(key).getLong(0);
  }

  static byte[] window(long segment, byte[] key, long start, int sequence) {
    return ByteBuffer.allocate(SEGMENT_BYTES + key.length + WINDOW_SUFFIX_BYTES)
        .putLong(segment)
        .put(key)
        .putLong(start)
        .putInt(sequence)
        .array();
  }

  static byte[] session(long segment, byte[] key, long end, long start) {
    return ByteBuffer.allocate(SEGMENT_BYTES + key.length + SESSION_SUFFIX_BYTES)
        .putLong(segment)
        .put(key)
        .putLong(end)
        .putLong(start)
        .array();
  }

  /** The store key for the key of a changelog record. */
  static byte[] ofChangelog(long segment, byte[] changelogKey) {
    return ByteBuffer.allocate(SEGMENT_BYTES + changelogKey.length)
        .putLong(segment)
        .put(changelogKey)
        .array();
  }

  /** The smallest store key that a key from `key` on can have in `segment`. */
  static byte[] lower(long segment, byte[] key) {
    return ofChangelog(segment, key);
  }

  /**
   * A store key that is not smaller than any of a key up to `key` in `segment`, if no suffix is
   * greater than `suffix`. A key that is a proper prefix of `key` may come after it once its suffix
   * follows, hence the maximum over all prefixes.
   */
  static byte[] upper(long segment, byte[] key, byte[] suffix) {
    byte[] largest = concatenate(segment, key, key.length, suffix);
    for (int length = key.length - 1; length >= 0; --length) {
      byte[] candidate = concatenate(segment, key, length, suffix);
      if (Arrays.compareUnsigned(candidate, largest) > 0) largest = candidate;
    }
    return largest;
  }

  private static byte[] concatenate(long segment, byte[] key, int length, byte[] suffix) {
    return ByteBuffer.allocate(SEGMENT_BYTES + length + suffix.length)
        .putLong(segment)
        .put(key, 0, length)
        .put(suffix)
        .array();
  }

  static byte[] windowSuffix(long start, int sequence) {
    return ByteBuffer.allocate(WINDOW_SUFFIX_BYTES).putLong(start).putInt(sequence).array();
  }

  static byte[] sessionSuffix(long end, long start) {
    return ByteBuffer.allocate(SESSION_SUFFIX_BYTES).putLong(end).putLong(start).array();
  }

  /**
   * Is the key within `storeKey`, whose suffix has `suffixBytes`, at least `from` and at most `to`?
   * Null is an open end.
   */
  static boolean isKeyWithin(byte[] storeKey, int suffixBytes, byte[] from, byte[] to) {
    int end = storeKey.length - suffixBytes;
    return (from == null
            || Arrays.compareUnsigned(storeKey, SEGMENT_BYTES, end, from, 0, from.length) >= 0)
        && (to == null
            || Arrays.compareUnsigned(storeKey, SEGMENT_BYTES, end, to, 0, to.length) <= 0);
  }

  static Bytes key(byte[] storeKey, int suffixBytes) {
    return Bytes.wrap(Arrays.copyOfRange(storeKey, SEGMENT_BYTES, storeKey.length - suffixBytes));
  }

  static long windowStart(byte[] storeKey) {
    return ByteBuffer.wrap(storeKey).getLong(storeKey.length - WINDOW_SUFFIX_BYTES);
  }

  static long sessionEnd(byte[] storeKey) {
    return ByteBuffer.wrap(storeKey).getLong(storeKey.length - SESSION_SUFFIX_BYTES);
  }

  static long sessionStart(byte[] storeKey) {
    return ByteBuffer.wrap(storeKey).getLong(storeKey.length - Long.BYTES);
  }

  static Windowed<Bytes> windowed(byte[] storeKey, long windowSize) {
    long start = windowStart(storeKey);
    long end = start + windowSize;
    if (end < 0) end = Long.MAX_VALUE;
    return new Windowed<>(key(storeKey, WINDOW_SUFFIX_BYTES), new TimeWindow(start, end));
  }

  static Windowed<Bytes> session(byte[] storeKey) {
    return new Windowed<>(
        key(storeKey, SESSION_SUFFIX_BYTES),
        new SessionWindow(sessionStart(storeKey), sessionEnd(storeKey)));
  }
}
