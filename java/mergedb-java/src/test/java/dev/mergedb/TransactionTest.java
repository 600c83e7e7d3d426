package dev.mergedb;

import static dev.mergedb.Testing.bytes;
import static dev.mergedb.Testing.fails;
import static dev.mergedb.Testing.small;
import static dev.mergedb.Testing.text;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.mergedb.MergedbException.Code;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Transactions, cursors and batches: each call. */
class TransactionTest {
  private static final TransactionOptions OPTIMISTIC =
      TransactionOptions.DEFAULT.kind(TransactionOptions.Kind.OPTIMISTIC);

  @TempDir Path folder;
  private Database db;

  @BeforeEach
  void open() {
    db = Database.open(folder.resolve("db"), small());
  }

  @AfterEach
  void close() {
    db.close();
  }

  @Test
  void commitAndRollback() {
    try (Transaction transaction = db.begin()) {
      transaction.put(bytes("a"), bytes("1"));
      assertEquals("1", text(transaction.get(bytes("a"))));
      assertNull(db.get(bytes("a")));
      assertEquals(1, transaction.writes());
      assertTrue(transaction.bytes() > 0);
      transaction.commit();
      fails(Code.ABORTED, () -> transaction.get(bytes("a")));
    }
    assertEquals("1", text(db.get(bytes("a"))));
    try (Transaction transaction =
             db.begin(TransactionOptions.DEFAULT.durability(Durability.SYNCED).name("second").bytesMax(1 << 20))) {
      assertTrue(db.property("mergedb.transactions").contains("second"));
      transaction.delete(bytes("a"));
      transaction.rollback();
    }
    try (Transaction transaction = db.begin()) {
      transaction.put(bytes("b"), bytes("left open"));
    }
    assertEquals("1", text(db.get(bytes("a"))));
    assertNull(db.get(bytes("b")));
  }

  @Test
  void everyWrite() {
    Keyspace users = db.createKeyspace("users");
    for (String key : new String[] {"a", "b", "c"}) {
      db.put(bytes(key), bytes("v"));
      db.put(WriteOptions.DEFAULT.in(users), bytes(key), bytes("v"));
    }
    try (Transaction transaction = db.begin(OPTIMISTIC)) {
      transaction.deleteRange(bytes("a"), bytes("c"));
      transaction.deleteRange(users, bytes("b"), bytes("d"));
      transaction.put(users, bytes("e"), bytes("5"));
      transaction.delete(users, bytes("a"));
      transaction.delete(bytes("c"));
      transaction.addU64(bytes("n"), 2);
      transaction.addU64(users, bytes("n"), 3);
      transaction.merge(bytes("n"), Merge.addU64(1));
      transaction.merge(users, bytes("n"), Merge.addU64(1));
      assertEquals("5", text(transaction.get(users, bytes("e"))));
      assertTrue(transaction.sequence() > 0);
      transaction.commit();
    }
    ReadOptions ofUsers = ReadOptions.DEFAULT.in(users);
    assertNull(db.get(bytes("a")));
    assertNull(db.get(bytes("c")));
    assertNull(db.get(ofUsers, bytes("a")));
    assertEquals(3, Merge.toU64(db.get(bytes("n"))));
    assertEquals(4, Merge.toU64(db.get(ofUsers, bytes("n"))));
  }

  @Test
  void conflicts() {
    Keyspace users = db.createKeyspace("users");
    try (Transaction transaction = db.begin(OPTIMISTIC)) {
      assertNull(transaction.get(users, bytes("k")));
      assertNull(transaction.conflict());
      transaction.put(bytes("l"), bytes("v"));
      db.put(WriteOptions.DEFAULT.in(users), bytes("k"), bytes("by another"));
      fails(Code.CONFLICT, transaction::commit);
      Conflict conflict = transaction.conflict();
      assertNotNull(conflict);
      assertEquals(users, conflict.keyspace());
      assertEquals("k", text(conflict.key()));
    }
    assertNull(db.get(bytes("l")));
  }

  @Test
  void savepoints() {
    try (Transaction transaction = db.begin()) {
      transaction.put(bytes("a"), bytes("1"));
      transaction.setSavepoint();
      transaction.put(bytes("b"), bytes("2"));
      transaction.rollbackToSavepoint();
      transaction.setSavepoint();
      transaction.put(bytes("c"), bytes("3"));
      transaction.releaseSavepoint();
      fails(Code.INVALID_ARGUMENT, transaction::rollbackToSavepoint);
      fails(Code.INVALID_ARGUMENT, transaction::releaseSavepoint);
      transaction.commit();
    }
    assertNull(db.get(bytes("b")));
    assertEquals("3", text(db.get(bytes("c"))));
  }

  @Test
  void readOnly() {
    db.put(bytes("k"), bytes("old"));
    try (Snapshot snapshot = db.snapshot()) {
      db.put(bytes("k"), bytes("new"));
      TransactionOptions options = TransactionOptions.DEFAULT.kind(TransactionOptions.Kind.READ_ONLY);
      try (Transaction then = db.begin(options.snapshot(snapshot)); Transaction now = db.begin(options)) {
        assertEquals("old", text(then.get(bytes("k"))));
        assertEquals("new", text(now.get(bytes("k"))));
        fails(Code.NOT_SUPPORTED, () -> now.put(bytes("k"), bytes("v")));
      }
    }
  }

  @Test
  void aSecondSingleWriterIsBusy() {
    try (Transaction transaction = db.begin()) {
      transaction.put(bytes("a"), bytes("1"));
      fails(Code.BUSY, () -> db.begin(TransactionOptions.DEFAULT.waitMicrosMax(1000)));
      fails(Code.BUSY, () -> db.put(bytes("b"), bytes("2")));
    }
    assertThrows(IllegalArgumentException.class, () -> TransactionOptions.DEFAULT.waitMicrosMax(-1));
  }

