package dev.mergedb.versions;

import static dev.mergedb.versions.Fixtures.sorted;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.mergedb.Database;
import dev.mergedb.Options;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Random calls of several threads against a model in memory. */
class RandomTest {
  private static final int KEYS = 24;
  private static final int WRITERS = 4;

  /** A list of versions for each key, with Voldemort's rules written down once more. One thread at a time uses a key's list. */
  private static final class Model {
    final Map<Integer, List<Versioned>> versions = new HashMap<>();

    Model() {
      for (int key = 0; key < KEYS; ++key) {
        versions.put(key, new ArrayList<>());
      }
    }

    boolean put(int key, Versioned version) {
      List<Versioned> stored = versions.get(key);
      if (stored.stream().anyMatch(old -> version.clock().compare(old.clock()) == Occurred.BEFORE)) {
        return false;
      }
      stored.removeIf(old -> version.clock().compare(old.clock()) == Occurred.AFTER);
      stored.add(version);
      return true;
    }

    boolean delete(int key, VectorClock clock) {
      return versions.get(key).removeIf(old -> clock == null || old.clock().compare(clock) == Occurred.BEFORE);
    }
  }

  @TempDir Path directory;

  /** Keys that continue each other with zeros and small numbers, as slots do: the hard case of record keys. */
  private static byte[] key(int number) {
    int zeros = number / 4;
    int start = number % 4 >= 2 ? 1 : 0;
    byte[] key = new byte[start + zeros + (number % 2 == 1 ? 1 : 0)];
    if (start == 1) {
      key[0] = 'k';
    }
    if (number % 2 == 1) {
      key[key.length - 1] = 1;
    }
    return key;
  }

  private static VectorClock clock(Random random) {
    VectorClock clock = VectorClock.empty(random.nextInt());
    for (int writes = 1 + random.nextInt(6); writes > 0; --writes) {
      clock = clock.incremented(random.nextInt(4), random.nextInt());
    }
    return clock;
  }

  private static Versioned version(Random random) {
    byte[] value = new byte[random.nextInt(20) == 0 ? random.nextInt(5_000) : random.nextInt(60)];
    random.nextBytes(value);
    return new Versioned(value, clock(random));
  }

  @Test
  void theKeysAreDistinct() {
    assertEquals(KEYS, IntStream.range(0, KEYS).mapToObj(number -> Bytes.hex(key(number))).distinct().count());
  }

  @ParameterizedTest
  @CsvSource({"0, false, true", "2, false, false", "2, true, true"})
  void agreesWithTheModel(int pool, boolean hasThreads, boolean isPartitioned) throws Exception {
    Random seeds = Fixtures.random("RandomTest.agreesWithTheModel");
    Model model = new Model();
    StoreOptions options =
        new StoreOptions().lockStripes(5).readPool(pool).writePool(pool).poolThreads(hasThreads);
    if (isPartitioned) {
      options.partitioner(key -> Arrays.hashCode(key) & 3);
    }
    Path path = directory.resolve("db");
    for (int round = 0; round < 3; ++round) {
      try (Database database = Database.open(path, new Options().memoryBytes(16 << 20));
          VersionedStore store = VersionedStore.open(database, database.keyspace("random"), options)) {
        compareAll(store, model);
        run(store, model, seeds, 400);
        compareAll(store, model);
      }
    }
  }

