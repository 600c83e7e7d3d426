package dev.mergedb;

import static dev.mergedb.Testing.WAIT_SECONDS;
import static dev.mergedb.Testing.bytes;
import static dev.mergedb.Testing.fails;
import static dev.mergedb.Testing.small;
import static dev.mergedb.Testing.text;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.mergedb.MergedbException.Code;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What virtual threads may do. Skipped where the JDK has none. */
class VirtualThreadTest {
  private static final TransactionOptions OPTIMISTIC =
      TransactionOptions.DEFAULT.kind(TransactionOptions.Kind.OPTIMISTIC);

  @TempDir Path folder;
  private Database db;

  @BeforeEach
  void open() {
    assumeTrue(Runtime.version().feature() >= 21, "this JDK has no virtual threads");
    db = Database.open(folder.resolve("db"), small());
  }

  @AfterEach
  void close() {
    if (db != null) {
      db.close();
    }
  }

  /** Virtual threads share the threads of the operating system, by one of which the engine knows a single writer. */
  @Test
  void aVirtualThreadIsNoSingleWriter() throws Exception {
    CompletableFuture<String> done = new CompletableFuture<>();
    Runnable body =
        () -> {
          MergedbException e = fails(Code.NOT_SUPPORTED, db::begin);
          assertTrue(e.getMessage().contains("virtual thread"), e::getMessage);
          try (Transaction transaction = db.begin(OPTIMISTIC)) {
            transaction.put(bytes("a"), bytes("1"));
            transaction.commit();
          }
          db.put(bytes("b"), transactionOfAPlatformThread());
          done.complete(text(db.get(bytes("a"))));
        };
    Thread.class
        .getMethod("startVirtualThread", Runnable.class)
        .invoke(null, (Runnable) () -> {
          try {
            body.run();
          } catch (Throwable e) {
            done.completeExceptionally(e);
          }
        });
    assertEquals("1", done.get(WAIT_SECONDS, TimeUnit.SECONDS));
    assertEquals("2", text(db.get(bytes("b"))));
  }

  private byte[] transactionOfAPlatformThread() {
    return CompletableFuture.supplyAsync(
            () -> {
              try (Transaction transaction = db.begin()) {
                transaction.put(bytes("c"), bytes("2"));
                transaction.commit();
              }
              return db.get(bytes("c"));
            },
            run -> new Thread(run).start())
        .join();
  }
}