  @Test
  void bytesMaxIsALimit() {
    try (Transaction transaction = db.begin(OPTIMISTIC.bytesMax(10_000))) {
      fails(Code.NO_SPACE, () -> transaction.put(bytes("k"), new byte[20_000]));
      transaction.put(bytes("k"), bytes("small"));
      transaction.commit();
    }
    assertEquals("small", text(db.get(bytes("k"))));
  }

  @Test
  void keyspacesOfATransaction() {
    Keyspace old = db.createKeyspace("old");
    db.put(WriteOptions.DEFAULT.in(old), bytes("k"), bytes("v"));
    try (Transaction transaction = db.begin()) {
      Keyspace made = transaction.createKeyspace("made");
      assertEquals(made, transaction.keyspace("made"));
      assertEquals(made, transaction.findKeyspace("made"));
      assertNull(transaction.findKeyspace("none"));
      assertEquals(Map.of("made", made, "old", old), transaction.keyspaces());
      assertNull(db.findKeyspace("made"));
      transaction.put(made, bytes("k"), bytes("w"));
      transaction.clearKeyspace(old);
      assertNull(transaction.get(old, bytes("k")));
      transaction.dropKeyspace(old);
      transaction.commit();
    }
    assertNull(db.findKeyspace("old"));
    assertEquals("w", text(db.get(ReadOptions.DEFAULT.in(db.findKeyspace("made")), bytes("k"))));
  }

  @Test
  void cursors() {
    for (String key : new String[] {"a", "c", "e"}) {
      db.put(bytes(key), bytes("value of " + key));
    }
    try (Transaction transaction = db.begin(); Cursor cursor = transaction.cursor()) {
      fails(Code.NOT_FOUND, cursor::key);
      assertTrue(cursor.first());
      assertEquals("a", text(cursor.key()));
      assertEquals("value of a", text(cursor.value()));
      assertTrue(cursor.next());
      cursor.put(bytes("changed"));
      assertTrue(cursor.current());
      assertEquals("changed", text(cursor.value()));
      assertTrue(cursor.last());
      assertEquals("e", text(cursor.key()));
      assertTrue(cursor.prev());
      assertFalse(cursor.seek(bytes("d")));
      assertTrue(cursor.seek(bytes("c")));
      assertTrue(cursor.seekOrNext(bytes("d")));
      assertEquals("e", text(cursor.key()));
      assertTrue(cursor.seekOrPrev(bytes("d")));
      assertEquals("c", text(cursor.key()));
      cursor.delete();
      assertTrue(cursor.current());
      assertEquals("e", text(cursor.key()));
      assertFalse(cursor.next());
      transaction.commit();
      fails(Code.ABORTED, cursor::first);
    }
    assertNull(db.get(bytes("c")));
    Keyspace users = db.createKeyspace("users");
    db.put(WriteOptions.DEFAULT.in(users), bytes("u"), new byte[0]);
    try (Transaction transaction = db.begin(OPTIMISTIC); Cursor cursor = transaction.cursor(users)) {
      assertTrue(cursor.first());
      assertEquals("u", text(cursor.key()));
      assertEquals(0, cursor.value().length);
    }
  }

  @Test
  void batches() {
    Keyspace users = db.createKeyspace("users");
    ReadOptions ofUsers = ReadOptions.DEFAULT.in(users);
    try (WriteBatch batch = new WriteBatch(); WriteBatch other = new WriteBatch()) {
      batch.put(bytes("gone"), bytes("1"));
      batch.deleteRange(bytes("g"), bytes("h"));
      batch.put(users, bytes("a"), bytes("of users"));
      batch.put(bytes("a"), bytes("of default"));
      batch.delete(bytes("never"));
      batch.delete(users, bytes("never"));
      batch.deleteRange(users, bytes("x"), bytes("y"));
      batch.merge(bytes("n"), Merge.addU64(1));
      batch.merge(users, bytes("n"), Merge.addU64(2));
      batch.addU64(bytes("n"), 3);
      batch.addU64(users, bytes("n"), 4);
      assertEquals(11, batch.count());
      assertTrue(batch.bytes() > 11);
      other.put(users, bytes("b"), bytes("appended"));
      batch.append(other);
      batch.put(bytes("c"), bytes("after append"));
      assertNull(db.get(bytes("a")));
      db.write(batch);
      assertNull(db.get(bytes("gone")));
      assertEquals("of default", text(db.get(bytes("a"))));
      assertEquals("of users", text(db.get(ofUsers, bytes("a"))));
      assertEquals("appended", text(db.get(ofUsers, bytes("b"))));
      assertEquals("after append", text(db.get(bytes("c"))));
      assertNull(db.get(ofUsers, bytes("c")));
      assertEquals(4, Merge.toU64(db.get(bytes("n"))));
      assertEquals(6, Merge.toU64(db.get(ofUsers, bytes("n"))));
      fails(Code.INVALID_ARGUMENT, () -> db.write(WriteOptions.DEFAULT.in(users), batch));

      batch.clear();
      assertEquals(0, batch.count());
      batch.put(bytes("d"), bytes("after clear"));
      db.write(WriteOptions.SYNCED, batch);
      assertEquals("after clear", text(db.get(bytes("d"))));
      assertThrows(IllegalArgumentException.class, () -> batch.append(batch));
      batch.clear();
      batch.put(bytes("e"), bytes("refused"));
      batch.deleteRange(bytes("z"), bytes("a"));
      fails(Code.INVALID_ARGUMENT, () -> db.write(batch));
      assertNull(db.get(bytes("e")));
    }
  }
}
