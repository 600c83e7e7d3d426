package dev.mergedb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.function.Executable;

/** What the tests share. */
final class Testing {
  static final long WAIT_SECONDS = 120;

  private Testing() {}

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static String text(byte[] bytes) {
    return bytes == null ? null : new String(bytes, StandardCharsets.UTF_8);
  }

  static ByteBuffer direct(String text) {
    byte[] bytes = bytes(text);
    return ByteBuffer.allocateDirect(bytes.length).put(bytes).flip();
  }

  /** Small: many of them fit a test machine. */
  static Options small() {
    return new Options().memoryBytes(16 << 20).writeBufferBytes(1 << 20);
  }

  static MergedbException fails(MergedbException.Code code, Executable call) {
    MergedbException e = assertThrows(MergedbException.class, call);
    assertEquals(code, e.code(), e::toString);
    assertTrue(e.getMessage() != null && !e.getMessage().isEmpty(), "every error has a message");
    return e;
  }

  static void isNull(String name, Executable call) {
    NullPointerException e = assertThrows(NullPointerException.class, call);
    assertEquals(name, e.getMessage());
  }

  /** The seed of a random test: from -Dmergedb.seed, else of the clock. A failure names it. */
  static long seed() {
    String given = System.getProperty("mergedb.seed", "");
    long seed = given.isEmpty() ? System.nanoTime() : Long.parseLong(given);
    System.out.println("seed " + seed + ": -Dmergedb.seed=" + seed + " runs it again");
    return seed;
  }

  static List<String> keys(EntryIterator it) {
    List<String> result = new ArrayList<>();
    for (boolean there = it.seekToFirst(); there; there = it.next()) {
      result.add(text(it.key()));
    }
    return result;
  }

  /** A JVM of its own with this class path, which runs `main`. Output goes to `log`. */
  static Process jvm(Path log, List<String> jvmArguments, Class<?> main, String... arguments) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-CreateCoredumpOnCrash"));
    command.add("-XX:ErrorFile=" + log + ".hs_err");
    String library = System.getProperty(Library.PATH_PROPERTY);
    if (library != null) {
      command.add("-D" + Library.PATH_PROPERTY + "=" + library);
    }
    command.addAll(jvmArguments);
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
    command.addAll(List.of(arguments));
    return new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
  }

  /** Waits for the end of a child and returns its output; it must have ended with this code. */
  static String finish(Process child, Path log, int expected) throws IOException, InterruptedException {
    boolean ended = child.waitFor(WAIT_SECONDS, TimeUnit.SECONDS);
    if (!ended) {
      child.destroyForcibly();
    }
    String output = Files.readString(log);
    assertTrue(ended, "the child did not end: " + output);
    assertEquals(expected, child.exitValue(), output);
    return output;
  }
}
