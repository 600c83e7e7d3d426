package dev.mergedb;

import java.lang.ref.Reference;
import java.util.Objects;

/**
 * Changes that {@link Database#write} applies together: all of them become visible and survive a crash, or none.
 * A batch without named keyspaces belongs to no database and may be written to several. All keyspaces of a batch must
 * be of one database: a change of another one, and a write to another one, is INVALID_ARGUMENT. At most 2 GiB.
 *
 * <p>For one thread at a time: a call that finds another thread inside throws BUSY. {@link #close} waits for that
 * thread. After close every call throws CLOSED. Null arguments are a NullPointerException; keys over 8 MiB and values
 * over 1 GiB are INVALID_ARGUMENT.
 */
public final class WriteBatch implements AutoCloseable {
  private final Guard guard = new Guard("WriteBatch");
  private final Handle handle;
  private int keyspace; // that the native batch is set to
  private boolean isKeyspaceKnown = true;
  private Object database; // of the named keyspaces, since the last clear; null: none
  private boolean hasRange; // a range delete, since the last clear

  /** An empty batch. */
  public WriteBatch() {
    handle = Handle.create(this, Handle.BATCH, Native.batchCreate(), null);
  }

  private void change(Keyspace in, int kind, byte[] key, byte[] value) {
    Objects.requireNonNull(in, "keyspace");
    guard.enter();
    try {
      database = in.joined(database);
      int id = in.id();
      boolean set = !isKeyspaceKnown || keyspace != id;
      isKeyspaceKnown = false; // until the call has succeeded
      hasRange |= kind == Native.DELETE_RANGE;
      Native.batchChange(handle.number, set, id, kind, key, value);
      keyspace = id;
      isKeyspaceKnown = true;
    } finally {
      guard.leave();
      Reference.reachabilityFence(this);
    }
  }

  /**
   * Sets a key of the default keyspace.
   *
   * @param key the key
   * @param value the value
   */
  public void put(byte[] key, byte[] value) {
    change(Keyspace.DEFAULT, Native.PUT, Limits.key(key), Limits.value(value));
  }

  /**
   * Sets a key.
   *
   * @param keyspace the keyspace
   * @param key the key
   * @param value the value
   */
  public void put(Keyspace keyspace, byte[] key, byte[] value) {
    change(keyspace, Native.PUT, Limits.key(key), Limits.value(value));
  }

  /**
   * Removes a key of the default keyspace.
   *
   * @param key the key
   */
  public void delete(byte[] key) {
    change(Keyspace.DEFAULT, Native.DELETE, Limits.key(key), null);
  }

  /**
   * Removes a key.
   *
   * @param keyspace the keyspace
   * @param key the key
   */
  public void delete(Keyspace keyspace, byte[] key) {
    change(keyspace, Native.DELETE, Limits.key(key), null);
  }

  /**
   * Removes the keys from begin on and before end, of the default keyspace. It removes what earlier changes of the
   * batch put there as well, and nothing of later ones. {@link Database#write} refuses a batch in which a range
   * begins after its end.
   *
   * @param begin the first key
   * @param end the first key behind the range
   */
  public void deleteRange(byte[] begin, byte[] end) {
    change(Keyspace.DEFAULT, Native.DELETE_RANGE, Limits.key(begin, "begin"), Limits.key(end, "end"));
  }

  /**
   * Removes the keys from begin on and before end.
   *
   * @param keyspace the keyspace
   * @param begin the first key
   * @param end the first key behind the range
   */
  public void deleteRange(Keyspace keyspace, byte[] begin, byte[] end) {
    change(keyspace, Native.DELETE_RANGE, Limits.key(begin, "begin"), Limits.key(end, "end"));
  }

  /**
   * Applies an operand to a key of the default keyspace.
   *
   * @param key the key
   * @param operand the operand
   */
  public void merge(byte[] key, Merge operand) {
    merge(Keyspace.DEFAULT, key, operand);
  }

  /**
   * Applies an operand to a key.
   *
   * @param keyspace the keyspace
   * @param key the key
   * @param operand the operand
   */
  public void merge(Keyspace keyspace, byte[] key, Merge operand) {
    Objects.requireNonNull(keyspace, "keyspace");
    Limits.key(key);
    Objects.requireNonNull(operand, "operand");
    guard.enter();
    try {
      database = keyspace.joined(database);
      int id = keyspace.id();
      boolean set = !isKeyspaceKnown || this.keyspace != id;
      isKeyspaceKnown = false;
      Native.batchMerge(
          handle.number, set, id, key,
          operand.type, operand.keep, operand.u64, operand.i64, operand.f64, operand.capBytes, operand.bytes,
          operand.delimiter, operand.name);
      this.keyspace = id;
      isKeyspaceKnown = true;
    } finally {
      guard.leave();
      Reference.reachabilityFence(this);
    }
  }

  /**
   * Adds to a counter of the default keyspace: {@link Merge#addU64}.
   *
   * @param key the key
   * @param delta what is added
   */
  public void addU64(byte[] key, long delta) {
    merge(Keyspace.DEFAULT, key, Merge.addU64(delta));
  }

  /**
   * Adds to a counter: {@link Merge#addU64}.
   *
   * @param keyspace the keyspace
   * @param key the key
   * @param delta what is added
   */
  public void addU64(Keyspace keyspace, byte[] key, long delta) {
    merge(keyspace, key, Merge.addU64(delta));
  }

  /**
   * Adds the changes of another batch after those of this one.
   *
   * @param source another batch; it is left as it is
   * @throws IllegalArgumentException if source is this batch
   */
  public void append(WriteBatch source) {
    Objects.requireNonNull(source, "source");
    if (source == this) {
      throw new IllegalArgumentException("a batch cannot be appended to itself");
    }
    guard.enter();
    try {
      source.guard.enter();
      try {
        Keyspace.require(database, source.database);
        database = database == null ? source.database : database;
        isKeyspaceKnown = false;
        hasRange |= source.hasRange;
        Native.batchAppend(handle.number, source.handle.number);
      } finally {
        source.guard.leave();
      }
    } finally {
      guard.leave();
      Reference.reachabilityFence(source);
      Reference.reachabilityFence(this);
    }
  }

  /** Removes every change. */
  public void clear() {
    guard.enter();
    try {
      Native.batchClear(handle.number);
      keyspace = 0;
      isKeyspaceKnown = true;
      hasRange = false;
      database = null;
    } finally {
      guard.leave();
      Reference.reachabilityFence(this);
    }
  }

  private long size(int which) {
    guard.enter();
    try {
      return Native.batchSize(handle.number, which);
    } finally {
      guard.leave();
      Reference.reachabilityFence(this);
    }
  }

  /**
   * How many changes it holds.
   *
   * @return the number
   */
  public int count() {
    return (int) Math.min(Integer.MAX_VALUE, size(0));
  }

  /**
   * The number of bytes of the batch in the WAL.
   *
   * @return the bytes
   */
  public long bytes() {
    return size(1);
  }

  void writeTo(Database target, WriteOptions options) {
    guard.enter();
    try {
      Keyspace.require(database, target.identity);
      if (hasRange) {
        target.requireNoComparator();
      }
      Native.write(target.number, options.durability, options.keyspace.idIn(target.identity), handle.number);
    } finally {
      guard.leave();
      Reference.reachabilityFence(this);
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
