package dev.mergedb.versions;

import static dev.mergedb.versions.Fixtures.clock;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class VectorClockTest {
  private static byte[] hex(String digits) {
    return HexFormat.of().parseHex(digits.replace(" ", ""));
  }

  private static VectorClock read(String digits) {
    return VectorClock.read(ByteBuffer.wrap(hex(digits)));
  }

  @Test
  void comparesAsVoldemortDoes() {
    assertEquals(Occurred.BEFORE, clock().compare(clock()), "equal clocks");
    assertEquals(Occurred.BEFORE, clock(1, 2, 3, 4).compare(clock(1, 2, 3, 4)), "equal clocks");
    assertEquals(Occurred.BEFORE, clock(1, 1).compare(clock(1, 2)));
    assertEquals(Occurred.AFTER, clock(1, 2).compare(clock(1, 1)));
    assertEquals(Occurred.BEFORE, clock(1, 1).compare(clock(1, 1, 2, 1)));
    assertEquals(Occurred.AFTER, clock(1, 1, 2, 1).compare(clock(1, 1)));
    assertEquals(Occurred.AFTER, clock(1, 1).compare(clock()));
    assertEquals(Occurred.CONCURRENTLY, clock(1, 1).compare(clock(2, 1)));
    assertEquals(Occurred.CONCURRENTLY, clock(1, 1, 2, 2).compare(clock(1, 2, 2, 1)));
    assertEquals(Occurred.CONCURRENTLY, clock(1, 1, 2, 1).compare(clock(1, 2)));
    assertEquals(Occurred.AFTER, clock(1, 0).compare(clock()), "a node with counter 0 is named");
  }

  @Test
  void writesVoldemortsBytes() {
    assertArrayEquals(hex("0000 01 0000018bcfe56800"), clock().toBytes());
    assertArrayEquals(hex("0001 01 0005 ff 0000018bcfe56800"), clock(5, 255).toBytes());
    assertArrayEquals(hex("0002 02 0001 0001 0005 0100 0000018bcfe56800"), clock(5, 256, 1, 1).toBytes());
    assertArrayEquals(hex("0001 08 7fff 7fffffffffffffff 0000018bcfe56800"), clock(Short.MAX_VALUE, Long.MAX_VALUE).toBytes());
  }

  @Test
  void aCounterTakesTheBytesThatTheLargestNeeds() {
    for (int width = 1; width <= 8; ++width) {
      long largest = width == 8 ? Long.MAX_VALUE : (1L << 8 * width) - 1;
      long smallest = width == 1 ? 0 : 1L << 8 * (width - 1);
      assertEquals(width, clock(1, largest, 2, 0).toBytes()[2], "largest of " + width);
      assertEquals(width, clock(1, smallest, 2, 0).toBytes()[2], "smallest of " + width);
      assertEquals(clock(1, largest, 2, smallest), VectorClock.read(ByteBuffer.wrap(clock(1, largest, 2, smallest).toBytes())));
    }
  }

  @Test
  void readsWhatItWrites() {
    Random random = Fixtures.random("VectorClockTest");
    for (int i = 0; i < 2_000; ++i) {
      TreeMap<Short, Long> entries = new TreeMap<>();
      for (int count = random.nextInt(8); count > 0; --count) {
        entries.put((short) random.nextInt(1 << 15), random.nextLong() >>> 1 + random.nextInt(63));
      }
      VectorClock clock = VectorClock.of(entries, random.nextLong());
      ByteBuffer bytes = ByteBuffer.allocate(clock.bytes() + 9).position(4);
      clock.write(bytes);
      assertEquals(4 + clock.bytes(), bytes.position());
      VectorClock copy = VectorClock.read(bytes.position(4));
      assertEquals(4 + clock.bytes(), bytes.position());
      assertEquals(clock, copy);
      assertEquals(clock.timestamp(), copy.timestamp());
      assertEquals(entries, copy.entries());
      assertEquals(clock.hashCode(), copy.hashCode());
    }
  }

  @Test
  void readsAnyByteOrderAndAnyOrderOfNodes() {
    byte[] bytes = clock(1, 2, 3, 4).toBytes();
    ByteBuffer little = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    assertEquals(clock(1, 2, 3, 4), VectorClock.read(little));
    assertEquals(bytes.length, little.position());
    assertEquals(clock(1, 2, 3, 4), read("0002 01 0003 04 0001 02 0000000000000000"));
    assertEquals(clock(1, 9), read("0002 01 0001 04 0001 09 0000000000000000"), "of two entries for one node the last counts");
    assertEquals(clock(1, 9), read("0001 03 0001 000009 0000000000000000"), "a width larger than necessary");
  }

  @Test
  void refusesBytesThatAreNoClock() {
    byte[] whole = clock(1, 2, 3, 400).toBytes();
    for (int size = 0; size < whole.length; ++size) {
      ByteBuffer cut = ByteBuffer.wrap(whole, 0, size);
      assertTrue(assertThrows(VersionFormatException.class, () -> VectorClock.read(cut)).getMessage().contains("expected"), "size " + size);
    }
    assertThrows(VersionFormatException.class, () -> read("0001 00 0001 0000000000000000"), "width 0");
    assertThrows(VersionFormatException.class, () -> read("0001 09 0001 000000000000000001 0000000000000000"), "width 9");
    assertThrows(VersionFormatException.class, () -> read("ffff 01 0001 01 0000000000000000"), "a negative number of entries");
    assertThrows(VersionFormatException.class, () -> read("0001 08 0001 ffffffffffffffff 0000000000000000"), "a counter above 2^63 - 1");
  }

  @Test
  void increments() {
    VectorClock clock = clock(2, 1);
    assertEquals(clock(2, 2), clock.incremented(2, 7));
    assertEquals(7, clock.incremented(2, 7).timestamp());
    assertEquals(clock(1, 1, 2, 1), clock.incremented(1, 7));
    assertEquals(clock(2, 1, 3, 1), clock.incremented(3, 7));
    assertEquals(clock(2, 1), clock, "the old clock stays as it is");
    assertEquals(Occurred.AFTER, clock.incremented(2, 7).compare(clock));
    assertThrows(IllegalArgumentException.class, () -> clock.incremented(-1, 0));
    assertThrows(IllegalArgumentException.class, () -> clock.incremented(32_768, 0));
    assertThrows(IllegalStateException.class, () -> clock(1, Long.MAX_VALUE).incremented(1, 0));
  }

  @Test
  void takesUpTo32767Entries() {
    TreeMap<Short, Long> entries = new TreeMap<>();
    for (int node = 0; node < VectorClock.ENTRIES_MAX; ++node) {
      entries.put((short) node, 1L);
    }
    VectorClock full = VectorClock.of(entries, 0);
    assertEquals(full, VectorClock.read(ByteBuffer.wrap(full.toBytes())));
    assertEquals(2, full.incremented(9, 0).entries().get((short) 9));
    assertThrows(IllegalStateException.class, () -> full.incremented(Short.MAX_VALUE, 0));
    entries.put(Short.MAX_VALUE, 1L);
    assertThrows(IllegalArgumentException.class, () -> VectorClock.of(entries, 0));
  }

  @Test
  void ofRefusesNegativeCountersAndSortsByNode() {
    TreeMap<Short, Long> negative = new TreeMap<>();
    negative.put((short) 1, -1L);
    assertThrows(IllegalArgumentException.class, () -> VectorClock.of(negative, 0));
    TreeMap<Short, Long> descending = new TreeMap<>(Comparator.reverseOrder());
    descending.put((short) 1, 1L);
    descending.put((short) 2, 2L);
    assertEquals(clock(1, 1, 2, 2), VectorClock.of(descending, 0));
  }

  @Test
  void merges() {
    VectorClock merged = clock(1, 5, 2, 1).merged(clock(2, 3, 4, 1), 9);
    assertEquals(clock(1, 5, 2, 3, 4, 1), merged);
    assertEquals(9, merged.timestamp());
    assertNotEquals(Occurred.AFTER, clock(1, 5, 2, 1).compare(merged));
  }

  @Test
  void theOrderIsConsistent() {
    Random random = Fixtures.random("VectorClockTest.theOrderIsConsistent");
    for (int i = 0; i < 5_000; ++i) {
      VectorClock a = small(random);
      VectorClock b = small(random);
      VectorClock c = small(random);
      Occurred ab = a.compare(b);
      Occurred ba = b.compare(a);
      String pair = a + ", " + b;
      assertEquals(ab == Occurred.CONCURRENTLY, ba == Occurred.CONCURRENTLY, pair);
      assertEquals(ab == Occurred.AFTER, ba == Occurred.BEFORE && !a.equals(b), pair);
      if (ab == Occurred.BEFORE && b.compare(c) == Occurred.BEFORE) {
        assertEquals(Occurred.BEFORE, a.compare(c), pair + ", " + c);
      }
      assertEquals(Occurred.BEFORE, a.compare(a.merged(b, 0)), pair);
      assertEquals(Occurred.BEFORE, b.compare(a.merged(b, 0)), pair);
    }
  }

  private static VectorClock small(Random random) {
    VectorClock clock = VectorClock.empty(0);
    for (int writes = random.nextInt(5); writes > 0; --writes) {
      clock = clock.incremented(random.nextInt(3), 0);
    }
    return clock;
  }
}
