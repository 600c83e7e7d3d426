package dev.mergedb;

import java.util.Objects;

/** How one read is done. Immutable. Holds its snapshot, which must be open when the options are used. */
public final class ReadOptions {
  /** As of now, in the default keyspace, with checksums verified and the block cache filled. */
  public static final ReadOptions DEFAULT = new ReadOptions(null, Keyspace.DEFAULT, true, true);

  static final int TRUST_DISK = 1;
  static final int LEAVE_CACHE = 2;

  final Snapshot snapshot;
  final Keyspace keyspace;
  final int flags;

  private ReadOptions(Snapshot snapshot, Keyspace keyspace, boolean verifyChecksums, boolean fillCache) {
    this.snapshot = snapshot;
    this.keyspace = keyspace;
    this.flags = (verifyChecksums ? 0 : TRUST_DISK) | (fillCache ? 0 : LEAVE_CACHE);
  }

  private boolean has(int flag) {
    return (flags & flag) != 0;
  }

  long snapshotNumber() {
    return snapshot == null ? 0 : snapshot.number();
  }

  /**
   * Reads the state that a snapshot holds.
   *
   * @param value a snapshot of the same database, or null: as of now
   * @return options with this setting
   */
  public ReadOptions withSnapshot(Snapshot value) {
    return new ReadOptions(value, keyspace, !has(TRUST_DISK), !has(LEAVE_CACHE));
  }

  /**
   * Which keyspace the keys are of.
   *
   * @param value the keyspace
   * @return options with this setting
   */
  public ReadOptions in(Keyspace value) {
    return new ReadOptions(
        snapshot, Objects.requireNonNull(value, "keyspace"), !has(TRUST_DISK), !has(LEAVE_CACHE));
  }

  /**
   * Whether checksums of what is read from disk are verified.
   *
   * @param value false: trust the disk
   * @return options with this setting
   */
  public ReadOptions withVerifyChecksums(boolean value) {
    return new ReadOptions(snapshot, keyspace, value, !has(LEAVE_CACHE));
  }

  /**
   * Whether what is read goes into the block cache.
   *
   * @param value false: leave the block cache as it is, for large scans
   * @return options with this setting
   */
  public ReadOptions withFillCache(boolean value) {
    return new ReadOptions(snapshot, keyspace, !has(TRUST_DISK), value);
  }
}
