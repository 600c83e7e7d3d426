package voldemort.store.mergedb;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertThrows;

import dev.mergedb.MergedbException;
import dev.mergedb.versions.SeedEncoding;
import dev.mergedb.versions.VectorClock;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Random;
import org.junit.Test;
import voldemort.store.PersistenceFailureException;
import voldemort.versioning.Version;
import voldemort.versioning.Versioned;

/** Our clocks against Voldemort's. */
public class TranslationTest {
  private static Random random(String test) {
    String given = System.getProperty("mergedb.seed", "");
    long seed = given.isEmpty() ? System.nanoTime() : Long.parseLong(given);
    System.out.println(test + ": -Dmergedb.seed=" + seed);
    return new Random(seed);
  }

  private static voldemort.versioning.VectorClock clock(Random random, int nodes) {
    voldemort.versioning.VectorClock clock = new voldemort.versioning.VectorClock(random.nextLong());
    for (int writes = random.nextInt(6); writes > 0; --writes) {
      clock.incrementVersion(random.nextInt(nodes), random.nextLong());
    }
    if (random.nextInt(4) == 0) {
      // Counters of up to 7 bytes: Voldemort cannot write larger ones.
      clock.getVersionMap().put((short) random.nextInt(nodes), random.nextLong() >>> 8 + random.nextInt(55));
    }
    return clock;
  }

  @Test
  public void ourBytesAreVoldemortsBytes() {
    Random random = random("ourBytesAreVoldemortsBytes");
    for (int i = 0; i < 5_000; ++i) {
      voldemort.versioning.VectorClock theirs = clock(random, Short.MAX_VALUE);
      VectorClock ours = Translation.clock(theirs);
      assertArrayEquals(theirs.toString(), theirs.toBytes(), ours.toBytes());
      assertEquals(theirs, Translation.clock(ours));
      assertEquals(theirs.getTimestamp(), Translation.clock(ours).getTimestamp());
      assertEquals(ours, VectorClock.read(ByteBuffer.wrap(theirs.toBytes())));
      assertEquals(theirs, new voldemort.versioning.VectorClock(ours.toBytes()));
    }
  }

  @Test
  public void ourOrderIsVoldemortsOrder() {
    Random random = random("ourOrderIsVoldemortsOrder");
    for (int i = 0; i < 20_000; ++i) {
      voldemort.versioning.VectorClock a = clock(random, 3);
      voldemort.versioning.VectorClock b = random.nextInt(5) == 0 ? a.clone() : clock(random, 3);
      assertEquals(a + " and " + b, a.compare(b).name(), Translation.clock(a).compare(Translation.clock(b)).name());
      assertEquals(a.merge(b), Translation.clock(Translation.clock(a).merged(Translation.clock(b), 0)));
    }
  }

  @Test
  public void versionsKeepTheirValueAndClock() {
    voldemort.versioning.VectorClock clock = clock(random("versionsKeepTheirValueAndClock"), 3);
    Versioned<byte[]> theirs = new Versioned<>(new byte[] {1, 2}, clock);
    assertEquals(theirs, Translation.versioned(Translation.versioned(theirs)));
    assertEquals(List.of(theirs), Translation.theirs(Translation.ours(List.of(theirs))));
    byte[] seed = SeedEncoding.encode(Translation.ours(List.of(theirs)));
    assertArrayEquals(clock.toBytes(), java.util.Arrays.copyOfRange(seed, 10, seed.length));
  }

  @Test
  public void aVersionMustBeAVectorClock() {
    Version other = v -> null;
    assertThrows(IllegalArgumentException.class, () -> Translation.clock(other));
  }

  @Test
  public void errorsBecomeVoldemorts() {
    MergedbException failure = new MergedbException(MergedbException.Code.IO_ERROR, "disk");
    PersistenceFailureException e =
        assertThrows(PersistenceFailureException.class, () -> Translation.call(() -> {
          throw failure;
        }));
    assertSame(failure, e.getCause());
    assertEquals("disk", e.getMessage());
    assertThrows(IllegalStateException.class, () -> Translation.call(() -> {
      throw new IllegalStateException();
    }));
  }
}
