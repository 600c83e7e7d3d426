package dev.mergedb.infinispan;

import dev.mergedb.Durability;
import java.util.Arrays;

/** What a write of the store survives, as the attribute {@code durability} names it. */
public enum StoreDurability {
  /** A write that has returned survives the end of the process, {@code kill -9} included, but not a power loss. */
  PROCESS_CRASH("process-crash", Durability.PROCESS_CRASH),
  /** A write that has returned survives a power loss as well: each write waits for the disk. */
  SYNCED("synced", Durability.SYNCED);

  private final String attributeValue;
  private final Durability durability;

  StoreDurability(String attributeValue, Durability durability) {
    this.attributeValue = attributeValue;
    this.durability = durability;
  }

  Durability durability() {
    return durability;
  }

  /**
   * The durability of an attribute's value.
   *
   * @throws IllegalArgumentException if there is none of that name
   */
  public static StoreDurability of(String attributeValue) {
    for (StoreDurability durability : values()) {
      if (durability.attributeValue.equals(attributeValue)) return durability;
    }
    throw new IllegalArgumentException("durability: expected one of " + Arrays.toString(values()) + ", found '"
        + attributeValue + "'");
  }

  /** The attribute's value. */
  @Override
  public String toString() {
    return attributeValue;
  }
}
