package dev.mergedb;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.Reference;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * Walks keys in order. Shows the database as it was when the iterator was made, or its snapshot. A new one stands
 * nowhere.
 *
 * <p>Reads ahead: one native call fetches one entry after a seek, and more and more, up to 64 KiB, in a scan, so most
 * calls stay in Java. An error is thrown by the move that comes to it, not before. If the error is of one key alone,
 * {@link #failedKey} names the key, and next and prev go on from it.
 *
 * <p>For one thread at a time: a call that finds another thread inside throws BUSY. {@link #close} waits for that
 * thread. After close every call throws CLOSED; after the close of the database, SHUTTING_DOWN.
 */
public final class EntryIterator implements AutoCloseable {
  static final int FIRST = 1;
  static final int LAST = 2;
  static final int NEXT = 3;
  static final int PREV = 4;
  static final int SEEK = 5;
  static final int SEEK_FOR_PREV = 6;
  static final int PREV_OF = 7; // to the key before this one, which is there
  static final int NEXT_OF = 8;
  static final int STAY = 9; // read on

  private static final VarHandle INTS = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.nativeOrder());
  private static final int HEAD = 8; // the two sizes before each entry
  private static final int BUFFER_MIN = 512;
  private static final int BUDGET_MIN = 256;
  private static final int BUDGET_MAX = 64 << 10;
  private static final byte[] NONE = {};

  private enum State {
    NOWHERE,
    AT_ENTRY,
    FAILED
  }

  private final Database database;
  private final Guard guard = new Guard("EntryIterator");
  private final Handle handle;
  private State state = State.NOWHERE;
  private boolean isBackwards; // the direction of what is in the buffer
  private boolean isBehind; // the native iterator stands behind the buffer, and not at its only entry
  private byte[] buffer = new byte[BUFFER_MIN];
  private int at; // the entry where the iterator stands
  private int end; // of what was read
  private int keySize;
  private int valueSize;
  private int budget;

  EntryIterator(Database database, Handle parent, long number) {
    this.database = database;
    this.handle = Handle.create(this, Handle.ITERATOR, number, parent);
  }

  private void enter() {
    guard.enter();
    if (!database.isOpen()) {
      guard.leave();
      throw new MergedbException(
          MergedbException.Code.SHUTTING_DOWN, "the database of this EntryIterator is closed; close the iterator");
    }
  }

  private void leave() {
    guard.leave();
    Reference.reachabilityFence(this);
  }

  /** A native move, and the first entries from there on. */
  private boolean move(int to, byte[] key, int keyOffset, int keyLength, boolean backwards) {
    boolean goesOn = backwards == isBackwards && (to == STAY || to == NEXT || to == PREV);
    budget = goesOn ? Math.min(Math.max(2 * budget, BUDGET_MIN), BUDGET_MAX) : 0;
    if (key != buffer && (buffer.length < budget || buffer.length > BUDGET_MAX)) {
      buffer = new byte[Math.max(budget, BUFFER_MIN)]; // it grows with the scan; a large entry made it too large
    }
    state = State.FAILED; // until the call has succeeded
    isBackwards = backwards;
    isBehind = budget > 0;
    int used = Native.iteratorMove(handle.number, to, key, keyOffset, keyLength, backwards, buffer, budget);
    if (used < -1) {
      buffer = new byte[-2 - used];
      used = Native.iteratorMove(handle.number, STAY, null, 0, 0, backwards, buffer, budget);
    }
    database.checkComparator();
    if (used < 0) {
      state = State.NOWHERE;
      return false;
    }
    end = used;
    arrive(0);
    return true;
  }

  /** To the entry at `offset` of the buffer. */
  private void arrive(int offset) {
    at = offset;
    keySize = (int) INTS.get(buffer, offset);
    valueSize = (int) INTS.get(buffer, offset + 4);
    state = State.AT_ENTRY;
  }

  private boolean step(boolean backwards) {
    enter();
    try {
      switch (state) {
        case NOWHERE:
          return false;
        case FAILED:
          return move(backwards ? PREV : NEXT, null, 0, 0, backwards);
        default:
          if (!isBehind) {
            return move(backwards ? PREV : NEXT, null, 0, 0, backwards);
          }
          if (isBackwards != backwards) {
            return move(backwards ? PREV_OF : NEXT_OF, buffer, at + HEAD, keySize, backwards);
          }
          int following = at + HEAD + keySize + valueSize;
          if (following < end) {
            arrive(following);
            return true;
          }
          return move(STAY, null, 0, 0, backwards);
      }
    } finally {
      leave();
    }
  }

  private boolean go(int to, byte[] key, boolean backwards) {
    enter();
    try {
      return move(to, key, 0, key.length, backwards);
    } finally {
      leave();
    }
  }

  /**
   * Moves to the first key.
   *
   * @return true if the iterator is at a key
   */
  public boolean seekToFirst() {
    return go(FIRST, NONE, false);
  }

  /**
   * Moves to the last key.
   *
   * @return true if the iterator is at a key
   */
  public boolean seekToLast() {
    return go(LAST, NONE, true);
  }

  /**
   * Moves to the first key at or after this one.
   *
   * @param key a key
   * @return true if the iterator is at a key
   */
  public boolean seek(byte[] key) {
    return go(SEEK, Limits.key(key), false);
  }

  /**
   * Moves to the last key at or before this one.
   *
   * @param key a key
   * @return true if the iterator is at a key
   */
  public boolean seekForPrev(byte[] key) {
    return go(SEEK_FOR_PREV, Limits.key(key), true);
  }

  /**
   * Moves to the next key. After a move that failed: to the key behind the failed one. Nowhere: stays there.
   *
   * @return true if the iterator is at a key
   */
  public boolean next() {
    return step(false);
  }

  /**
   * Moves to the key before. After a move that failed: to the key before the failed one. Nowhere: stays there.
   *
   * @return true if the iterator is at a key
   */
  public boolean prev() {
    return step(true);
  }

  /**
   * Whether it stands at a key.
   *
   * @return false after a move that returned false or threw, and before the first move
   */
  public boolean isValid() {
    enter();
    try {
      return state == State.AT_ENTRY;
    } finally {
      leave();
    }
  }

  private void requireEntry() {
    if (state != State.AT_ENTRY) {
      throw new MergedbException(
          MergedbException.Code.NOT_FOUND, "this EntryIterator is not at a key; move it to a key first");
    }
  }

  /**
   * The key where it stands.
   *
   * @return a copy
   * @throws MergedbException NOT_FOUND: there is no current key
   */
  public byte[] key() {
    enter();
    try {
      requireEntry();
      return Arrays.copyOfRange(buffer, at + HEAD, at + HEAD + keySize);
    } finally {
      leave();
    }
  }

  /**
   * The value where it stands; empty if the iterator shows keys only.
   *
   * @return a copy
   * @throws MergedbException NOT_FOUND: there is no current key
   */
  public byte[] value() {
    enter();
    try {
      requireEntry();
      int begin = at + HEAD + keySize;
      return Arrays.copyOfRange(buffer, begin, begin + valueSize);
    } finally {
      leave();
    }
  }

  /**
   * The key whose value could not be read, after a move that threw for that reason.
   *
   * @return the key, or null: the last move did not fail, or for another reason
   */
  public byte[] failedKey() {
    enter();
    try {
      return state == State.FAILED ? Native.iteratorFailedKey(handle.number) : null;
    } finally {
      leave();
    }
  }

  /** Waits for a call of another thread, then closes. Nothing happens the second time. */
  @Override
  public void close() {
    if (guard.close()) {
      handle.close();
    }
  }
}
