package dev.mergedb.versions;

import java.nio.charset.StandardCharsets;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;

/** What several tests need. */
final class Fixtures {
  private Fixtures() {}

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  /** A clock of (node, counter) pairs. */
  static VectorClock clock(long... nodesAndCounters) {
    TreeMap<Short, Long> entries = new TreeMap<>();
    for (int i = 0; i < nodesAndCounters.length; i += 2) {
      entries.put((short) nodesAndCounters[i], nodesAndCounters[i + 1]);
    }
    return VectorClock.of(entries, 1_700_000_000_000L);
  }

  static Versioned version(String value, long... nodesAndCounters) {
    return new Versioned(bytes(value), clock(nodesAndCounters));
  }

  /** The values, sorted, separated by blanks. */
  static String values(List<Versioned> versions) {
    return String.join(" ", versions.stream().map(version -> text(version.value())).sorted().toList());
  }

  /** In an order that does not depend on how they are stored. */
  static List<Versioned> sorted(List<Versioned> versions) {
    return versions.stream().sorted(Comparator.comparing(version -> version.clock() + " " + Bytes.hex(version.value()))).toList();
  }

  /** A random generator whose seed is printed; -Dmergedb.seed=N gives it again. */
  static Random random(String test) {
    String given = System.getProperty("mergedb.seed", "");
    long seed = given.isEmpty() ? System.nanoTime() : Long.parseLong(given);
    System.out.println(test + ": -Dmergedb.seed=" + seed);
    return new Random(seed);
  }
}
