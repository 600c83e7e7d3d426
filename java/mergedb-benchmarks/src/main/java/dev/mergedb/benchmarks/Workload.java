package dev.mergedb.benchmarks;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;

/** Keys, values and directories. Keys are 16 bytes: a number of 64 bits in hexadecimal, in an order that looks random. */
final class Workload {
  static final int VALUE_BYTES = 100;
  private static final long STRIDE = 0x9E3779B97F4A7C15L; // odd: different numbers have different keys

  private Workload() {}

  static byte[] key(long number) {
    return String.format("%016x", number * STRIDE).getBytes(StandardCharsets.US_ASCII);
  }

  /** The keys of `count` numbers from `first` on. */
  static byte[][] keys(long first, int count) {
    byte[][] keys = new byte[count][];
    for (int i = 0; i < count; ++i) {
      keys[i] = key(first + i);
    }
    return keys;
  }

  static byte[] value() {
    byte[] value = new byte[VALUE_BYTES];
    new Random(1).nextBytes(value);
    return value;
  }

  /** A directory in `-Dmergedb.bench.folder`, or of the system. */
  static Path newDirectory() throws IOException {
    String folder = System.getProperty("mergedb.bench.folder", System.getProperty("java.io.tmpdir"));
    return Files.createTempDirectory(Files.createDirectories(Path.of(folder)), "jvm-");
  }

  static void remove(Path directory) throws IOException {
    List<Path> all;
    try (Stream<Path> paths = Files.walk(directory)) {
      all = paths.sorted(Comparator.reverseOrder()).toList();
    }
    for (Path each : all) {
      Files.delete(each);
    }
  }
}
