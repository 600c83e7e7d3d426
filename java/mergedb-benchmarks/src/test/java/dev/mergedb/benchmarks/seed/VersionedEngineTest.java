package dev.mergedb.benchmarks.seed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.mergedb.versions.VectorClock;
import dev.mergedb.versions.Versioned;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The engines of the scenarios have the same version logic, and the scenario reads back what it wrote. */
class VersionedEngineTest {
  @TempDir Path folder;

  private static Versioned version(String text, long... counts) {
    TreeMap<Short, Long> entries = new TreeMap<>();
    for (short node = 0; node < counts.length; ++node) {
      if (counts[node] > 0) {
        entries.put(node, counts[node]);
      }
    }
    return new Versioned(text.getBytes(), VectorClock.of(entries, 1));
  }

  private static Set<String> texts(VersionedEngine engine, byte[] key) throws Exception {
    return engine.get(key).stream().map(each -> new String(each.value())).collect(Collectors.toSet());
  }

  @ParameterizedTest
  @ValueSource(strings = {"mergedb", "bdb", "rocksdb"})
  void refusesObsoleteKeepsConcurrentReplacesSuperseded(String name) throws Exception {
    byte[] key = SeedScenario.key(1);
    try (VersionedEngine engine = VersionedEngine.open(name, folder.resolve("db"), 8 << 20)) {
      assertEquals(Set.of(), texts(engine, key));
      assertTrue(engine.put(key, version("a", 1)));
      assertFalse(engine.put(key, version("the same", 1)));
      assertTrue(engine.put(key, version("b", 0, 1)));
      assertEquals(Set.of("a", "b"), texts(engine, key));
      assertTrue(engine.put(key, version("a2", 2)));
      assertEquals(Set.of("a2", "b"), texts(engine, key));
      engine.update(key, "all".getBytes(), 2);
      assertEquals(Set.of("all"), texts(engine, key));
    }
    try (VersionedEngine engine = VersionedEngine.open(name, folder.resolve("db"), 8 << 20)) {
      assertEquals(Set.of("all"), texts(engine, key));
      assertFalse(engine.put(key, version("old", 2)));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"mergedb", "bdb", "rocksdb"})
  void theScenarioRuns(String name) throws Exception {
    try (VersionedEngine engine = VersionedEngine.open(name, folder.resolve("db"), 8 << 20)) {
      SeedScenario scenario = new SeedScenario(engine, 1000, 1024, 4);
      assertTrue(scenario.load() > 0);
      assertTrue(scenario.read(1000) > 0);
    }
  }
}
