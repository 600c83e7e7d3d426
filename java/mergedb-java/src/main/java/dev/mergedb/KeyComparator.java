package dev.mergedb;

/**
 * An order of keys, written in Java. Each comparison crosses from native code into Java and copies both keys, so a
 * database with a comparator is several times slower than one in bytewise order. Encode keys so that bytewise order
 * is right where that is possible.
 *
 * <p>The order must be total and must never change while a database of this name exists. {@link #compare} is called
 * by any number of threads at once, among them threads of the engine, and must not call into mergedb.
 *
 * <p>If {@code compare} throws, the engine goes on with the bytewise order of the two keys, because it cannot stop
 * inside a comparison. The {@link Database} remembers the first exception and logs it. The call that met it, and
 * every later call but {@code close}, throws {@link MergedbException} with code {@link MergedbException.Code#ABORTED}
 * and that exception as its cause. A flush or a compaction that finds keys out of order writes nothing and fails with
 * {@link MergedbException.Code#CORRUPTION}; the WAL still has all writes, so the database opens again with a
 * comparator that is right. Range deletes are not supported: if a comparator throws while they are
 * compacted, some could be lost without an error.
 */
public interface KeyComparator {
  /**
   * The name that is stored in the database. An open with a comparator of another name is refused.
   *
   * @return 1 to 255 bytes in UTF-8
   */
  String name();

  /**
   * Compares two keys. The arrays are copies.
   *
   * @param a a key
   * @param b another key
   * @return negative if {@code a} comes before {@code b}, 0 if they are one key, positive if {@code a} comes after
   *     {@code b}
   */
  int compare(byte[] a, byte[] b);
}
