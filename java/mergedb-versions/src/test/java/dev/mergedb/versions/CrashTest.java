package dev.mergedb.versions;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.mergedb.Database;
import dev.mergedb.Options;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A child JVM writes and is killed with SIGKILL. It gives each key generation after generation of three concurrent versions, by one call each,
 * and prints the call when it has returned. Afterwards a key must have the three versions of one generation, and that must be the last one that
 * was printed or a later one.
 */
class CrashTest {
  private static final int KEYS = 40;
  private static final int SIBLINGS = 3;
  private static final int WRITERS = 2;
  private static final int ROUNDS = 3;
  private static final Options OPTIONS = new Options().memoryBytes(8 << 20);

  @TempDir Path directory;

  private static byte[] key(int number) {
    return ByteBuffer.allocate(4).putInt(number).array();
  }

  /** Supersedes every version of the generation before; the three are concurrent to each other. */
  private static List<Versioned> generation(int number, long generation) {
    List<Versioned> versions = new ArrayList<>();
    for (int i = 0; i < SIBLINGS; ++i) {
      long[] entries = new long[2 * SIBLINGS];
      for (int node = 0; node < SIBLINGS; ++node) {
        entries[2 * node] = node;
        entries[2 * node + 1] = 2 * generation + (node == i ? 1 : 0);
      }
      // Sizes on both sides of the size from which on mergedb separates values.
      byte[] value = new byte[(int) ((number * 97 + generation * 131 + i * 57) % 1500) + 9];
      ByteBuffer.wrap(value).put((byte) i).putLong(generation);
      versions.add(new Versioned(value, Fixtures.clock(entries)));
    }
    return versions;
  }

  private static VersionedStore open(Database database) {
    return VersionedStore.open(database, database.keyspace("store"), new StoreOptions().partitioner(key -> key[3] & 3));
  }

  /** The generation of a key, 0 if it is not there; fails if the versions are not exactly those of one generation. */
  private static long check(VersionedStore store, int number) {
    List<Versioned> found = store.get(key(number));
    if (found.isEmpty()) {
      return 0;
    }
    long generation = ByteBuffer.wrap(found.get(0).value()).getLong(1);
    assertEquals(Fixtures.sorted(generation(number, generation)), Fixtures.sorted(found), "key " + number);
    return generation;
  }

  @Test
  @Timeout(value = 600, unit = TimeUnit.SECONDS)
  void noAcknowledgedVersionIsLostAndNoKeyIsHalf() throws Exception {
    Random random = Fixtures.random("CrashTest");
    long[] acknowledged = new long[KEYS];
    Path path = directory.resolve("db");
    for (int round = 0; round < ROUNDS; ++round) {
      int calls = runAndKill(path, 200 + random.nextInt(3_000), acknowledged);
      try (Database database = Database.open(path, OPTIONS); VersionedStore store = open(database)) {
        for (int number = 0; number < KEYS; ++number) {
          long found = check(store, number);
          assertTrue(
              found >= acknowledged[number],
              "round " + round + ", after " + calls + " calls: key " + number + " has generation " + found + ", acknowledged: " + acknowledged[number]);
          acknowledged[number] = found;
        }
        int entries = 0;
        try (Scan<Entry> scan = store.entries()) {
          for (; scan.hasNext(); scan.next()) {
            ++entries;
          }
        }
        assertEquals(KEYS * SIBLINGS, entries);
        database.check();
      }
    }
  }

  /** Returns how many calls were acknowledged; notes the generation of each. */
  private int runAndKill(Path path, int calls, long[] acknowledged) throws Exception {
    List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx128m"));
    command.add("-Dmergedb.library.path=" + System.getProperty("mergedb.library.path", ""));
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), CrashTest.class.getName(), path.toString()));
    Path errors = directory.resolve("errors");
    Process child = new ProcessBuilder(command).redirectError(errors.toFile()).start();
    int seen = 0;
    try (BufferedReader lines = new BufferedReader(new InputStreamReader(child.getInputStream(), StandardCharsets.US_ASCII))) {
      for (String line = lines.readLine(); line != null && line.endsWith("."); line = lines.readLine()) {
        String[] words = line.split("[ .]");
        int number = Integer.parseInt(words[0]);
        acknowledged[number] = Math.max(acknowledged[number], Long.parseLong(words[1]));
        if (++seen == calls) {
          child.toHandle().destroyForcibly();  // Process.destroyForcibly closes the stream, with what the child printed before
        }
      }
    } finally {
      child.destroyForcibly();
    }
    int status = child.waitFor();
    assertTrue(seen >= calls, "the child ended with status " + status + " after " + seen + " calls: " + Files.readString(errors));
    assertEquals(128 + 9, status, Files.readString(errors));
    return seen;
  }

  /** The child: writes until it is killed. */
  public static void main(String[] arguments) throws Exception {
    PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.US_ASCII);
    try (Database database = Database.open(Path.of(arguments[0]), OPTIONS); VersionedStore store = open(database)) {
      List<Thread> writers = new ArrayList<>();
      for (int i = 0; i < WRITERS; ++i) {
        int first = i;
        writers.add(new Thread(() -> write(store, first, out)));
      }
      writers.forEach(Thread::start);
      for (Thread writer : writers) {
        writer.join();
      }
    }
  }

  private static void write(VersionedStore store, int first, PrintStream out) {
    long[] generations = new long[KEYS];
    for (int number = first; number < KEYS; number += WRITERS) {
      generations[number] = check(store, number);
    }
    while (true) {
      for (int number = first; number < KEYS; number += WRITERS) {
        store.multiVersionPut(key(number), generation(number, ++generations[number]));
        synchronized (out) {
          out.print(number + " " + generations[number] + ".\n");
          out.flush();
        }
      }
    }
  }
}
