package dev.mergedb;

import java.util.Objects;

/** How one write is done. Immutable. */
public final class WriteOptions {
  /** Durable against the end of the process, in the default keyspace. */
  public static final WriteOptions DEFAULT = new WriteOptions(Durability.PROCESS_CRASH, Keyspace.DEFAULT);

  /** Durable against power loss, in the default keyspace. */
  public static final WriteOptions SYNCED = new WriteOptions(Durability.SYNCED, Keyspace.DEFAULT);

  final int durability;
  final Keyspace keyspace;

  private WriteOptions(Durability durability, Keyspace keyspace) {
    this.durability = durability.ordinal();
    this.keyspace = keyspace;
  }

  /**
   * What the write survives.
   *
   * @param value the durability
   * @return options with this setting
   */
  public WriteOptions withDurability(Durability value) {
    return new WriteOptions(Objects.requireNonNull(value, "durability"), keyspace);
  }

  /**
   * Which keyspace the key or range is of. A batch says it itself: {@link Database#write} refuses options with a
   * keyspace.
   *
   * @param value the keyspace
   * @return options with this setting
   */
  public WriteOptions in(Keyspace value) {
    return new WriteOptions(Durability.values()[durability], Objects.requireNonNull(value, "keyspace"));
  }
}
