package dev.mergedb;

import java.util.Objects;

/** What an iterator shows. Immutable; the arrays are copied. */
public final class IteratorOptions {
  /** Every key of the default keyspace. */
  public static final IteratorOptions DEFAULT = new IteratorOptions(null, null, null, ReadOptions.DEFAULT, false);

  final byte[] prefix;
  final byte[] lower;
  final byte[] upper;
  final ReadOptions read;
  final boolean keysOnly;

  private IteratorOptions(byte[] prefix, byte[] lower, byte[] upper, ReadOptions read, boolean keysOnly) {
    this.prefix = prefix;
    this.lower = lower;
    this.upper = upper;
    this.read = read;
    this.keysOnly = keysOnly;
  }

  private static byte[] copy(byte[] bytes) {
    return bytes == null ? null : bytes.clone();
  }

  /**
   * Shows only keys that begin with these bytes. Bytewise databases only.
   *
   * @param value the prefix; null or empty: all keys
   * @return options with this setting
   */
  public IteratorOptions prefix(byte[] value) {
    return new IteratorOptions(copy(value), lower, upper, read, keysOnly);
  }

  /**
   * The smallest key that is shown.
   *
   * @param value the bound, or null: none
   * @return options with this setting
   */
  public IteratorOptions lower(byte[] value) {
    return new IteratorOptions(prefix, copy(value), upper, read, keysOnly);
  }

  /**
   * The first key that is not shown.
   *
   * @param value the bound, or null: none
   * @return options with this setting
   */
  public IteratorOptions upper(byte[] value) {
    return new IteratorOptions(prefix, lower, copy(value), read, keysOnly);
  }

  /**
   * The keyspace, the snapshot and the reading of blocks.
   *
   * @param value the read options
   * @return options with this setting
   */
  public IteratorOptions read(ReadOptions value) {
    return new IteratorOptions(prefix, lower, upper, Objects.requireNonNull(value, "read"), keysOnly);
  }

  /**
   * Whether values are left out.
   *
   * @param value true: values are empty, and are not read
   * @return options with this setting
   */
  public IteratorOptions keysOnly(boolean value) {
    return new IteratorOptions(prefix, lower, upper, read, value);
  }
}
