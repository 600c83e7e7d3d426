package dev.mergedb.versions;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The number of writes of a value that each node has mastered, and the time of the last write. A node without an
 * entry has mastered no write. Immutable and thread-safe.
 *
 * <p>FORMAT, Voldemort's, big-endian: int16 number of entries, one byte w = bytes of a counter, then for each entry int16 node and a w-byte
 * counter, in ascending order of nodes, then an int64 timestamp. w is the number of bytes that the largest counter needs, 1 to 8; 1 if
 * there is no entry.
 */
public final class VectorClock {
  /** The most entries that a clock may have. */
  public static final int ENTRIES_MAX = Short.MAX_VALUE;

  private static final int HEADER_BYTES = Short.BYTES + Byte.BYTES;

  /** Ascending. */
  private final short[] nodes;

  /** counters[i] is the counter of nodes[i]. */
  private final long[] counters;

  private final long timestamp;

  private VectorClock(short[] nodes, long[] counters, long timestamp) {
    this.nodes = nodes;
    this.counters = counters;
    this.timestamp = timestamp;
  }

  /**
   * A clock without entries.
   *
   * @param timestamp milliseconds since 1970
   * @return the clock
   */
  public static VectorClock empty(long timestamp) {
    return new VectorClock(new short[0], new long[0], timestamp);
  }

  /**
   * A clock of these entries.
   *
   * @param entries counters by node; nodes in their signed order
   * @param timestamp milliseconds since 1970
   * @return the clock
   * @throws IllegalArgumentException if a counter is negative, or there are more than {@link #ENTRIES_MAX}
   */
  public static VectorClock of(SortedMap<Short, Long> entries, long timestamp) {
    if (entries.comparator() != null) {
      entries = new TreeMap<>((Map<Short, Long>) entries);
    }
    int count = entries.size();
    if (count > ENTRIES_MAX) {
      throw new IllegalArgumentException("a vector clock of " + count + " entries; at most " + ENTRIES_MAX + " are allowed");
    }
    short[] nodes = new short[count];
    long[] counters = new long[count];
    int i = 0;
    for (Map.Entry<Short, Long> entry : entries.entrySet()) {
      if (entry.getValue() < 0) {
        throw new IllegalArgumentException("the counter of node " + entry.getKey() + " is " + entry.getValue() + "; expected 0 or more");
      }
      nodes[i] = entry.getKey();
      counters[i++] = entry.getValue();
    }
    return new VectorClock(nodes, counters, timestamp);
  }

  /**
   * Reads a clock and moves the buffer's position behind it.
   *
   * @param bytes where the clock begins; its byte order is not used
   * @return the clock
   * @throws VersionFormatException if there is no whole clock; the position is then undefined
   */
  public static VectorClock read(ByteBuffer bytes) {
    ByteBuffer in = bytes.order() == ByteOrder.BIG_ENDIAN ? bytes : bytes.duplicate().order(ByteOrder.BIG_ENDIAN);
    int start = in.position();
    need(in, start, HEADER_BYTES);
    int count = in.getShort();
    int width = in.get();
    if (count < 0) {
      throw new VersionFormatException("vector clock at offset " + start + ": expected 0 to " + ENTRIES_MAX + " entries, found " + count);
    }
    if (width < 1 || width > Long.BYTES) {
      throw new VersionFormatException("vector clock at offset " + start + ": expected counters of 1 to 8 bytes, found " + width);
    }
    need(in, start, (long) count * (Short.BYTES + width) + Long.BYTES);
    short[] nodes = new short[count];
    long[] counters = new long[count];
    boolean isAscending = true;
    for (int i = 0; i < count; ++i) {
      nodes[i] = in.getShort();
      counters[i] = readCounter(in, width);
      if (counters[i] < 0) {
        throw new VersionFormatException("vector clock at offset " + start + ": node " + nodes[i] + " has a counter above 2^63 - 1");
      }
      isAscending &= i == 0 || nodes[i - 1] < nodes[i];
    }
    VectorClock clock = new VectorClock(nodes, counters, in.getLong());
    if (in != bytes) {
      bytes.position(in.position());
    }
    return isAscending ? clock : clock.sorted();
  }

  private static void need(ByteBuffer in, int start, long count) {
    if (in.remaining() < count) {
      throw new VersionFormatException(
          "vector clock at offset " + start + ": expected " + count + " more bytes at offset " + in.position() + ", found " + in.remaining());
    }
  }

  private static long readCounter(ByteBuffer in, int width) {
    long counter = 0;
    for (int i = 0; i < width; ++i) {
      counter = counter << 8 | in.get() & 0xff;
    }
    return counter;
  }

  /** Voldemort's reader takes entries in any order, and of two for one node the last. */
  private VectorClock sorted() {
    TreeMap<Short, Long> entries = new TreeMap<>();
    for (int i = 0; i < nodes.length; ++i) {
      entries.put(nodes[i], counters[i]);
    }
    return of(entries, timestamp);
  }

  /**
   * The size of the clock in bytes.
   *
   * @return what {@link #write} writes
   */
  public int bytes() {
    return HEADER_BYTES + nodes.length * (Short.BYTES + width()) + Long.BYTES;
  }

  private int width() {
    long all = 0;
    for (long counter : counters) {
      all |= counter;
    }
    return Math.max(1, (Long.SIZE - Long.numberOfLeadingZeros(all) + 7) / 8);
  }

