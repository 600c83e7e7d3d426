package dev.mergedb;

import java.lang.ref.Reference;

/**
 * A state of a database to read from, until it is closed. What it can see stays on disk meanwhile. Any number of
 * threads may use one.
 */
public final class Snapshot implements AutoCloseable {
  private final Database database; // keeps it reachable
  private final Handle handle;

  Snapshot(Database database, Handle parent, long number) {
    this.database = database;
    this.handle = Handle.create(this, Handle.SNAPSHOT, number, parent);
  }

  long number() {
    return handle.number;
  }

  /**
   * The sequence number of the last write that it shows.
   *
   * @return the number
   * @throws MergedbException CLOSED, SHUTTING_DOWN
   */
  public long sequence() {
    try {
      return Native.snapshotSequence(handle.number);
    } finally {
      Reference.reachabilityFence(database);
      Reference.reachabilityFence(this);
    }
  }

  /** Closes it. Nothing happens the second time. */
  @Override
  public void close() {
    handle.close();
  }
}
