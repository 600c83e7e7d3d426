package dev.mergedb;

import static dev.mergedb.Testing.bytes;
import static dev.mergedb.Testing.direct;
import static dev.mergedb.Testing.small;
import static dev.mergedb.Testing.text;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Direct buffers of memory with an owner and an end: an Arena since JDK 22, a ResourceScope of JDK 17's incubator. */
class ArenaTest {
  private static final int JDK = Runtime.version().feature();

  @TempDir Path folder;

  @Test
  void memoryThatIsClosedOrOfAnotherThreadIsRefused() throws Exception {
    assumeTrue(JDK == 17 || JDK >= 22, "this JDK has neither");
    Path log = folder.resolve("log");
    List<String> arguments = JDK == 17 ? List.of("--add-modules", "jdk.incubator.foreign") : List.of();
    Process child = Testing.jvm(log, arguments, Child.class, folder.resolve("db").toString());
    assertTrue(Testing.finish(child, log, 0).contains("refused all"));
  }

  /** Memory of one thread until close, by reflection: the tests compile for JDK 17. */
  private record Memory(Object owner, Class<?> ownerType, ByteBuffer buffer) {
    static Memory of(int size) throws ReflectiveOperationException {
      String types = JDK == 17 ? "jdk.incubator.foreign." : "java.lang.foreign.";
      Class<?> segments = Class.forName(types + "MemorySegment");
      Method asByteBuffer = segments.getMethod("asByteBuffer");
      if (JDK == 17) {
        Class<?> scopes = Class.forName(types + "ResourceScope");
        Object scope = scopes.getMethod("newConfinedScope").invoke(null);
        Object segment = segments.getMethod("allocateNative", long.class, scopes).invoke(null, size, scope);
        return new Memory(scope, scopes, (ByteBuffer) asByteBuffer.invoke(segment));
      }
      Class<?> arenas = Class.forName(types + "Arena");
      Object arena = arenas.getMethod("ofConfined").invoke(null);
      Object segment = arenas.getMethod("allocate", long.class).invoke(arena, (long) size);
      return new Memory(arena, arenas, (ByteBuffer) asByteBuffer.invoke(segment));
    }

    void close() throws ReflectiveOperationException {
      ownerType.getMethod("close").invoke(owner);
    }
  }

  static final class Child {
    private Child() {}

    public static void main(String[] arguments) throws Throwable {
      WriteOptions w = WriteOptions.DEFAULT;
      ReadOptions r = ReadOptions.DEFAULT;
      try (Database db = Database.open(Path.of(arguments[0]), small())) {
        Memory memory = Memory.of(8);
        ByteBuffer buffer = memory.buffer();
        buffer.put(bytes("12345678")).flip();
        List<Executable> calls =
            List.of(
                () -> db.put(w, buffer, direct("v")),
                () -> db.put(w, direct("k"), buffer),
                () -> db.get(r, buffer, direct("v")),
                () -> db.get(r, direct("k"), buffer.duplicate()),
                () -> db.delete(w, buffer));
        for (Executable call : calls) {
          call.execute();
        }
        assertEquals("12345678", text(db.get(bytes("k"))));
        assertEquals(null, db.get(bytes("12345678")));

        for (Executable call : calls) {
          RuntimeException e =
              CompletableFuture.supplyAsync(() -> assertThrows(RuntimeException.class, call)).join();
          assertFalse(e instanceof MergedbException, e::toString);
        }
        memory.close();
        for (Executable call : calls) {
          assertThrows(IllegalStateException.class, call);
        }
        assertEquals(null, db.get(bytes("12345678")));
        ByteBuffer nothing = buffer.slice(0, 0);
        db.put(w, direct("empty"), nothing);
        assertEquals(0, db.get(bytes("empty")).length);
      }
      System.out.println("refused all");
    }
  }
}
