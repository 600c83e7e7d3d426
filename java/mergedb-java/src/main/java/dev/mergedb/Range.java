package dev.mergedb;

import java.util.Objects;

/**
 * The keys from {@code lower} on and before {@code upper}. The arrays are not copied.
 *
 * @param lower the smallest key
 * @param upper the first key behind the range
 */
public record Range(byte[] lower, byte[] upper) {
  /** Checks that neither end is null. */
  public Range {
    Objects.requireNonNull(lower, "lower");
    Objects.requireNonNull(upper, "upper");
  }
}
