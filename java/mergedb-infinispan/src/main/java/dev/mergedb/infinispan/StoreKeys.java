package dev.mergedb.infinispan;

import java.nio.ByteBuffer;

/**
 * The keys of the database. The segment stands in front of an entry's key, so a segment is a range of keys: it is
 * scanned by a prefix and removed by one range delete.
 *
 * <pre>
 * FORMAT:
 *   an entry's key          int32 segment | marshalled key
 *   a key of the expiry     int64 due, in milliseconds since 1970 | the entry's key
 * Numbers are big-endian and not negative, so the first byte of a key is below 0x80.
 * </pre>
 */
final class StoreKeys {
  static final int SEGMENT_BYTES = Integer.BYTES;
  static final int DUE_BYTES = Long.BYTES;

  /** Below every key of the database. */
  private static final byte[] BEGIN = {};
  /** Above every key of the database. */
  private static final byte[] END = {(byte) 0x80};

  private StoreKeys() {}

  static byte[] begin() {
    return BEGIN.clone();
  }

  static byte[] end() {
    return END.clone();
  }

  /** The key of an entry. */
  static byte[] entry(int segment, byte[] key, int offset, int size) {
    return ByteBuffer.allocate(SEGMENT_BYTES + size).putInt(segment).put(key, offset, size).array();
  }

  static byte[] entry(int segment, byte[] key) {
    return entry(segment, key, 0, key.length);
  }

  static int segmentOf(byte[] entryKey) {
    if (entryKey.length < SEGMENT_BYTES) {
      throw new IllegalStateException("a key of " + entryKey.length
          + " bytes was not written by this store: expected at least "
          + SEGMENT_BYTES + "; use a directory of its own for each cache");
    }
    return ByteBuffer.wrap(entryKey).getInt();
  }

  /** Not above any key of the segment. A segment ends where the next number begins, also if that number overflows. */
  static byte[] segmentBegin(int segment) {
    return ByteBuffer.allocate(SEGMENT_BYTES).putInt(segment).array();
  }

  /** The key of the expiry index. */
  static byte[] due(long due, byte[] entryKey) {
    return ByteBuffer.allocate(DUE_BYTES + entryKey.length).putLong(due).put(entryKey).array();
  }

  /** Below every key of the expiry index that is due at this time or later. */
  static byte[] dueBegin(long due) {
    return ByteBuffer.allocate(DUE_BYTES).putLong(due).array();
  }

  static byte[] entryKeyOf(byte[] dueKey) {
    byte[] entryKey = new byte[dueKey.length - DUE_BYTES];
    System.arraycopy(dueKey, DUE_BYTES, entryKey, 0, entryKey.length);
    return entryKey;
  }
}
