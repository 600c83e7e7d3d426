package dev.mergedb;

import static dev.mergedb.Testing.WAIT_SECONDS;
import static dev.mergedb.Testing.bytes;
import static dev.mergedb.Testing.fails;
import static dev.mergedb.Testing.small;
import static dev.mergedb.Testing.text;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is never closed is closed once it is unreachable: children first. */
class LeakTest {
  private static final TransactionOptions OPTIMISTIC =
      TransactionOptions.DEFAULT.kind(TransactionOptions.Kind.OPTIMISTIC);

  @TempDir Path folder;

  private static void collectUntil(BooleanSupplier done, String what) throws InterruptedException {
    long end = System.nanoTime() + WAIT_SECONDS * 1_000_000_000;
    while (!done.getAsBoolean()) {
      assertTrue(System.nanoTime() < end, what);
      System.gc();
      Thread.sleep(20);
    }
  }

  private static boolean isFree(Path directory) {
    try (Database db = Database.open(directory, small())) {
      return db.get(bytes("k")) != null;
    } catch (MergedbException e) {
      assertEquals(MergedbException.Code.BUSY, e.code());
      return false;
    }
  }

  /** Everything that a program can forget, in a frame of its own. */
  private void leakAll(Path directory) {
    Database db = Database.open(directory, small());
    db.put(bytes("k"), bytes("v"));
    db.snapshot();
    EntryIterator it = db.iterator();
    it.seekToFirst();
    new WriteBatch().put(bytes("a"), bytes("b"));
    db.begin(OPTIMISTIC).cursor().first();
    db.begin().put(bytes("never"), bytes("committed"));
  }

  @Test
  void aDatabaseThatIsNeverClosed() throws InterruptedException {
    Path directory = folder.resolve("db");
    leakAll(directory);
    collectUntil(() -> isFree(directory), "the leaked database is closed, with all that was open in it");
    try (Database db = Database.open(directory, small())) {
      assertEquals("v", text(db.get(bytes("k"))));
      assertEquals(null, db.get(bytes("never")));
    }
  }

  /** A database is not closed while something of it is in use, though nobody holds the Database itself. */
  private static EntryIterator iteratorOfALostDatabase(Path directory) {
    Database db = Database.open(directory, small());
    for (int i = 0; i < 1000; ++i) {
      db.put(bytes("key" + (1000 + i)), new byte[200]);
    }
    EntryIterator it = db.iterator();
    it.seekToFirst();
    return it;
  }

  @Test
  void childrenKeepTheirDatabase() throws InterruptedException {
    EntryIterator it = iteratorOfALostDatabase(folder.resolve("db"));
    int count = 1;
    for (; it.next(); ++count) {
      if (count % 100 == 0) {
        System.gc();
        Thread.sleep(5);
      }
    }
    assertEquals(1000, count);
    it.close();
  }

  /** Leaked single writers would make every write wait. */
  @Test
  void leakedChildrenOfAnOpenDatabase() throws InterruptedException {
    try (Database db = Database.open(folder.resolve("db"), small())) {
      for (int i = 0; i < 100; ++i) {
        db.put(bytes("k"), bytes("v" + i));
        leakChildren(db);
        if (i % 10 == 9) {
          TransactionOptions soon = TransactionOptions.DEFAULT.waitMicrosMax(1000);
          collectUntil(() -> begins(db, soon), "the leaked single writer is closed");
        }
      }
      assertEquals("v99", text(db.get(bytes("k"))));
    }
  }

  private static void leakChildren(Database db) {
    db.snapshot();
    db.iterator().seekToFirst();
    new WriteBatch().clear();
    if (db.get(bytes("k")).length == 2 && text(db.get(bytes("k"))).endsWith("9")) {
      db.begin().setSavepoint();
    }
  }

  private static boolean begins(Database db, TransactionOptions options) {
    try (Transaction transaction = db.begin(options)) {
      transaction.put(bytes("other"), bytes("v"));
      return true;
    } catch (MergedbException e) {
      assertEquals(MergedbException.Code.BUSY, e.code());
      return false;
    }
  }

  private static void leakCursors(Transaction transaction, int count) {
    for (int i = 0; i < count; ++i) {
      transaction.cursor().first();
    }
  }

