package dev.mergedb;

import java.util.Objects;

/**
 * The changes of keys that a batch and a transaction take alike. They are public methods of both; this class is not
 * public.
 */
abstract class KeyspaceWriter {
  /** `kind`: Native.PUT, DELETE or DELETE_RANGE. A range begins at `key` and ends before `value`. */
  abstract void change(Keyspace keyspace, int kind, byte[] key, byte[] value);

  abstract void apply(Keyspace keyspace, byte[] key, Merge operand);

  private static Keyspace named(Keyspace keyspace) {
    return Objects.requireNonNull(keyspace, "keyspace");
  }

  /**
   * Sets a key of the default keyspace.
   *
   * @param key the key
   * @param value the value
   */
  public void put(byte[] key, byte[] value) {
    change(Keyspace.DEFAULT, Native.PUT, Limits.key(key), Limits.value(value));
  }

  /**
   * Sets a key.
   *
   * @param keyspace the keyspace
   * @param key the key
   * @param value the value
   */
  public void put(Keyspace keyspace, byte[] key, byte[] value) {
    change(named(keyspace), Native.PUT, Limits.key(key), Limits.value(value));
  }

  /**
   * Removes a key of the default keyspace.
   *
   * @param key the key
   */
  public void delete(byte[] key) {
    change(Keyspace.DEFAULT, Native.DELETE, Limits.key(key), null);
  }

  /**
   * Removes a key.
   *
   * @param keyspace the keyspace
   * @param key the key
   */
  public void delete(Keyspace keyspace, byte[] key) {
    change(named(keyspace), Native.DELETE, Limits.key(key), null);
  }

  /**
   * Removes the keys from begin on and before end, of the default keyspace. It removes what earlier changes put there
   * as well, and nothing of later ones.
   *
   * @param begin the first key
   * @param end the first key behind the range
   */
  public void deleteRange(byte[] begin, byte[] end) {
    change(Keyspace.DEFAULT, Native.DELETE_RANGE, Limits.key(begin, "begin"), Limits.key(end, "end"));
  }

  /**
   * Removes the keys from begin on and before end.
   *
   * @param keyspace the keyspace
   * @param begin the first key
   * @param end the first key behind the range
   */
  public void deleteRange(Keyspace keyspace, byte[] begin, byte[] end) {
    change(named(keyspace), Native.DELETE_RANGE, Limits.key(begin, "begin"), Limits.key(end, "end"));
  }

  /**
   * Applies an operand to a key of the default keyspace.
   *
   * @param key the key
   * @param operand the operand
   */
  public void merge(byte[] key, Merge operand) {
    merge(Keyspace.DEFAULT, key, operand);
  }

  /**
   * Applies an operand to a key.
   *
   * @param keyspace the keyspace
   * @param key the key
   * @param operand the operand
   */
  public void merge(Keyspace keyspace, byte[] key, Merge operand) {
    apply(named(keyspace), Limits.key(key), Objects.requireNonNull(operand, "operand"));
  }

  /**
   * Adds to a counter of the default keyspace: {@link Merge#addU64}.
   *
   * @param key the key
   * @param delta what is added
   */
  public void addU64(byte[] key, long delta) {
    merge(Keyspace.DEFAULT, key, Merge.addU64(delta));
  }

  /**
   * Adds to a counter: {@link Merge#addU64}.
   *
   * @param keyspace the keyspace
   * @param key the key
   * @param delta what is added
   */
  public void addU64(Keyspace keyspace, byte[] key, long delta) {
    merge(keyspace, key, Merge.addU64(delta));
  }
}
