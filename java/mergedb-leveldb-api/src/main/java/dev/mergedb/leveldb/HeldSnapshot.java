package dev.mergedb.leveldb;

import dev.mergedb.Snapshot;

/** A snapshot. Any number of threads may use it; closing it twice is allowed. */
final class HeldSnapshot implements org.iq80.leveldb.Snapshot {
  private final Snapshot snapshot;

  HeldSnapshot(Snapshot snapshot) {
    this.snapshot = snapshot;
  }

  Snapshot snapshot() {
    return snapshot;
  }

  @Override
  public void close() {
    snapshot.close();
  }
}
