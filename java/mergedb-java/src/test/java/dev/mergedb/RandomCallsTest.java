package dev.mergedb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** 100,000 random calls by 8 threads, with random closes; -Dmergedb.random.calls=N makes N. */
class RandomCallsTest {
  @TempDir Path folder;

  @Test
  void randomCalls() throws InterruptedException {
    String given = System.getProperty("mergedb.random.calls", "");
    long calls = given.isEmpty() ? 100_000 : Long.parseLong(given);
    long seed = Testing.seed();
    RandomCalls random = new RandomCalls(folder, seed, calls);
    boolean ended = random.run(8, 300 + calls / 500);
    System.out.println(calls + " random calls: " + random.values + " answered, refused: " + random.answers);
    assertEquals(List.of(), List.copyOf(random.wrong), () -> "seed " + seed);
    assertTrue(ended, () -> "seed " + seed + ": a thread did not end");
    assertTrue(random.values.get() > calls / 4, () -> "most calls work: " + random.values);
    for (int i = 0; i < 2; ++i) {
      assertEquals(List.of(), Database.verify(folder.resolve("db" + i)).damages());
    }
  }
}
