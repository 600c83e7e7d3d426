package dev.mergedb;

import static dev.mergedb.Testing.bytes;
import static dev.mergedb.Testing.small;
import static dev.mergedb.Testing.text;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A JVM that is killed with -9 loses no write that it acknowledged, and has no batch by halves. */
class CrashTest {
  @TempDir Path folder;

  /** Writes forever; prints the number of each write once it has returned. */
  static final class Writer {
    public static void main(String[] arguments) {
      PrintStream out = System.out;
      Database db = Database.open(Path.of(arguments[0]), small());
      WriteBatch batch = new WriteBatch();
      for (int i = Integer.parseInt(arguments[1]); ; ++i) {
        if (i % 3 == 0) {
          batch.clear();
          batch.put(bytes("first" + i), bytes("of " + i));
          batch.put(bytes("second" + i), bytes("of " + i));
          db.write(batch);
        } else {
          db.put(bytes("key" + i), bytes("value " + i));
        }
        db.addU64(bytes("count"), 1);
        out.println(i);
        out.flush();
      }
    }
  }

  @Test
  void killed() throws Exception {
    Path directory = folder.resolve("db");
    int next = 0;
    for (int round = 0; round < 3; ++round) {
      List<String> command =
          new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx128m"));
      String library = System.getProperty(Library.PATH_PROPERTY);
      if (library != null) {
        command.add("-D" + Library.PATH_PROPERTY + "=" + library);
      }
      command.addAll(List.of(
          "-cp", System.getProperty("java.class.path"), Writer.class.getName(), directory.toString(), "" + next));
      Process child = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
      int acknowledged = -1;
      try (BufferedReader lines = child.inputReader()) {
        int first = next;
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
          acknowledged = Integer.parseInt(line);
          if (acknowledged == first + 2000 + 500 * round) {
            child.toHandle().destroyForcibly(); // SIGKILL; what the pipe still holds was acknowledged as well
          }
        }
      }
      assertTrue(child.waitFor(Testing.WAIT_SECONDS, TimeUnit.SECONDS));
      assertEquals(128 + 9, child.exitValue());
      try (Database db = Database.open(directory, small())) {
        for (int i = 0; i <= acknowledged; ++i) {
          if (i % 3 == 0) {
            assertEquals("of " + i, text(db.get(bytes("first" + i))), "round " + round);
            assertEquals("of " + i, text(db.get(bytes("second" + i))), "round " + round);
          } else {
            assertEquals("value " + i, text(db.get(bytes("key" + i))), "round " + round);
          }
        }
        for (int i = acknowledged + 1; i < acknowledged + 10; ++i) {
          assertEquals(
              db.get(bytes("first" + i)) == null, db.get(bytes("second" + i)) == null, "a batch is whole or not there");
        }
        assertTrue(Merge.toU64(db.get(bytes("count"))) >= acknowledged + 1 - round, "round " + round);
        db.check();
      }
      next = acknowledged + 1;
    }
  }
}
