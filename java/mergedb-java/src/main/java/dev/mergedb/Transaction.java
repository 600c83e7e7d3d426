package dev.mergedb;

import java.lang.ref.Reference;
import java.util.Map;
import java.util.Objects;

/**
 * Reads as of one moment, with its own writes among them, and then all of its writes at once or none. {@link #close}
 * rolls back what was not committed.
 *
 * <p>A transaction and its cursors are for one thread at a time: a call that finds another thread inside throws BUSY.
 * It may go from one thread to another between calls. {@link #close} waits for a call of another thread. After close
 * every call throws CLOSED, after commit or rollback ABORTED, after the close of the database SHUTTING_DOWN.
 * NO_SPACE: {@link TransactionOptions#bytesMax} would be exceeded.
 *
 * <p>Every other write to the database waits for an open single writer, and {@link Database#close} waits for writes
 * that wait. A write outside of the transaction by the thread that began it is BUSY. A virtual thread cannot begin a
 * single writer (NOT_SUPPORTED), and must not be the one that ends it: virtual threads that wait for a single writer
 * keep their carrier threads, and no carrier may be left. Transactions of the other kinds are for virtual threads too.
 *
 * <p>{@link #close} of a transaction that another thread is committing waits for that commit, and the commit waits for
 * an open single writer: the thread of the single writer must end its own transaction first.
 */
public final class Transaction extends KeyspaceWriter implements AutoCloseable {
  final Database database;
  final Guard guard = new Guard("Transaction");
  private final Handle handle;

  Transaction(Database database, Handle parent, long number) {
    this.database = database;
    this.handle = Handle.create(this, Handle.TRANSACTION, number, parent);
  }

  /** Each enter() is followed by a leave(). */
  void enter() {
    guard.enter();
    try {
      handle.closeLost();
    } catch (Throwable e) {
      guard.leave();
      throw e;
    }
  }

  private void leave() {
    guard.leave();
    Reference.reachabilityFence(this);
  }

  private int id(Keyspace keyspace) {
    return Objects.requireNonNull(keyspace, "keyspace").idIn(database.identity);
  }

  private byte[] read(int keyspace, byte[] key) {
    enter();
    try {
      byte[] value = Native.transactionGet(handle.number, keyspace, key);
      database.checkComparator();
      return value;
    } finally {
      leave();
    }
  }

  @Override
  void change(Keyspace keyspace, int kind, byte[] key, byte[] value) {
    int id = id(keyspace);
    if (kind == Native.DELETE_RANGE) {
      database.requireNoComparator();
    }
    enter();
    try {
      Native.transactionChange(handle.number, id, kind, key, value);
      database.checkComparator();
    } finally {
      leave();
    }
  }

  @Override
  void apply(Keyspace keyspace, byte[] key, Merge operand) {
    int id = id(keyspace);
    enter();
    try {
      Native.transactionMerge(
          handle.number, id, key,
          operand.type, operand.keep, operand.u64, operand.i64, operand.f64, operand.capBytes, operand.bytes,
          operand.delimiter, operand.name);
      database.checkComparator();
    } finally {
      leave();
    }
  }

  private void act(int what) {
    enter();
    try {
      Native.transactionDo(handle.number, what);
      database.checkComparator();
    } finally {
      leave();
    }
  }

  /**
   * Reads a key of the default keyspace.
   *
   * @param key the key
   * @return the value, or null: not there
   */
  public byte[] get(byte[] key) {
    return read(0, Limits.key(key));
  }

  /**
   * Reads a key.
   *
   * @param keyspace the keyspace
   * @param key the key
   * @return the value, or null: not there
   */
  public byte[] get(Keyspace keyspace, byte[] key) {
    return read(id(keyspace), Limits.key(key));
  }

  /**
   * Writes everything at once, or nothing. Ends the transaction, whatever happens.
   *
   * @throws MergedbException CONFLICT: nothing was written; {@link #conflict} names the key. Other codes as of {@link
   *     Database#write}
   */
  public void commit() {
    act(Native.COMMIT);
  }

  /** Ends the transaction and writes nothing. */
  public void rollback() {
    act(Native.ROLLBACK);
  }

  /** Remembers this place, to go back to. Savepoints are a stack. */
  public void setSavepoint() {
    act(Native.SET_SAVEPOINT);
  }