  /**
   * Writes the clock at the buffer's position and moves the position behind it.
   *
   * @param out with {@link #bytes} of room, big-endian
   */
  public void write(ByteBuffer out) {
    int width = width();
    out.putShort((short) nodes.length);
    out.put((byte) width);
    for (int i = 0; i < nodes.length; ++i) {
      out.putShort(nodes[i]);
      for (int shift = 8 * (width - 1); shift >= 0; shift -= 8) {
        out.put((byte) (counters[i] >>> shift));
      }
    }
    out.putLong(timestamp);
  }

  /**
   * The clock as bytes.
   *
   * @return a new array
   */
  public byte[] toBytes() {
    ByteBuffer out = ByteBuffer.allocate(bytes());
    write(out);
    return out.array();
  }

  /**
   * When the last write was.
   *
   * @return milliseconds since 1970
   */
  public long timestamp() {
    return timestamp;
  }

  /**
   * The entries.
   *
   * @return a new map: counters by node
   */
  public TreeMap<Short, Long> entries() {
    TreeMap<Short, Long> entries = new TreeMap<>();
    for (int i = 0; i < nodes.length; ++i) {
      entries.put(nodes[i], counters[i]);
    }
    return entries;
  }

  /**
   * This clock with one more write of a node.
   *
   * @param node 0 to 32,767
   * @param time the new timestamp, milliseconds since 1970
   * @return the new clock
   * @throws IllegalArgumentException if the node is out of range
   * @throws IllegalStateException if the clock would have more than {@link #ENTRIES_MAX} entries, or the counter would exceed 2^63 - 1
   */
  public VectorClock incremented(int node, long time) {
    if (node < 0 || node > Short.MAX_VALUE) {
      throw new IllegalArgumentException("node " + node + "; expected 0 to " + Short.MAX_VALUE);
    }
    int at = Arrays.binarySearch(nodes, (short) node);
    if (at >= 0) {
      if (counters[at] == Long.MAX_VALUE) {
        throw new IllegalStateException("the counter of node " + node + " is 2^63 - 1 and cannot grow");
      }
      long[] grown = counters.clone();
      ++grown[at];
      return new VectorClock(nodes, grown, time);
    }
    if (nodes.length == ENTRIES_MAX) {
      throw new IllegalStateException("the vector clock has " + ENTRIES_MAX + " entries; no further node can be added");
    }
    int insertion = -at - 1;
    short[] moreNodes = new short[nodes.length + 1];
    long[] moreCounters = new long[nodes.length + 1];
    System.arraycopy(nodes, 0, moreNodes, 0, insertion);
    System.arraycopy(counters, 0, moreCounters, 0, insertion);
    moreNodes[insertion] = (short) node;
    moreCounters[insertion] = 1;
    System.arraycopy(nodes, insertion, moreNodes, insertion + 1, nodes.length - insertion);
    System.arraycopy(counters, insertion, moreCounters, insertion + 1, nodes.length - insertion);
    return new VectorClock(moreNodes, moreCounters, time);
  }

  /**
   * The smallest clock that is a successor of both or equal to them: of each node the larger counter.
   *
   * @param other the other clock
   * @param time the new timestamp, milliseconds since 1970
   * @return the new clock
   */
  public VectorClock merged(VectorClock other, long time) {
    TreeMap<Short, Long> entries = entries();
    for (int i = 0; i < other.nodes.length; ++i) {
      entries.merge(other.nodes[i], other.counters[i], Math::max);
    }
    return of(entries, time);
  }

  /**
   * How this clock relates to another. A node that one clock names and the other does not counts as larger, also with counter 0.
   *
   * @param other the other clock
   * @return BEFORE also if the two are equal
   */
  public Occurred compare(VectorClock other) {
    boolean isBigger = false;
    boolean isOtherBigger = false;
    int i = 0;
    int j = 0;
    while (i < nodes.length && j < other.nodes.length) {
      if (nodes[i] < other.nodes[j]) {
        isBigger = true;
        ++i;
      } else if (nodes[i] > other.nodes[j]) {
        isOtherBigger = true;
        ++j;
      } else {
        isBigger |= counters[i] > other.counters[j];
        isOtherBigger |= counters[i++] < other.counters[j++];
      }
      if (isBigger && isOtherBigger) {
        return Occurred.CONCURRENTLY;
      }
    }
    isBigger |= i < nodes.length;
    isOtherBigger |= j < other.nodes.length;
    if (isBigger) {
      return isOtherBigger ? Occurred.CONCURRENTLY : Occurred.AFTER;
    }
    return Occurred.BEFORE;
  }

  /** Equal entries. The timestamps do not count, as in Voldemort. */
  @Override
  public boolean equals(Object object) {
    return object instanceof VectorClock clock && Arrays.equals(nodes, clock.nodes) && Arrays.equals(counters, clock.counters);
  }

  @Override
  public int hashCode() {
    return 31 * Arrays.hashCode(nodes) + Arrays.hashCode(counters);
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder("clock(");
    for (int i = 0; i < nodes.length; ++i) {
      text.append(i == 0 ? "" : ", ").append(nodes[i]).append(':').append(counters[i]);
    }
    return text.append(") at ").append(timestamp).toString();
  }
}
