package dev.mergedb.infinispan;

import static dev.mergedb.infinispan.StoreFixture.SEGMENTS;
import static dev.mergedb.infinispan.StoreFixture.bytes;
import static dev.mergedb.infinispan.StoreFixture.join;
import static org.testng.Assert.assertEquals;
import static org.testng.Assert.assertNotNull;
import static org.testng.Assert.assertNull;
import static org.testng.Assert.assertTrue;
import static org.testng.Assert.expectThrows;

import java.util.List;
import java.util.Set;
import org.infinispan.commons.util.IntSet;
import org.infinispan.commons.util.IntSets;
import org.infinispan.persistence.spi.PersistenceException;
import org.infinispan.test.AbstractInfinispanTest;
import org.testng.annotations.Test;

/** Segments as ranges of keys. */
@Test(groups = "unit", testName = "dev.mergedb.infinispan.StoreSegmentsTest")
public class StoreSegmentsTest extends AbstractInfinispanTest {
  private static final IntSet ALL = IntSets.immutableRangeSet(SEGMENTS);

  public void segmentsAreRemovedAndAdded() {
    try (StoreFixture fixture = new StoreFixture().start()) {
      for (int segment = 0; segment < SEGMENTS; ++segment) {
        for (int i = 0; i < 3; ++i) fixture.put(segment, "key" + i, "value" + segment);
      }
      IntSet removed = IntSets.from(Set.of(0, 7, 8, 9, 31, SEGMENTS - 1));
      join(fixture.store.removeSegments(removed));
      for (int segment = 0; segment < SEGMENTS; ++segment) {
        Object expected = removed.contains(segment) ? null : "value" + segment;
        for (int i = 0; i < 3; ++i) assertEquals(fixture.get(segment, "key" + i), expected, "segment " + segment);
      }
      assertEquals(fixture.size(ALL), 3L * (SEGMENTS - removed.size()));
      assertEquals(fixture.size(removed), 0);
      assertEquals(fixture.keys(IntSets.immutableSet(6)).size(), 3);

      join(fixture.store.addSegments(IntSets.immutableSet(8)));
      fixture.put(8, "key1", "new");
      assertEquals(fixture.get(8, "key1"), "new");
      assertNull(fixture.get(8, "key0"), "an entry from before the segment was removed");
      assertEquals(fixture.keys(removed), List.of("key1"));
    }
  }

  public void keysOfAnyBytesAreScannedRemovedAndCleared() {
    try (StoreFixture fixture = new StoreFixture().start()) {
      List<Object> keys = List.of(bytes(0), bytes(0, 0), bytes(0x7f), bytes(0x80), bytes(0xff),
          bytes(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff));
      for (int segment : new int[] {0, 1, SEGMENTS - 1}) {
        for (Object key : keys) fixture.put(segment, key, key);
      }
      assertEquals(Set.copyOf(fixture.keys(IntSets.immutableSet(1))), Set.copyOf(keys));
      join(fixture.store.removeSegments(IntSets.immutableSet(0)));
      assertEquals(fixture.size(IntSets.immutableSet(0)), 0);
      assertEquals(fixture.size(IntSets.immutableSet(1)), keys.size());
      join(fixture.store.clear());
      assertEquals(fixture.size(ALL), 0);
      for (Object key : keys) assertNull(fixture.get(SEGMENTS - 1, key));
    }
  }

  public void anEmptySetOfSegmentsHasNothing() {
    try (StoreFixture fixture = new StoreFixture().start()) {
      fixture.put(3, "key", "value");
      assertEquals(fixture.size(IntSets.immutableEmptySet()), 0);
      assertEquals(fixture.keys(IntSets.immutableEmptySet()), List.of());
      assertEquals((long) join(fixture.store.approximateSize(IntSets.immutableEmptySet())), 0);
      join(fixture.store.removeSegments(IntSets.immutableEmptySet()));
      assertEquals(fixture.get(3, "key"), "value");
    }
  }

  public void withoutSegmentsEveryKeyIsFoundWhateverTheSegment() {
    try (StoreFixture fixture = new StoreFixture().settings(builder -> builder.segmented(false)).start()) {
      fixture.put(0, "key", "value");
      assertEquals(fixture.get(17, "key"), "value");
      assertEquals(fixture.size(ALL), 1);
      assertEquals(fixture.keys(ALL), List.of("key"));
    }
  }

  public void anotherNumberOfSegmentsIsAnError() {
    try (StoreFixture fixture = new StoreFixture().start()) {
      fixture.put(5, "key", "value");
      fixture.stop();
      PersistenceException error =
          expectThrows(PersistenceException.class, () -> fixture.segments(SEGMENTS * 2).start());
      assertTrue(error.getMessage().contains("segments=64") && error.getMessage().contains("segments=128"),
          error.getMessage());
      fixture.segments(SEGMENTS).start();
      assertEquals(fixture.get(5, "key"), "value");
    }
  }

  public void theApproximateSizeOfManyEntriesIsNear() {
    // Small buffers, so that most entries are in tables, from whose sizes the estimate is made.
    try (StoreFixture fixture = new StoreFixture().settings(builder -> builder.writeBufferBytes(1 << 20)).start()) {
      int count = 150_000;
      StoreBatches.write(fixture.store, count, SEGMENTS, "value of some length, so that memtables fill");
      assertEquals(fixture.size(ALL), count);
      long estimate = join(fixture.store.approximateSize(ALL));
      assertTrue(estimate > count / 2 && estimate < 2 * count, "estimate " + estimate + " of " + count);
      assertEquals((long) join(fixture.store.approximateSize(IntSets.immutableSet(1))),
          fixture.size(IntSets.immutableSet(1)));
      assertNotNull(fixture.get(1, "key1"));
    }
  }
}