  /** No call of a transaction meets the Cleaner inside. */
  @Test
  void leakedCursorsLeaveTheirTransactionAlone() {
    try (Database db = Database.open(folder.resolve("db"), small())) {
      db.put(bytes("k"), bytes("v"));
      for (int i = 0; i < 30; ++i) {
        try (Transaction transaction = db.begin(OPTIMISTIC)) {
          leakCursors(transaction, 3000);
          System.gc();
          for (int j = 0; j < 3000; ++j) {
            transaction.put(bytes("k"), bytes("v" + i));
          }
          transaction.commit();
        }
        assertEquals("v" + i, text(db.get(bytes("k"))));
      }
    }
  }

  /** A transaction whose commit takes long does not keep the Cleaner from closing other things. */
  @Test
  void aLeakedCursorOfACommitThatWaits() throws Exception {
    Path other = folder.resolve("other");
    Database db = Database.open(folder.resolve("db"), small());
    db.put(bytes("k"), bytes("v"));
    Transaction transaction = db.begin(OPTIMISTIC);
    leakCursors(transaction, 10);
    transaction.put(bytes("k"), bytes("w"));
    Transaction writer = db.begin();
    CompletableFuture<Void> commit = CompletableFuture.runAsync(transaction::commit, run -> new Thread(run).start());
    try {
      Thread.sleep(200); // the commit waits for the single writer
      System.gc();
      Thread.sleep(200); // the Cleaner has found the cursors
      leakAll(other);
      collectUntil(() -> isFree(other), "the leaked database is closed while the commit waits");
    } finally {
      writer.close();
    }
    commit.get(WAIT_SECONDS, TimeUnit.SECONDS);
    transaction.close();
    assertEquals("w", text(db.get(bytes("k"))));
    db.close();
  }

  /** Whoever comes last closes what the Cleaner left to the transaction. */
  @Test
  void cursorsOfAClosedTransaction() throws Exception {
    Path directory = folder.resolve("db");
    Object owner = new Object();
    long number = Native.open(directory.toString().getBytes(), new Options().lines(), null, null);
    Handle database = Handle.create(owner, Handle.DATABASE, number, null);
    int optimistic = TransactionOptions.Kind.OPTIMISTIC.ordinal();
    for (boolean isClosedFirst : new boolean[] {false, true}) {
      long begun = Native.transactionBegin(number, optimistic, 0, 0, 0, 0, null);
      Handle transaction = Handle.create(owner, Handle.TRANSACTION, begun, database);
      Handle cursor = Handle.create(owner, Handle.CURSOR, Native.cursorOpen(transaction.number, 0), transaction);
      if (isClosedFirst) {
        transaction.close();
        cursor.run();
      } else {
        cursor.run();
        assertTrue(!cursor.isClosed(), "the transaction closes it");
        transaction.close();
      }
      assertTrue(transaction.isClosed() && cursor.isClosed());
      fails(MergedbException.Code.CLOSED, () -> Native.cursorDelete(cursor.number));
    }
    database.close();
    java.lang.ref.Reference.reachabilityFence(owner);
  }

  /** The Cleaner may find a child after its parent: the parent waits. */
  @Test
  void theOrderIsRight() throws Exception {
    Path directory = folder.resolve("db");
    Object first = new Object();
    Object second = new Object();
    Database db = Database.open(directory, small());
    var field = Database.class.getDeclaredField("number");
    field.setAccessible(true);
    db.put(bytes("k"), bytes("v"));
    // Two handles as of a database and of its snapshot, released in the wrong order.
    Path other = folder.resolve("other");
    long number = Native.open(other.toString().getBytes(), new Options().lines(), null, null);
    Handle parent = Handle.create(first, Handle.DATABASE, number, null);
    Handle child = Handle.create(second, Handle.SNAPSHOT, Native.snapshotCreate(number), parent);
    parent.run();
    assertTrue(!parent.isClosed() && !child.isClosed());
    Native.put(number, 0, 0, bytes("k"), bytes("still open"));
    child.run();
    assertTrue(parent.isClosed() && child.isClosed());
    try (Database again = Database.open(other, small())) {
      assertEquals("still open", text(again.get(bytes("k"))));
    }
    db.close();
    java.lang.ref.Reference.reachabilityFence(first);
    java.lang.ref.Reference.reachabilityFence(second);
  }
}
