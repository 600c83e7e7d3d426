package dev.mergedb.leveldb;

import dev.mergedb.Database;
import dev.mergedb.EntryIterator;
import dev.mergedb.IteratorOptions;
import dev.mergedb.KeyComparator;
import dev.mergedb.MergedbException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Supplier;
import org.iq80.leveldb.DB;
import org.iq80.leveldb.DBIterator;
import org.iq80.leveldb.Range;
import org.iq80.leveldb.ReadOptions;
import org.iq80.leveldb.Snapshot;
import org.iq80.leveldb.WriteBatch;
import org.iq80.leveldb.WriteOptions;

/** An open database behind LevelDB's interface. Any number of threads may use it. */
final class Store implements DB {
  private static final ReadOptions READ = new ReadOptions();
  private static final WriteOptions WRITE = new WriteOptions();

  private final Database database;
  private final KeyComparator order; // null: bytewise
  private final Properties properties;
  private final Suspension suspension = new Suspension();

  Store(Database database, KeyComparator order, Path directory) {
    this.database = database;
    this.order = order;
    this.properties = new Properties(database, directory);
  }

  Database database() {
    return database;
  }

  /** Runs a call of the database, with its errors in LevelDB's words. */
  private <T> T call(Supplier<T> body) {
    requireOpen();
    try {
      return body.get();
    } catch (MergedbException e) {
      throw Errors.of(e);
    }
  }

  private void requireOpen() {
    if (!database.isOpen()) {
      throw Errors.closed();
    }
  }

  // ---- reads -----------------------------------------------------------------------------------------------------

  @Override
  public byte[] get(byte[] key) {
    return get(key, READ);
  }

  @Override
  public byte[] get(byte[] key, ReadOptions options) {
    requireOpen();
    Errors.checkNotNull(options, "options");
    Errors.checkNotNull(key, "key");
    try {
      return options == READ ? database.get(key) : database.get(Settings.of(options), key);
    } catch (MergedbException e) {
      throw Errors.of(e);
    }
  }

  @Override
  public DBIterator iterator() {
    return iterator(READ);
  }

  @Override
  public DBIterator iterator(ReadOptions options) {
    requireOpen();
    Errors.checkNotNull(options, "options");
    return call(() -> new Cursor(database.iterator(IteratorOptions.DEFAULT.read(Settings.of(options)))));
  }

  @Override
  public Snapshot getSnapshot() {
    return call(() -> new HeldSnapshot(database.snapshot()));
  }

  // ---- writes ----------------------------------------------------------------------------------------------------

  private Snapshot snapshotAfter(WriteOptions options) {
    return options.snapshot() ? getSnapshot() : null;
  }

  @Override
  public void put(byte[] key, byte[] value) {
    put(key, value, WRITE);
  }

  @Override
  public Snapshot put(byte[] key, byte[] value, WriteOptions options) {
    requireOpen();
    Errors.checkNotNull(options, "options");
    Errors.checkNotNull(key, "key");
    Errors.checkNotNull(value, "value");
    suspension.await();
    try {
      database.put(Settings.of(options), key, value);
    } catch (MergedbException e) {
      throw Errors.of(e);
    }
    return snapshotAfter(options);
  }

  @Override
  public void delete(byte[] key) {
    delete(key, WRITE);
  }

  @Override
  public Snapshot delete(byte[] key, WriteOptions options) {
    requireOpen();
    Errors.checkNotNull(options, "options");
    Errors.checkNotNull(key, "key");
    suspension.await();
    try {
      database.delete(Settings.of(options), key);
    } catch (MergedbException e) {
      throw Errors.of(e);
    }
    return snapshotAfter(options);
  }

  @Override
  public WriteBatch createWriteBatch() {
    return new Batch();
  }

  @Override
  public void write(WriteBatch updates) {
    write(updates, WRITE);
  }

  @Override
  public Snapshot write(WriteBatch updates, WriteOptions options) {
    requireOpen();
    Errors.checkNotNull(options, "options");
    Errors.checkNotNull(updates, "updates");
    if (!(updates instanceof Batch batch)) {
      throw new IllegalArgumentException(
          "the batch is a " + updates.getClass().getName() + "; expected one of this database's createWriteBatch");
    }
    suspension.await();
    try {
      database.write(Settings.of(options), batch.batch());
    } catch (MergedbException e) {
      throw Errors.of(e);
    }
    return snapshotAfter(options);
  }

  // ---- the rest --------------------------------------------------------------------------------------------------

  @Override
  public long[] getApproximateSizes(Range... ranges) {
    requireOpen();
    Errors.checkNotNull(ranges, "ranges");
    List<dev.mergedb.Range> asked = new ArrayList<>();
    for (Range range : ranges) {
      Errors.checkNotNull(range, "range");
      asked.add(
          new dev.mergedb.Range(
              Errors.checkNotNull(range.start(), "start"), Errors.checkNotNull(range.limit(), "limit")));
    }
    return call(() -> database.approximateSizes(asked));
  }

  @Override
  public String getProperty(String name) {
    requireOpen();
    Errors.checkNotNull(name, "name");
    return call(() -> properties.get(name));
  }

  @Override
  public void suspendCompactions() throws InterruptedException {
    requireOpen();
    suspension.suspend();
    boolean done = false;
    try {
      call(
          () -> {
            database.flush();
            database.waitForCompactions();
            return null;
          });
      done = true;
    } finally {
      if (!done) {
        suspension.resume();
      }
    }
  }

  @Override
  public void resumeCompactions() {
    requireOpen();
    suspension.resume();
  }

  private boolean isSameKey(byte[] a, byte[] b) {
    return order == null ? Arrays.equals(a, b) : order.compare(a, b) == 0;
  }

  /** The end of LevelDB's range belongs to it, that of mergedb's does not: the key behind it, or null if there is none. */
  private byte[] keyAfter(byte[] end) {
    try (EntryIterator iterator = database.iterator(IteratorOptions.DEFAULT.keysOnly(true))) {
      boolean isThere = iterator.seek(end);
      if (isThere && isSameKey(iterator.key(), end)) {
        isThere = iterator.next();
      }
      return isThere ? iterator.key() : null;
    }
  }

  @Override
  public void compactRange(byte[] begin, byte[] end) {
    call(
        () -> {
          database.compactRange(begin, end == null ? null : keyAfter(end));
          return null;
        });
  }

  @Override
  public void close() throws LevelDbException {
    suspension.close();
    try {
      database.close();
    } catch (MergedbException e) {
      throw Errors.ofClose(e);
    }
  }

  @Override
  public String toString() {
    return "mergedb " + database;
  }
}
