package dev.mergedb.versions;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;

/**
 * The value of one record: a version, and at the head of a key what its other versions are. Immutable.
 *
 * <p>FORMAT, big-endian: one byte kind. Kind 1, the head of a key with one version, and kind 3, a sibling: clock, value. Kind 2, the head of a key with
 * several versions: uint16 number of siblings, for each uint16 slot and its clock, then clock and value of the head's own version. The value
 * ends where the record ends.
 */
final class VersionRecord {
  private static final byte LONE = 1;
  private static final byte HEAD = 2;
  private static final byte SIBLING = 3;

  /** A sibling as the head names it. */
  record Sibling(int slot, VectorClock clock) {}

  private final byte[] bytes;
  private final int valueAt;
  final VectorClock clock;
  final List<Sibling> siblings;

  private VersionRecord(byte[] bytes, int valueAt, VectorClock clock, List<Sibling> siblings) {
    this.bytes = bytes;
    this.valueAt = valueAt;
    this.clock = clock;
    this.siblings = siblings;
  }

  Versioned version() {
    return new Versioned(Arrays.copyOfRange(bytes, valueAt, bytes.length), clock);
  }

  /** Reads a head. */
  static VersionRecord head(byte[] bytes) {
    ByteBuffer in = ByteBuffer.wrap(bytes);
    byte kind = kind(in);
    if (kind != LONE && kind != HEAD) {
      throw new VersionFormatException("expected a head, kind 1 or 2, found kind " + kind);
    }
    List<Sibling> siblings = kind == HEAD ? siblings(in) : List.of();
    VectorClock clock = VectorClock.read(in);
    return new VersionRecord(bytes, in.position(), clock, siblings);
  }

  /** Reads a sibling. */
  static Versioned sibling(byte[] bytes) {
    ByteBuffer in = ByteBuffer.wrap(bytes);
    byte kind = kind(in);
    if (kind != SIBLING) {
      throw new VersionFormatException("expected a sibling, kind 3, found kind " + kind);
    }
    VectorClock clock = VectorClock.read(in);
    return new Versioned(Arrays.copyOfRange(bytes, in.position(), bytes.length), clock);
  }

  private static byte kind(ByteBuffer in) {
    if (!in.hasRemaining()) {
      throw new VersionFormatException("expected a record, found an empty value");
    }
    return in.get();
  }

  private static List<Sibling> siblings(ByteBuffer in) {
    if (in.remaining() < Short.BYTES) {
      throw new VersionFormatException("expected the number of siblings, found the end of the record");
    }
    Sibling[] siblings = new Sibling[in.getShort() & 0xffff];
    int before = KeyLayout.HEAD_SLOT;
    for (int i = 0; i < siblings.length; ++i) {
      if (in.remaining() < Short.BYTES) {
        throw new VersionFormatException("sibling " + i + ": expected its slot, found the end of the record");
      }
      int slot = in.getShort() & 0xffff;
      if (slot <= before) {
        throw new VersionFormatException("sibling " + i + ": expected a slot above " + before + ", found " + slot);
      }
      siblings[i] = new Sibling(slot, VectorClock.read(in));
      before = slot;
    }
    return List.of(siblings);
  }

  /**
   * The bytes of a head.
   *
   * @param version the head's own version
   * @param siblings in ascending order of slots
   */
  static byte[] headBytes(Versioned version, List<Sibling> siblings) {
    long size = Byte.BYTES + (long) version.clock().bytes() + version.value().length;
    if (!siblings.isEmpty()) {
      size += Short.BYTES;
      for (Sibling sibling : siblings) {
        size += Short.BYTES + sibling.clock.bytes();
      }
    }
    ByteBuffer out = ByteBuffer.allocate(checked(size));
    out.put(siblings.isEmpty() ? LONE : HEAD);
    if (!siblings.isEmpty()) {
      out.putShort((short) siblings.size());
      for (Sibling sibling : siblings) {
        out.putShort((short) sibling.slot);
        sibling.clock.write(out);
      }
    }
    version.clock().write(out);
    return out.put(version.value()).array();
  }

  /** The bytes of a sibling. */
  static byte[] siblingBytes(Versioned version) {
    ByteBuffer out = ByteBuffer.allocate(checked(Byte.BYTES + (long) version.clock().bytes() + version.value().length));
    out.put(SIBLING);
    version.clock().write(out);
    return out.put(version.value()).array();
  }

  private static int checked(long size) {
    if (size > Integer.MAX_VALUE - 8) {
      throw new IllegalArgumentException("a version of " + size + " bytes; at most 2,147,483,639 are allowed");
    }
    return (int) size;
  }
}
