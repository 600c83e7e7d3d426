package dev.mergedb;

import static dev.mergedb.Testing.bytes;
import static dev.mergedb.Testing.small;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A JVM that ends while databases are open and threads are inside ends as it was told to, and loses no write. */
class ExitTest {
  @TempDir Path folder;

  private static final class Reversed implements KeyComparator {
    @Override
    public String name() {
      return "test.reversed";
    }

    @Override
    public int compare(byte[] a, byte[] b) {
      return Arrays.compareUnsigned(b, a);
    }
  }

  /** Writes, reads and iterates in four threads on a plain database and on one with a comparator, and then exits. */
  static final class Busy {
    public static void main(String[] arguments) throws InterruptedException {
      Path folder = Path.of(arguments[0]);
      Database plain = Database.open(folder.resolve("plain"), small().listener(event -> {}).slowCallMicros(1));
      Database ordered =
          Database.open(folder.resolve("ordered"), small().comparator(new Reversed()).logger(line -> {}));
      CountDownLatch written = new CountDownLatch(4 * 2000);
      for (int id = 0; id < 4; ++id) {
        int thread = id;
        Thread writer =
            new Thread(
                () -> {
                  for (int i = 0; ; ++i) {
                    byte[] key = bytes("key " + thread + " " + i);
                    plain.put(key, new byte[300]);
                    ordered.put(key, new byte[300]);
                    written.countDown();
                    try (EntryIterator it = (i % 2 == 0 ? plain : ordered).iterator()) {
                      it.seek(key);
                      it.next();
                    }
                  }
                });
        writer.setDaemon(true);
        writer.start();
      }
      written.await();
      if (arguments[1].equals("exit")) {
        System.exit(7);
      }
      // else the main thread ends, and the virtual machine with it: the others are daemons
    }
  }

  @Test
  void amidCalls() throws Exception {
    for (String how : List.of("exit", "return", "exit")) {
      Path log = folder.resolve(how + ".log");
      Process child = Testing.jvm(log, List.of(), Busy.class, folder.toString(), how);
      String output = Testing.finish(child, log, how.equals("exit") ? 7 : 0);
      assertTrue(!output.contains("SIG"), output);
      try (Database plain = Database.open(folder.resolve("plain"), small().listener(event -> {}).slowCallMicros(1));
          Database ordered = Database.open(folder.resolve("ordered"), small().comparator(new Reversed()))) {
        plain.check();
        ordered.check();
        for (int thread = 0; thread < 4; ++thread) {
          assertEquals(300, plain.get(bytes("key " + thread + " 0")).length);
          assertEquals(300, ordered.get(bytes("key " + thread + " 0")).length);
        }
      }
    }
  }
}
