package dev.mergedb.versions;

import dev.mergedb.Database;
import dev.mergedb.EntryIterator;
import dev.mergedb.IteratorOptions;
import dev.mergedb.Keyspace;
import dev.mergedb.MergedbException;
import dev.mergedb.ReadOptions;
import dev.mergedb.WriteOptions;

/**
 * What a keyspace says about itself, under {@link KeyLayout#MARK_KEY}: that a versioned store wrote it, and how. Immutable.
 *
 * <p>FORMAT: one byte version, 1; one byte layout, 0: no partitions, 1: partitioned; one byte state, 0: whole, 1: an import is not finished. A keyspace
 * without records needs no mark.
 */
record StoreMark(boolean isPartitioned, boolean isImporting) {
  private static final byte VERSION = 1;

  /** The mark of a keyspace, or null: the keyspace is empty. Refuses a keyspace with other data. */
  static StoreMark read(Database database, Keyspace keyspace, String name) {
    byte[] bytes = database.get(ReadOptions.DEFAULT.in(keyspace), KeyLayout.MARK_KEY);
    if (bytes == null) {
      IteratorOptions all = IteratorOptions.DEFAULT.read(ReadOptions.DEFAULT.in(keyspace)).keysOnly(true);
      try (EntryIterator entries = database.iterator(all)) {
        if (entries.seekToFirst()) {
          throw new MergedbException(
              MergedbException.Code.INVALID_ARGUMENT,
              "store " + name + ": expected an empty keyspace or one of a versioned store, found other keys; choose another keyspace");
        }
      }
      return null;
    }
    if (bytes.length != 3 || bytes[0] != VERSION || bytes[1] < 0 || bytes[1] > 1 || bytes[2] < 0 || bytes[2] > 1) {
      throw new MergedbException(
          MergedbException.Code.NOT_SUPPORTED,
          "store " + name + ": expected a mark of version " + VERSION + ", found " + Bytes.hex(bytes) + "; open it with a newer library");
    }
    return new StoreMark(bytes[1] == 1, bytes[2] == 1);
  }

  void write(Database database, WriteOptions options) {
    database.put(options, KeyLayout.MARK_KEY, new byte[] {VERSION, (byte) (isPartitioned ? 1 : 0), (byte) (isImporting ? 1 : 0)});
  }
}
