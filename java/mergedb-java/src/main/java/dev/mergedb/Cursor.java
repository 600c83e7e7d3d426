package dev.mergedb;

import java.lang.ref.Reference;

/**
 * Walks the keys of a transaction in order, its own writes among them, and changes what it walks over. A new one
 * stands nowhere.
 *
 * <p>For one thread at a time together with its transaction: a call that finds another thread inside throws BUSY.
 * {@link #close} waits for that thread. After close every call throws CLOSED; after the end of the transaction,
 * ABORTED or CLOSED; after the close of the database, SHUTTING_DOWN.
 */
public final class Cursor implements AutoCloseable {
  private final Transaction transaction;
  private final Handle handle;

  Cursor(Transaction transaction, Handle parent, long number) {
    this.transaction = transaction;
    this.handle = Handle.create(this, Handle.CURSOR, number, parent);
  }

  private void enter() {
    transaction.enter();
  }

  private void leave() {
    transaction.guard.leave();
    Reference.reachabilityFence(this);
  }

  private boolean move(int to, byte[] key) {
    enter();
    try {
      boolean stands = Native.cursorMove(handle.number, to, key);
      transaction.database.checkComparator();
      return stands;
    } finally {
      leave();
    }
  }

  /**
   * Moves to the first key.
   *
   * @return true if the cursor is at a key
   */
  public boolean first() {
    return move(1, null);
  }

  /**
   * Moves to the last key.
   *
   * @return true if the cursor is at a key
   */
  public boolean last() {
    return move(2, null);
  }

  /**
   * Moves to the next key.
   *
   * @return true if the cursor is at a key
   */
  public boolean next() {
    return move(3, null);
  }

  /**
   * Moves to the key before.
   *
   * @return true if the cursor is at a key
   */
  public boolean prev() {
    return move(4, null);
  }

  /**
   * Moves to this key.
   *
   * @param key the key
   * @return true: it stands at the key; false: the key is not there, and the cursor stands at the first key after it,
   *     if there is one
   */
  public boolean seek(byte[] key) {
    return move(5, Limits.key(key));
  }

  /**
   * Moves to the first key at or after this one.
   *
   * @param key a key
   * @return true if the cursor is at a key
   */
  public boolean seekOrNext(byte[] key) {
    return move(6, Limits.key(key));
  }

  /**
   * Moves to the last key at or before this one.
   *
   * @param key a key
   * @return true if the cursor is at a key
   */
  public boolean seekOrPrev(byte[] key) {
    return move(7, Limits.key(key));
  }

  /**
   * Moves to where it stands. After a delete that is the key behind the gap. After a write to the transaction it is
   * needed before key and value.
   *
   * @return true if the cursor is at a key
   */
  public boolean current() {
    return move(8, null);
  }

  private byte[] entry(int which) {
    enter();
    try {
      byte[] bytes = Native.cursorEntry(handle.number, which);
      if (bytes == null) {
        throw new MergedbException(MergedbException.Code.NOT_FOUND,
            "this Cursor is not at a key; move it to a key first (after a write: current())");
      }
      return bytes;
    } finally {
      leave();
    }
  }

  /**
   * The key where it stands.
   *
   * @return a copy
   * @throws MergedbException NOT_FOUND: there is no current key
   */
  public byte[] key() {
    return entry(0);
  }

  /**
   * The value where it stands.
   *
   * @return a copy
   * @throws MergedbException NOT_FOUND: there is no current key
   */
  public byte[] value() {
    return entry(1);
  }

  /**
   * Sets the value of the key where it stands.
   *
   * @param value the value
   */
  public void put(byte[] value) {
    Limits.value(value);
    enter();
    try {
      Native.cursorPut(handle.number, value);
      transaction.database.checkComparator();
    } finally {
      leave();
    }
  }

  /** Deletes the key where it stands, or the one behind the gap. */
  public void delete() {
    enter();
    try {
      Native.cursorDelete(handle.number);
      transaction.database.checkComparator();
    } finally {
      leave();
    }
  }

  /** Waits for a call of another thread, then closes. Nothing happens the second time. */
  @Override
  public void close() {
    transaction.guard.whileAlone(handle::close);
  }
}
