package dev.mergedb.versions;

import java.util.Arrays;
import java.util.Objects;

/** A value and its clock. Immutable if the caller leaves the array alone: the array is not copied. */
public final class Versioned {
  private final byte[] value;
  private final VectorClock clock;

  /**
   * A version of a value.
   *
   * @param value the value; kept, not copied
   * @param clock its clock
   */
  public Versioned(byte[] value, VectorClock clock) {
    this.value = Objects.requireNonNull(value, "value");
    this.clock = Objects.requireNonNull(clock, "clock");
  }

  /**
   * The value.
   *
   * @return the array itself, not a copy
   */
  public byte[] value() {
    return value;
  }

  /**
   * The clock.
   *
   * @return the clock
   */
  public VectorClock clock() {
    return clock;
  }

  /** Equal bytes and equal clocks. The timestamps of the clocks do not count. */
  @Override
  public boolean equals(Object other) {
    return other instanceof Versioned versioned && clock.equals(versioned.clock) && Arrays.equals(value, versioned.value);
  }

  @Override
  public int hashCode() {
    return 31 * Arrays.hashCode(value) + clock.hashCode();
  }

  @Override
  public String toString() {
    return value.length + " bytes, " + clock;
  }
}
