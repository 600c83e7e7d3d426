package dev.mergedb;

import java.util.Objects;

/** What kind of transaction begins. Immutable. */
public final class TransactionOptions {
  /** The kinds. All of them are serializable. */
  public enum Kind {
    /**
     * One at a time. Every other write to the database waits until it has ended. Its commit never conflicts. For
     * platform threads only.
     */
    SINGLE_WRITER,
    /** Any number at a time, waiting for nobody. The commit checks what the transaction read. */
    OPTIMISTIC,
    /** Reads only. Never waits, never conflicts. */
    READ_ONLY
  }

  /** A single writer that waits for the one before it without limit. */
  public static final TransactionOptions DEFAULT =
      new TransactionOptions(Kind.SINGLE_WRITER, Durability.PROCESS_CRASH, 0, 0, null, null);

  final Kind kind;
  final Durability durability;
  final long bytesMax;
  final long waitMicrosMax;
  final Snapshot snapshot;
  final String name;

  private TransactionOptions(
      Kind kind, Durability durability, long bytesMax, long waitMicrosMax, Snapshot snapshot, String name) {
    this.kind = kind;
    this.durability = durability;
    this.bytesMax = bytesMax;
    this.waitMicrosMax = waitMicrosMax;
    this.snapshot = snapshot;
    this.name = name;
  }

  /**
   * The kind.
   *
   * @param value the kind
   * @return options with this setting
   */
  public TransactionOptions kind(Kind value) {
    return new TransactionOptions(
        Objects.requireNonNull(value, "kind"), durability, bytesMax, waitMicrosMax, snapshot, name);
  }

  /**
   * What the commit survives.
   *
   * @param value the durability
   * @return options with this setting
   */
  public TransactionOptions durability(Durability value) {
    return new TransactionOptions(
        kind, Objects.requireNonNull(value, "durability"), bytesMax, waitMicrosMax, snapshot, name);
  }

  /**
   * The most memory that its writes and reads may take.
   *
   * @param value bytes; 0: the default, 256 MiB
   * @return options with this setting
   * @throws IllegalArgumentException if negative
   */
  public TransactionOptions bytesMax(long value) {
    return new TransactionOptions(
        kind, durability, Limits.notNegative(value, "bytesMax"), waitMicrosMax, snapshot, name);
  }

  /**
   * How long a single writer waits for the one before it; then begin throws BUSY.
   *
   * @param value microseconds; 0: however long it takes
   * @return options with this setting
   * @throws IllegalArgumentException if negative
   */
  public TransactionOptions waitMicrosMax(long value) {
    return new TransactionOptions(
        kind, durability, bytesMax, Limits.notNegative(value, "waitMicrosMax"), snapshot, name);
  }

  /**
   * The snapshot that a read-only transaction reads.
   *
   * @param value a snapshot of the same database, or null: as of now
   * @return options with this setting
   */
  public TransactionOptions snapshot(Snapshot value) {
    return new TransactionOptions(kind, durability, bytesMax, waitMicrosMax, value, name);
  }

  /**
   * The name that property {@code mergedb.transactions} shows.
   *
   * @param value the name, or null: none
   * @return options with this setting
   */
  public TransactionOptions name(String value) {
    return new TransactionOptions(kind, durability, bytesMax, waitMicrosMax, snapshot, value);
  }
}
