package dev.mergedb;

import java.nio.ByteBuffer;

/**
 * The native functions: java/native/. Each checks its arguments again, and throws {@link MergedbException}. A handle
 * is a number that native code checks: one that is closed is refused with CLOSED and never touches memory.
 */
final class Native {
  static {
    Library.load();
  }

  // Kinds of change: Change in java/native/functions.h.
  static final int PUT = 0;
  static final int DELETE = 1;
  static final int DELETE_RANGE = 2;

  // Of databaseDo: DatabaseCall there.
  static final int FLUSH = 0;
  static final int SYNC_LOG = 1;
  static final int WAIT = 2;
  static final int CHECK = 3;

  // Of transactionDo: TransactionCall there.
  static final int COMMIT = 0;
  static final int ROLLBACK = 1;
  static final int SET_SAVEPOINT = 2;
  static final int ROLLBACK_TO_SAVEPOINT = 3;
  static final int RELEASE_SAVEPOINT = 4;

  private Native() {}

  static native String version();

  /** `options`: lines of NAME=VALUE, by the names of mergedb_options. */
  static native long open(byte[] path, byte[] options, byte[] comparatorName, Callbacks callbacks);

  static native void close(int kind, long handle);

  static native void destroy(byte[] path);

  /** The four lists of a report, each as UTF-8 lines. */
  static native byte[][][] inspect(
      byte[] path, boolean repair, boolean dryRun, byte[] options, byte[] comparatorName, Callbacks callbacks);

  static native void put(long db, int durability, int keyspace, byte[] key, byte[] value);

  /** Either a direct buffer or an array for each; offsets and sizes are of the bytes that are meant. */
  static native void putBuffers(
      long db, int durability, int keyspace,
      ByteBuffer keyBuffer, byte[] keyArray, int keyOffset, int keySize,
      ByteBuffer valueBuffer, byte[] valueArray, int valueOffset, int valueSize);

  static native void delete(long db, int durability, int keyspace, byte[] key);

  static native void deleteBuffer(
      long db, int durability, int keyspace, ByteBuffer keyBuffer, byte[] keyArray, int keyOffset, int keySize);

  static native void deleteRange(long db, int durability, int keyspace, byte[] begin, byte[] end);

  static native void deletePrefix(long db, int durability, int keyspace, byte[] prefix);

  static native void merge(
      long db, int durability, int keyspace, byte[] key,
      int type, int keep, long u64, long i64, double f64, long capBytes, byte[] bytes, byte[] delimiter,
      byte[] name);

  static native void addU64(long db, int durability, int keyspace, byte[] key, long delta);

  static native void write(long db, int durability, int keyspace, long batch);

  static native byte[] get(long db, int keyspace, long snapshot, int flags, byte[] key);

  /** The whole size of the value, or -1: not there. */
  static native int getBuffers(
      long db, int keyspace, long snapshot, int flags,
      ByteBuffer keyBuffer, byte[] keyArray, int keyOffset, int keySize,
      ByteBuffer valueBuffer, byte[] valueArray, int valueOffset, int valueSize);

  static native byte[][] multiGet(long db, int keyspace, long snapshot, int flags, byte[][] keys);

  static native long snapshotCreate(long db);

  static native long snapshotSequence(long snapshot);

  static native long batchCreate();

  /** Kinds of change: 0 put, 1 delete, 2 delete range. `keyspace` is set first if `setKeyspace`. */
  static native void batchChange(long batch, boolean setKeyspace, int keyspace, int kind, byte[] key, byte[] value);

  static native void batchMerge(
      long batch, boolean setKeyspace, int keyspace, byte[] key,
      int type, int keep, long u64, long i64, double f64, long capBytes, byte[] bytes, byte[] delimiter,
      byte[] name);

  static native void batchAppend(long batch, long source);

  static native void batchClear(long batch);

  /** Element 0: changes; element 1: bytes. */
  static native long batchSize(long batch, int which);

  static native long iteratorCreate(
      long db, int keyspace, long snapshot, int flags, byte[] prefix, byte[] lower, byte[] upper, boolean keysOnly);

  /**
   * Moves, and reads entries from there on into `buffer`, at most `budget` bytes but at least one entry; the iterator
   * then stands behind them. Budget 0: one entry, and the iterator stands at it.
   *
   * @return the bytes used; -1: there is no entry that way; less: the first entry needs -2 - result bytes and
   *     `buffer` has fewer
   */
  static native int iteratorMove(
      long iterator, int to, byte[] key, int keyOffset, int keySize, boolean backwards, byte[] buffer, int budget);

  static native byte[] iteratorFailedKey(long iterator);

  static native long transactionBegin(
      long db, int kind, int durability, long bytesMax, long waitMicrosMax, long snapshot, byte[] name);

  /** 0 commit, 1 rollback, 2 set savepoint, 3 roll back to savepoint, 4 release savepoint. */
  static native void transactionDo(long transaction, int what);

  static native byte[] transactionGet(long transaction, int keyspace, byte[] key);

  static native void transactionChange(long transaction, int keyspace, int kind, byte[] key, byte[] value);

  static native void transactionMerge(
      long transaction, int keyspace, byte[] key,
      int type, int keep, long u64, long i64, double f64, long capBytes, byte[] bytes, byte[] delimiter,
      byte[] name);

  /** The key, or null; the keyspace goes into keyspace[0]. */
  static native byte[] transactionConflict(long transaction, int[] keyspace);

  /** 0 sequence, 1 writes, 2 bytes. */
  static native long transactionSize(long transaction, int which);

  static native long cursorOpen(long transaction, int keyspace);

  static native boolean cursorMove(long cursor, int to, byte[] key);

  /** `which`: 0 key, 1 value. Null: there is no current key. */
  static native byte[] cursorEntry(long cursor, int which);

  static native void cursorPut(long cursor, byte[] value);

  static native void cursorDelete(long cursor);

  /**
   * `owner` is a transaction if `inTransaction`. The keyspace, or -1 if no keyspace has this name and `create` is
   * false.
   */
  static native long keyspaceOpen(long owner, boolean inTransaction, byte[] name, boolean create, boolean mayExist);

  /** Names in the first list, 4-byte big-endian numbers in the second. */
  static native byte[][][] keyspaceList(long owner, boolean inTransaction);

  /** `clear`: only what is in it. */
  static native void keyspaceDrop(
      long owner, boolean inTransaction, int durability, int optionsKeyspace, int keyspace, boolean clear);

  /** 0 flush, 1 sync the WAL, 2 wait for compactions, 3 check. */
  static native void databaseDo(long db, int what);

  static native void compact(long db, int keyspace, byte[] lower, byte[] upper);

  static native long[] approximateSizes(long db, byte[][] lowers, byte[][] uppers);

  static native byte[] property(long db, byte[] name);

  static native long[] checkpoint(long db, byte[] target, boolean mayLink, boolean verify, Callbacks progress);

  /** For each metric a text: 1 for a gauge, value, name, unit, help, with tabs between them. */
  static native byte[][] metrics(long db);

  static native void startTrace(long db, byte[] path, int sampling, boolean recordValues, long bytesMax);

  /** Operations, lost, bytes, 1 if it is full. */
  static native long[] endTrace(long db);
}
