package dev.mergedb.infinispan;

import static org.testng.Assert.assertEquals;
import static org.testng.Assert.assertNull;
import static org.testng.Assert.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.infinispan.commons.util.IntSets;
import org.infinispan.persistence.spi.MarshallableEntry;
import org.infinispan.test.AbstractInfinispanTest;
import org.testng.annotations.Test;

/** Expiry, and the index of what may be expired. */
@Test(groups = "unit", testName = "dev.mergedb.infinispan.StoreExpiryTest")
public class StoreExpiryTest extends AbstractInfinispanTest {
  public void anEntryExpiresAcrossARestart() {
    try (StoreFixture fixture = new StoreFixture().start()) {
      fixture.put(1, "short", "a", 10_000);
      fixture.put(1, "long", "b", 100_000);
      fixture.put(1, "immortal", "c");
      fixture.stop();
      fixture.start();
      assertEquals(fixture.get(1, "short"), "a");
      fixture.time.advance(10_001);
      assertNull(fixture.get(1, "short"));
      assertEquals(fixture.size(IntSets.immutableSet(1)), 2);
      assertEquals(fixture.keys(IntSets.immutableSet(1)).size(), 2);
      fixture.stop();
      fixture.start();
      List<MarshallableEntry<Object, Object>> purged = fixture.purge();
      assertEquals(purged.size(), 1);
      assertEquals(purged.get(0).getKey(), "short");
      assertEquals(purged.get(0).getValue(), "a");
      assertEquals(purged.get(0).getMetadata().lifespan(), 10_000);
      assertEquals(fixture.purge(), List.of());
      assertEquals(fixture.get(1, "long"), "b");
      assertEquals(fixture.get(1, "immortal"), "c");
    }
  }

  public void anEntryThatIsWrittenAgainAndAgainLeavesFewKeysInTheIndex() {
    try (StoreFixture fixture = new StoreFixture().start()) {
      int writes = 2_000;
      for (int i = 0; i < writes; ++i) {
        fixture.put(1, "session", "value" + i, 3_600_000);
        fixture.time.advance(1_000);
      }
      int keys = fixture.dueKeys().size();
      assertTrue(keys < 64, keys + " keys for one entry");
      assertEquals(fixture.purge(), List.of(), "the entry lives");
      assertEquals(fixture.get(1, "session"), "value" + (writes - 1));
      fixture.time.advance(3_600_000);
      assertEquals(fixture.purge().size(), 1);
      assertEquals(fixture.dueKeys().size(), 0, "no key is left behind");
    }
  }

  public void whatWasRemovedOrMadeImmortalIsNotPurged() {
    try (StoreFixture fixture = new StoreFixture().start()) {
      fixture.put(1, "removed", "a", 1_000);
      fixture.put(1, "immortal", "b", 1_000);
      fixture.put(2, "segment", "c", 1_000);
      StoreFixture.join(fixture.store.delete(1, "removed"));
      fixture.put(1, "immortal", "d");
      StoreFixture.join(fixture.store.removeSegments(IntSets.immutableSet(2)));
      fixture.time.advance(1_001);
      assertEquals(fixture.purge(), List.of());
      assertEquals(fixture.get(1, "immortal"), "d");
      assertEquals(fixture.dueKeys().size(), 0);
    }
  }

  /**
   * A purge and a write of the same key at the same time: what the write stored is there afterwards, in whatever order
   * they went.
   */
  public void aPurgeNeverRemovesANewerValue() {
    try (StoreFixture fixture = new StoreFixture().start()) {
      for (int i = 0; i < 100; ++i) {
        fixture.put(1, "key", "old", 10);
        fixture.time.advance(20);
        CompletableFuture<Void> purge = CompletableFuture.runAsync(fixture::purge);
        fixture.put(1, "key", "new" + i);
        purge.join();
        assertEquals(fixture.get(1, "key"), "new" + i);
      }
    }
  }

  /**
   * Random entries, moves of the clock and purges, beside a model. Every entry is purged once, at the first purge after
   * its expiry.
   */
  public void randomLives() {
    long seed = Long.getLong("mergedb.seed", System.nanoTime());
    Random random = new Random(seed);
    String context = "-Dmergedb.seed=" + seed;
    try (StoreFixture fixture = new StoreFixture().start()) {
      long[] expiries = new long[50];  // 0: no entry
      for (int step = 0; step < 3_000; ++step) {
        int index = random.nextInt(expiries.length);
        switch (random.nextInt(10)) {
          case 0 -> {
            List<Object> expected = new ArrayList<>();
            for (int i = 0; i < expiries.length; ++i) {
              if (expiries[i] == 0 || expiries[i] > fixture.time.wallClockTime()) continue;
              expected.add("key" + i);
              expiries[i] = 0;
            }
            List<Object> purged = new ArrayList<>();
            for (MarshallableEntry<Object, Object> entry : fixture.purge()) purged.add(entry.getKey());
            purged.sort(null);
            expected.sort(null);
            assertEquals(purged, expected, context + " step " + step);
          }
          case 1, 2, 3 -> fixture.time.advance(1 + random.nextInt(1 << random.nextInt(20)));
          default -> {
            long lifespan = 1 + random.nextInt(1 << random.nextInt(22));
            fixture.put(index % 7, "key" + index, "value" + step, lifespan);
            expiries[index] = fixture.time.wallClockTime() + lifespan;
          }
        }
        boolean isAlive = expiries[index] > fixture.time.wallClockTime();
        assertEquals(fixture.get(index % 7, "key" + index) != null, isAlive, context + " step " + step);
      }
    }
  }

  public void theDueTimeIsBeforeTheExpiryAndAfterNow() {
    long now = 1_700_000_000_000L;
    for (long life = 1; life < 1L << 40; life = life * 3 / 2 + 1) {
      long due = ExpiryIndex.dueOf(now + life, now);
      assertTrue(due <= now + life && due > now, "life " + life + ": due " + (due - now) + " after now");
      assertTrue(now + life - due <= life / 32, "life " + life + ": due " + (now + life - due) + " before the expiry");
    }
    assertEquals(ExpiryIndex.dueOf(now - 5, now), now - 5);
  }
}
