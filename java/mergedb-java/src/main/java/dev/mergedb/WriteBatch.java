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
 * over 1 GiB are INVALID_ARGUMENT. {@link Database#write} refuses a batch in which a range begins after its end.
 */
public final class WriteBatch extends KeyspaceWriter implements AutoCloseable {
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

  /** Before a change: true if it must set the keyspace of the native batch. Unknown until the change has succeeded. */
  private boolean leavesKeyspace(Keyspace in) {
    database = in.joined(database);
    boolean leaves = !isKeyspaceKnown || keyspace != in.id();
    isKeyspaceKnown = false;
    return leaves;
  }

  private void succeeded(Keyspace in) {
    keyspace = in.id();
    isKeyspaceKnown = true;
  }

  private void leave() {
    guard.leave();
    Reference.reachabilityFence(this);
  }

  @Override
  void change(Keyspace in, int kind, byte[] key, byte[] value) {
    guard.enter();
    try {
      boolean set = leavesKeyspace(in);
      hasRange |= kind == Native.DELETE_RANGE;
      Native.batchChange(handle.number, set, in.id(), kind, key, value);
      succeeded(in);
    } finally {
      leave();
    }
  }

  @Override
  void apply(Keyspace in, byte[] key, Merge operand) {
    guard.enter();
    try {
      Native.batchMerge(
          handle.number, leavesKeyspace(in), in.id(), key,
          operand.type, operand.keep, operand.u64, operand.i64, operand.f64, operand.capBytes, operand.bytes,
          operand.delimiter, operand.name);
      succeeded(in);
    } finally {
      leave();
    }
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
      leave();
    }
  }

  private long size(int which) {
    guard.enter();
    try {
      return Native.batchSize(handle.number, which);
    } finally {
      leave();
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