  /**
   * Takes back what was written since the last savepoint, and removes the savepoint.
   *
   * @throws MergedbException INVALID_ARGUMENT: the transaction has no savepoint
   */
  public void rollbackToSavepoint() {
    act(Native.ROLLBACK_TO_SAVEPOINT);
  }

  /**
   * Removes the last savepoint and keeps what was written since.
   *
   * @throws MergedbException INVALID_ARGUMENT: the transaction has no savepoint
   */
  public void releaseSavepoint() {
    act(Native.RELEASE_SAVEPOINT);
  }

  /**
   * Why the commit was refused.
   *
   * @return the key that was written by others; null: there was no conflict, or the writes since the transaction
   *     began are no longer remembered
   */
  public Conflict conflict() {
    enter();
    try {
      int[] keyspace = new int[1];
      byte[] key = Native.transactionConflict(handle.number, keyspace);
      return key == null ? null : new Conflict(Keyspace.of(database.identity, keyspace[0]), key);
    } finally {
      leave();
    }
  }

  private long size(int which) {
    enter();
    try {
      return Native.transactionSize(handle.number, which);
    } finally {
      leave();
    }
  }

  /**
   * The sequence number that it reads as of.
   *
   * @return the number
   */
  public long sequence() {
    return size(0);
  }

  /**
   * How many writes it holds.
   *
   * @return the number
   */
  public long writes() {
    return size(1);
  }

  /**
   * How many bytes count against {@link TransactionOptions#bytesMax}.
   *
   * @return the bytes
   */
  public long bytes() {
    return size(2);
  }

  /**
   * A cursor over the default keyspace. To be closed.
   *
   * @return the cursor
   */
  public Cursor cursor() {
    return cursor(Keyspace.DEFAULT);
  }

  /**
   * A cursor over a keyspace. To be closed.
   *
   * @param keyspace the keyspace
   * @return the cursor
   */
  public Cursor cursor(Keyspace keyspace) {
    int id = id(keyspace);
    enter();
    try {
      return new Cursor(this, handle, Native.cursorOpen(handle.number, id));
    } finally {
      leave();
    }
  }

  private Keyspace open(String name, boolean create, boolean mayExist) {
    byte[] encoded = Limits.utf8(name, "name");
    enter();
    try {
      long id = Native.keyspaceOpen(handle.number, true, encoded, create, mayExist);
      return id < 0 ? null : Keyspace.of(database.identity, (int) id);
    } finally {
      leave();
    }
  }

  /**
   * Creates a keyspace as part of the transaction.
   *
   * @param name 1 to 1,024 bytes in UTF-8
   * @return the keyspace
   * @throws MergedbException INVALID_ARGUMENT: there is one of this name. NOT_SUPPORTED: the first keyspace of a
   *     database in an optimistic transaction
   */
  public Keyspace createKeyspace(String name) {
    return open(name, true, false);
  }

  /**
   * The keyspace of this name; it is created if it does not exist.
   *
   * @param name 1 to 1,024 bytes in UTF-8
   * @return the keyspace
   */
  public Keyspace keyspace(String name) {
    return open(name, true, true);
  }

  /**
   * The keyspace of this name.
   *
   * @param name the name
   * @return the keyspace, or null if it does not exist
   */
  public Keyspace findKeyspace(String name) {
    return open(name, false, true);
  }

  /**
   * All keyspaces but the default one, by name.
   *
   * @return a map of the caller's
   */
  public Map<String, Keyspace> keyspaces() {
    enter();
    try {
      return Database.keyspaceMap(database.identity, Native.keyspaceList(handle.number, true));
    } finally {
      leave();
    }
  }

  private void remove(Keyspace keyspace, boolean clear) {
    int id = id(keyspace);
    enter();
    try {
      Native.keyspaceDrop(handle.number, true, 0, 0, id, clear);
    } finally {
      leave();
    }
  }

  /**
   * Removes a keyspace and all that is in it, as part of the transaction.
   *
   * @param keyspace not the default one
   */
  public void dropKeyspace(Keyspace keyspace) {
    remove(keyspace, false);
  }

  /**
   * Removes all that is in a keyspace, as part of the transaction.
   *
   * @param keyspace not the default one
   */
  public void clearKeyspace(Keyspace keyspace) {
    remove(keyspace, true);
  }

  /** Waits for a call of another thread, then rolls back what was not committed. Nothing happens the second time. */
  @Override
  public void close() {
    if (guard.close()) {
      handle.close();
    }
  }
}
