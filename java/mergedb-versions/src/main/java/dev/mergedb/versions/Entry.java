package dev.mergedb.versions;

import java.util.Objects;

/**
 * A key and one of its versions, as a scan gives them.
 *
 * @param key the key; an array of the caller's own
 * @param version the version
 */
public record Entry(byte[] key, Versioned version) {
  /** Refuses null. */
  public Entry {
    Objects.requireNonNull(key, "key");
    Objects.requireNonNull(version, "version");
  }
}
