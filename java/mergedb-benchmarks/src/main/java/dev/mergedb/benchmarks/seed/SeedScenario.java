package dev.mergedb.benchmarks.seed;

import dev.mergedb.versions.Versioned;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
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
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Stream;

/**
 * One scenario of the LevelDB engine of Voldemort 0.90 on one engine: threads load versioned values in batch, then read keys that are drawn evenly. Keys have
 * 36 bytes; no value is like another. Every value that is read is compared. Prints one line of JSON.
 *
 * <pre>
 *   SeedScenario --engine NAME --folder DIR [--entries N] [--operations N] [--value BYTES] [--cache MB] [--threads N]
 * </pre>
 */
public final class SeedScenario {
  private static final int POOL_BYTES = 4 << 20;
  private static final byte[] KEY_TEMPLATE = "0123456789abcdef-key-of-the-seed-36b".getBytes(StandardCharsets.US_ASCII);
  private static final byte[] HEX = Arrays.copyOf(KEY_TEMPLATE, 16);

  private final VersionedEngine engine;
  private final int entries;
  private final int valueBytes;
  private final int threads;
  private final byte[] pool = new byte[POOL_BYTES];

  SeedScenario(VersionedEngine engine, int entries, int valueBytes, int threads) {
    this.engine = engine;
    this.entries = entries;
    this.valueBytes = valueBytes;
    this.threads = threads;
    Random random = new Random(1);
    for (int i = 0; i < POOL_BYTES; ++i) {
      pool[i] = (byte) ('0' + random.nextInt(64)); // six random bits a byte: compresses to three quarters
    }
  }

  /** A hash of the number in hexadecimal, then a constant. No String.format: it would take as long as a read. */
  static byte[] key(int number) {
    long hash = number * 0x9E3779B97F4A7C15L;
    byte[] key = KEY_TEMPLATE.clone();
    long rest = hash ^ hash >>> 32;
    for (int i = 15; i >= 0; --i, rest >>>= 4) {
      key[i] = HEX[(int) rest & 15];
    }
    return key;
  }

  private byte[] value(int number) {
    int at = (int) ((number * 2_654_435_761L & Long.MAX_VALUE) % (POOL_BYTES - valueBytes));
    return Arrays.copyOfRange(pool, at, at + valueBytes);
  }

  /** Runs on every thread with the number of the thread. */
  private interface Work {
    void run(int thread) throws Exception;
  }

  /** Operations a second of all threads. */
  private double rate(long operations, Work work) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    try {
      long start = System.nanoTime();
      List<Future<?>> running = new ArrayList<>();
      for (int i = 0; i < threads; ++i) {
        int thread = i;
        running.add(
            pool.submit(
                () -> {
                  work.run(thread);
                  return null;
                }));
      }
      for (Future<?> each : running) {
        each.get();
      }
      return operations * 1e9 / (System.nanoTime() - start);
    } finally {
      pool.shutdownNow();
    }
  }

  double load() throws Exception {
    return rate(
        entries,
        thread -> {
          for (int number = thread; number < entries; number += threads) {
            engine.update(key(number), value(number), number);
          }
        });
  }

  double read(int operations) throws Exception {
    return rate(
        operations,
        thread -> {
          for (int i = thread; i < operations; i += threads) {
            int number = ThreadLocalRandom.current().nextInt(entries);
            List<Versioned> found = engine.get(key(number));
            if (found.size() != 1 || !Arrays.equals(found.get(0).value(), value(number))) {
              throw new IllegalStateException("key " + number + ": expected the version that was written, found " + found);
            }
          }
        });
  }

  private static long diskBytes(Path directory) throws IOException {
    try (Stream<Path> files = Files.walk(directory)) {
      return files.filter(Files::isRegularFile).mapToLong(file -> file.toFile().length()).sum();
    }
  }

  public static void main(String[] arguments) throws Exception {
    Map<String, String> given = new HashMap<>();
    for (int i = 0; i + 1 < arguments.length; i += 2) {
      given.put(arguments[i], arguments[i + 1]);
    }
    String name = given.get("--engine");
    Path directory = Path.of(given.get("--folder"));
    int entries = Integer.parseInt(given.getOrDefault("--entries", "500000"));
    int operations = Integer.parseInt(given.getOrDefault("--operations", "500000"));
    int valueBytes = Integer.parseInt(given.getOrDefault("--value", "1024"));
    int cacheMegabytes = Integer.parseInt(given.getOrDefault("--cache", "100"));
    int threads = Integer.parseInt(given.getOrDefault("--threads", "8"));
    double load;
    double read;
    try (VersionedEngine engine = VersionedEngine.open(name, directory, (long) cacheMegabytes << 20)) {
      SeedScenario scenario = new SeedScenario(engine, entries, valueBytes, threads);
      load = scenario.load();
      read = scenario.read(operations);
    }
    System.out.printf(
        "{\"engine\": \"%s\", \"value_bytes\": %d, \"cache_mb\": %d, \"load_per_second\": %.0f, \"read_per_second\": %.0f, \"disk_bytes\": %d}%n",
        name, valueBytes, cacheMegabytes, load, read, diskBytes(directory));
  }
}
