package dev.mergedb.versions;

import static dev.mergedb.versions.Fixtures.bytes;
import static dev.mergedb.versions.Fixtures.clock;
import static dev.mergedb.versions.Fixtures.version;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.mergedb.versions.VersionRecord.Sibling;
import java.util.Arrays;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Values and keys as bytes: the seed's encoding, records, record keys. */
class EncodingTest {
  private static byte[] hex(String digits) {
    return HexFormat.of().parseHex(digits.replace(" ", ""));
  }

  @Test
  void theSeedsEncodingIsValueLengthValueClockLengthClock() {
    byte[] one = hex("00000002 6869 0000000e 0001 01 0005 07 0000018bcfe56800");
    assertArrayEquals(one, SeedEncoding.encode(List.of(version("hi", 5, 7))));
    assertEquals(List.of(version("hi", 5, 7)), SeedEncoding.decode(one));
    List<Versioned> two = List.of(version("", 1, 1), version("b", 2, 300));
    assertEquals(two, SeedEncoding.decode(SeedEncoding.encode(two)));
    assertEquals(List.of(), SeedEncoding.decode(new byte[0]));
  }

  @Test
  void theSeedsDecoderRefusesWhatIsNotWhole() {
    byte[] whole = SeedEncoding.encode(List.of(version("one", 1, 1), version("two", 2, 2)));
    int first = SeedEncoding.encode(List.of(version("one", 1, 1))).length;
    for (int size = 1; size < whole.length; ++size) {
      byte[] cut = Arrays.copyOf(whole, size);
      if (size == first) {
        assertEquals(List.of(version("one", 1, 1)), SeedEncoding.decode(cut));
      } else {
        assertThrows(VersionFormatException.class, () -> SeedEncoding.decode(cut), "size " + size);
      }
    }
    assertThrows(VersionFormatException.class, () -> SeedEncoding.decode(hex("ffffffff")), "a negative length");
    assertThrows(VersionFormatException.class, () -> SeedEncoding.decode(hex("00000000 0000000c 0000 01 0000018bcfe56800 00")), "a clock with a tail");
  }

  @Test
  void aLoneRecordIsKindClockValue() {
    byte[] lone = hex("01 0001 01 0005 07 0000018bcfe56800 6869");
    assertArrayEquals(lone, VersionRecord.headBytes(version("hi", 5, 7), List.of()));
    VersionRecord head = VersionRecord.head(lone);
    assertEquals(version("hi", 5, 7), head.version());
    assertEquals(List.of(), head.siblings);
    assertThrows(VersionFormatException.class, () -> VersionRecord.sibling(lone));
  }

  @Test
  void aHeadNamesItsSiblings() {
    byte[] head = hex("02 0001 0003 0001 01 0006 01 0000018bcfe56800 0001 01 0005 07 0000018bcfe56800 6869");
    List<Sibling> siblings = List.of(new Sibling(3, clock(6, 1)));
    assertArrayEquals(head, VersionRecord.headBytes(version("hi", 5, 7), siblings));
    assertEquals(siblings, VersionRecord.head(head).siblings);
    assertEquals(version("hi", 5, 7), VersionRecord.head(head).version());
    byte[] sibling = hex("03 0001 01 0006 01 0000018bcfe56800 78");
    assertArrayEquals(sibling, VersionRecord.siblingBytes(version("x", 6, 1)));
    assertEquals(version("x", 6, 1), VersionRecord.sibling(sibling));
    assertThrows(VersionFormatException.class, () -> VersionRecord.head(sibling));
  }

  @Test
  void aCutHeadIsRefused() {
    byte[] head = VersionRecord.headBytes(version("", 5, 7), List.of(new Sibling(1, clock(6, 1)), new Sibling(2, clock(7, 1))));
    for (int size = 0; size < head.length; ++size) {
      byte[] cut = Arrays.copyOf(head, size);
      assertThrows(VersionFormatException.class, () -> VersionRecord.head(cut), "size " + size);
    }
    assertThrows(VersionFormatException.class, () -> VersionRecord.head(new byte[] {9}));
    assertThrows(VersionFormatException.class, () -> VersionRecord.sibling(new byte[0]));
    byte[] unordered = VersionRecord.headBytes(version("", 5, 7), List.of(new Sibling(2, clock(6, 1)), new Sibling(1, clock(7, 1))));
    assertThrows(VersionFormatException.class, () -> VersionRecord.head(unordered));
  }

  @Test
  void recordKeysAreDistinct() {
    for (KeyLayout layout : List.of(new KeyLayout(null), new KeyLayout(key -> key.length))) {
      Set<String> seen = new HashSet<>();
      for (String key : List.of("", "\0", "\0\0", "a", "a\0", "a\0\0", "a\0\1", "ab")) {
        byte[] headKey = layout.headKey(bytes(key));
        assertEquals(KeyLayout.HEAD_SLOT, KeyLayout.slot(headKey));
        assertArrayEquals(bytes(key), layout.key(headKey));
        assertTrue(layout.isRecordKey(headKey));
        assertTrue(seen.add(Bytes.hex(headKey)));
        for (int slot : new int[] {1, 2, 255, 256, 65_535}) {
          byte[] sibling = KeyLayout.siblingKey(headKey, slot);
          assertEquals(slot, KeyLayout.slot(sibling));
          assertArrayEquals(bytes(key), layout.key(sibling));
          assertTrue(seen.add(Bytes.hex(sibling)));
        }
        assertTrue(Arrays.compareUnsigned(KeyLayout.MARK_KEY, headKey) < 0);
        assertTrue(Arrays.compareUnsigned(KeyLayout.FIRST_RECORD, headKey) <= 0);
      }
      assertFalse(layout.isRecordKey(KeyLayout.MARK_KEY));
    }
  }

  @Test
  void thePartitionComesFirst() {
    KeyLayout layout = new KeyLayout(key -> 0x1234);
    assertArrayEquals(hex("1234 61 0000"), layout.headKey(bytes("a")));
    assertArrayEquals(hex("1234"), KeyLayout.prefix(0x1234));
    assertArrayEquals(hex("ffff"), KeyLayout.prefix(65_535));
    assertThrows(IllegalArgumentException.class, () -> KeyLayout.prefix(65_536));
    assertThrows(IllegalArgumentException.class, () -> new KeyLayout(key -> -1).headKey(bytes("a")));
  }

  @Test
  void hexIsCut() {
    assertEquals("00ff", Bytes.hex(new byte[] {0, -1}));
    assertEquals("00".repeat(32) + "... (33 bytes)", Bytes.hex(new byte[33]));
  }
}
