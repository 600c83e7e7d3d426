package dev.mergedb.benchmarks;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Every store does what the benchmarks take it to do. */
class EngineTest {
  @TempDir Path folder;

  @ParameterizedTest
  @ValueSource(strings = {"mergedb", "rocksdbjni", "leveldbjni"})
  void everyCall(String name) throws Exception {
    byte[] value = Workload.value();
    try (Engine engine = Engine.open(name, folder.resolve("db"))) {
      for (int i = 0; i < 100; ++i) {
        engine.put(Workload.key(i), value);
      }
      engine.compact();
      assertArrayEquals(value, engine.get(Workload.key(7)));
      assertNull(engine.get(Workload.key(100)));
      assertEquals(100 * 116, engine.scan());
      if (name.equals("leveldbjni")) {
        assertThrows(UnsupportedOperationException.class, () -> engine.add(Workload.key(1), 1));
        return;
      }
      ByteBuffer key = ByteBuffer.allocateDirect(16).put(Workload.key(200)).flip();
      engine.put(key.duplicate(), ByteBuffer.allocateDirect(100).put(value).flip());
      ByteBuffer found = ByteBuffer.allocateDirect(100);
      assertEquals(100, engine.get(key, found));
      List<byte[]> several = engine.multiGet(List.of(Workload.key(1), Workload.key(300), Workload.key(200)));
      assertArrayEquals(value, several.get(0));
      assertNull(several.get(1));
      assertArrayEquals(value, several.get(2));
      engine.add(Workload.key(400), 40);
      engine.add(Workload.key(400), 2);
      assertEquals(42, ByteBuffer.wrap(engine.get(Workload.key(400))).order(ByteOrder.LITTLE_ENDIAN).getLong());
    }
  }

  @Test
  void keysAreDifferentAndOf16Bytes() {
    assertEquals(16, Workload.key(0).length);
    assertEquals(1000, java.util.Arrays.stream(Workload.keys(0, 1000)).map(String::new).distinct().count());
  }
}
