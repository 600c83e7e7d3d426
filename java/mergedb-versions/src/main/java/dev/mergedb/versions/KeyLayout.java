package dev.mergedb.versions;

import java.util.function.ToIntFunction;

/**
 * The keys of records. Immutable.
 *
 * <p>FORMAT, big-endian: uint16 partition (only in a partitioned store), the key, uint16 slot. Slot 0 is the head of the key, every other slot a
 * concurrent version of it. The parts before and behind the key have fixed sizes, so different keys have different records.
 */
final class KeyLayout {
  static final int HEAD_SLOT = 0;
  static final int SLOT_MAX = 0xffff;

  /** Smaller than every record key: a record key has two bytes or more. */
  static final byte[] MARK_KEY = {0};

  /** Only the key of the mark is smaller. */
  static final byte[] FIRST_RECORD = {0, 0};

  static final int PARTITION_MAX = 0xffff;

  private static final int PARTITION_BYTES = Short.BYTES;
  private static final int SLOT_BYTES = Short.BYTES;

  /** Null: the store is not partitioned. */
  private final ToIntFunction<byte[]> partitioner;

  private final int prefixBytes;

  KeyLayout(ToIntFunction<byte[]> partitioner) {
    this.partitioner = partitioner;
    this.prefixBytes = partitioner == null ? 0 : PARTITION_BYTES;
  }

  boolean isPartitioned() {
    return partitioner != null;
  }

  byte[] headKey(byte[] key) {
    byte[] record = new byte[prefixBytes + key.length + SLOT_BYTES];
    if (partitioner != null) {
      putShort(record, 0, checked(partitioner.applyAsInt(key)));
    }
    System.arraycopy(key, 0, record, prefixBytes, key.length);
    return record;
  }

  static byte[] siblingKey(byte[] headKey, int slot) {
    byte[] record = headKey.clone();
    putShort(record, record.length - SLOT_BYTES, slot);
    return record;
  }

  /** The key of a record that {@link #isRecordKey}. */
  byte[] key(byte[] recordKey) {
    byte[] key = new byte[recordKey.length - prefixBytes - SLOT_BYTES];
    System.arraycopy(recordKey, prefixBytes, key, 0, key.length);
    return key;
  }

  boolean isRecordKey(byte[] recordKey) {
    return recordKey.length >= prefixBytes + SLOT_BYTES;
  }

  static int slot(byte[] recordKey) {
    return (recordKey[recordKey.length - 2] & 0xff) << 8 | recordKey[recordKey.length - 1] & 0xff;
  }

  static byte[] prefix(int partition) {
    byte[] prefix = new byte[PARTITION_BYTES];
    putShort(prefix, 0, checked(partition));
    return prefix;
  }

  private static int checked(int partition) {
    if (partition < 0 || partition > PARTITION_MAX) {
      throw new IllegalArgumentException("partition " + partition + "; expected 0 to " + PARTITION_MAX);
    }
    return partition;
  }

  private static void putShort(byte[] bytes, int at, int value) {
    bytes[at] = (byte) (value >>> 8);
    bytes[at + 1] = (byte) value;
  }
}