  private static void run(VersionedStore store, Model model, Random seeds, int calls) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(WRITERS + 1);
    try {
      AtomicBoolean isDone = new AtomicBoolean();
      long readerSeed = seeds.nextLong();
      Future<?> reader = threads.submit(() -> readAll(store, new Random(readerSeed), isDone));
      List<Future<?>> writers = new ArrayList<>();
      for (int i = 0; i < WRITERS; ++i) {
        long seed = seeds.nextLong();
        writers.add(threads.submit(() -> write(store, model, new Random(seed), calls)));
      }
      for (Future<?> writer : writers) {
        writer.get();
      }
      isDone.set(true);
      reader.get();
    } finally {
      threads.shutdownNow();
    }
  }

  private static void write(VersionedStore store, Model model, Random random, int calls) {
    for (int i = 0; i < calls; ++i) {
      int number = random.nextInt(KEYS);
      List<Versioned> expected = model.versions.get(number);
      synchronized (expected) {
        call(store, model, random, number);
        assertEquals(sorted(expected), sorted(store.get(key(number))), "key " + number);
      }
    }
  }

  private static void call(VersionedStore store, Model model, Random random, int number) {
    byte[] key = key(number);
    List<Versioned> expected = model.versions.get(number);
    switch (random.nextInt(10)) {
      case 0 -> {
        VectorClock clock = random.nextInt(4) == 0 ? null : clock(random);
        assertEquals(model.delete(number, clock), store.delete(key, clock));
      }
      case 1, 2 -> {
        List<Versioned> versions = List.of(version(random), version(random), version(random));
        List<Versioned> obsolete = versions.stream().filter(version -> !model.put(number, version)).toList();
        assertEquals(obsolete, store.multiVersionPut(key, versions));
      }
      case 3 -> {
        LockedKey locked = store.getAndLock(key);
        assertEquals(sorted(expected), sorted(locked.versions()));
        if (random.nextBoolean()) {
          store.releaseLock(locked);
        } else {
          expected.removeIf(version -> random.nextBoolean());
          store.putAndUnlock(locked, expected);
        }
      }
      case 4 -> assertEquals(
          expected.stream().map(version -> version.clock().toString()).sorted().toList(),
          store.getVersions(key).stream().map(VectorClock::toString).sorted().toList());
      case 5 -> assertEquals(sorted(expected), sorted(store.getAll(List.of(key, key)).get(1)));
      default -> {
        Versioned version = version(random);
        boolean isPut = true;
        try {
          store.put(key, version);
        } catch (ObsoleteVersionException e) {
          isPut = false;
        }
        assertEquals(model.put(number, version), isPut);
      }
    }
  }

  /** Without locks: no read sees versions of which one supersedes another. */
  private static void readAll(VersionedStore store, Random random, AtomicBoolean isDone) {
    while (!isDone.get()) {
      checkConcurrent(store.get(key(random.nextInt(KEYS))));
      Map<String, List<Versioned>> byKey = new HashMap<>();
      try (Scan<Entry> scan = store.entries()) {
        while (scan.hasNext()) {
          Entry entry = scan.next();
          byKey.computeIfAbsent(Bytes.hex(entry.key()), key -> new ArrayList<>()).add(entry.version());
        }
      }
      byKey.values().forEach(RandomTest::checkConcurrent);
    }
  }

  private static void checkConcurrent(List<Versioned> versions) {
    for (Versioned a : versions) {
      for (Versioned b : versions) {
        assertTrue(a == b || a.clock().compare(b.clock()) == Occurred.CONCURRENTLY, () -> a + " and " + b);
      }
    }
  }

  private static void compareAll(VersionedStore store, Model model) {
    Map<String, List<Versioned>> expected = new HashMap<>();
    model.versions.forEach((number, versions) -> {
      if (!versions.isEmpty()) {
        expected.put(Bytes.hex(key(number)), sorted(versions));
      }
    });
    Map<String, List<Versioned>> found = new HashMap<>();
    try (Scan<Entry> scan = store.entries()) {
      scan.forEachRemaining(entry -> found.computeIfAbsent(Bytes.hex(entry.key()), key -> new ArrayList<>()).add(entry.version()));
    }
    found.replaceAll((key, versions) -> sorted(versions));
    assertEquals(expected, found);
    List<String> keys = new ArrayList<>();
    try (Scan<byte[]> scan = store.keys()) {
      scan.forEachRemaining(key -> keys.add(Bytes.hex(key)));
    }
    assertEquals(expected.keySet().stream().sorted().toList(), keys.stream().sorted().toList());
    if (store.isPartitioned()) {
      List<String> byPartition = new ArrayList<>();
      for (int partition = 0; partition < 4; ++partition) {
        try (Scan<byte[]> scan = store.keys(partition)) {
          scan.forEachRemaining(key -> byPartition.add(Bytes.hex(key)));
        }
      }
      assertEquals(keys, byPartition);
    }
  }

  /** Each thread adds its own counter to a shared key and merges what it finds: at the end every accepted write is counted. */
  @Test
  void noAcceptedWriteIsLost() throws Exception {
    try (Database database = Database.open(directory.resolve("db"), new Options().memoryBytes(16 << 20));
        VersionedStore store = VersionedStore.open(database, database.keyspace("counters"), new StoreOptions())) {
      byte[] key = {1};
      ExecutorService threads = Executors.newFixedThreadPool(WRITERS);
      try {
        List<Future<Long>> writers = new ArrayList<>();
        for (int node = 0; node < WRITERS; ++node) {
          int me = node;
          writers.add(threads.submit(() -> count(store, key, me)));
        }
        VectorClock all = VectorClock.empty(0);
        List<Long> accepted = new ArrayList<>();
        for (Future<Long> writer : writers) {
          accepted.add(writer.get());
        }
        for (Versioned version : store.get(key)) {
          all = all.merged(version.clock(), 0);
        }
        for (int node = 0; node < WRITERS; ++node) {
          assertEquals(accepted.get(node), all.entries().get((short) node), "node " + node);
        }
      } finally {
        threads.shutdownNow();
      }
    }
  }

  /** Writes 200 times; the counter of `node` is then 200. */
  private static long count(VersionedStore store, byte[] key, int node) {
    long mine = 0;
    for (int i = 0; i < 200; ++i) {
      VectorClock seen = VectorClock.empty(0);
      for (Versioned version : store.get(key)) {
        seen = seen.merged(version.clock(), 0);
      }
      assertEquals(mine, seen.entries().getOrDefault((short) node, 0L), "a write that was accepted exists");
      store.put(key, new Versioned(new byte[] {(byte) node}, seen.incremented(node, 0)));
      ++mine;
    }
    return mine;
  }
}
