package dev.mergedb.versions;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * All versions of a key in one value, as the LevelDB engine of Voldemort 0.90 stored them. {@link SeedImport} reads it.
 *
 * <p>FORMAT, big-endian, for each version: int32 length of the value, value, int32 length of the clock, clock ({@link VectorClock}).
 */
public final class SeedEncoding {
  private SeedEncoding() {}

  /**
   * Encodes the versions of a key.
   *
   * @param versions in the order in which they are to be stored
   * @return a new array
   */
  public static byte[] encode(List<Versioned> versions) {
    long size = 0;
    for (Versioned version : versions) {
      size += 2 * Integer.BYTES + (long) version.value().length + version.clock().bytes();
    }
    if (size > Integer.MAX_VALUE) {
      throw new IllegalArgumentException("the versions take " + size + " bytes; at most 2,147,483,647 fit into one value");
    }
    ByteBuffer out = ByteBuffer.allocate((int) size);
    for (Versioned version : versions) {
      out.putInt(version.value().length).put(version.value());
      out.putInt(version.clock().bytes());
      version.clock().write(out);
    }
    return out.array();
  }

  /**
   * Decodes the versions of a key.
   *
   * @param bytes the stored value
   * @return a new, mutable list in the order of the bytes
   * @throws VersionFormatException if the bytes are not whole versions
   */
  public static List<Versioned> decode(byte[] bytes) {
    ByteBuffer in = ByteBuffer.wrap(bytes);
    List<Versioned> versions = new ArrayList<>(1);
    while (in.hasRemaining()) {
      byte[] value = new byte[length(in, "value")];
      in.get(value);
      int clockBytes = length(in, "clock");
      int clockEnd = in.position() + clockBytes;
      VectorClock clock = VectorClock.read(in);
      if (in.position() != clockEnd) {
        throw new VersionFormatException(
            "version " + versions.size() + ": its clock ends at offset " + in.position() + ", expected offset " + clockEnd);
      }
      versions.add(new Versioned(value, clock));
    }
    return versions;
  }

  private static int length(ByteBuffer in, String what) {
    int at = in.position();
    if (in.remaining() < Integer.BYTES) {
      throw new VersionFormatException(
          "length of a " + what + " at offset " + at + ": expected 4 bytes, found " + in.remaining());
    }
    int length = in.getInt();
    if (length < 0 || length > in.remaining()) {
      throw new VersionFormatException(
          "length of a " + what + " at offset " + at + ": expected 0 to " + in.remaining() + ", found " + length);
    }
    return length;
  }
}
