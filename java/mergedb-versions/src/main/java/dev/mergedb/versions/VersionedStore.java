package dev.mergedb.versions;

import dev.mergedb.Database;
import dev.mergedb.EntryIterator;
import dev.mergedb.IteratorOptions;
import dev.mergedb.Keyspace;
import dev.mergedb.MergedbException;
import dev.mergedb.ReadOptions;
import dev.mergedb.Snapshot;
import dev.mergedb.WriteBatch;
import dev.mergedb.WriteOptions;
import dev.mergedb.versions.VersionRecord.Sibling;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Keys with versions, in one keyspace of a database. A put keeps the versions that are concurrent to it, replaces those that it supersedes, and is
 * refused if it is obsolete. Every change of a key is atomic: after a crash the key has the versions from before the change or from
 * after it.
 *
 * <p>Thread-safe. One store at a time may be open on a keyspace: its locks serialize the writers of a key. The store uses the database and does
 * not close it. Every method throws {@link MergedbException} for errors of the database, with code CLOSED after {@link #close}; {@link
 * NullPointerException} for null; {@link VersionFormatException} if a stored record is damaged.
 */
public final class VersionedStore implements AutoCloseable {
  private final Database database;
  private final Keyspace keyspace;
  private final String name;
  private final KeyLayout layout;
  private final StripedLocks locks;
  private final CallPool reads;
  private final CallPool writes;
  private final ReadOptions readOptions;
  private final WriteOptions writtenHere;
  private final WriteOptions syncedHere;
  private final boolean isSynced;

  private final AtomicBoolean isInBatch = new AtomicBoolean();
  private volatile boolean isOpen = true;

  private VersionedStore(Database database, Keyspace keyspace, StoreOptions options) {
    this.database = database;
    this.keyspace = keyspace;
    this.name = options.name;
    this.layout = new KeyLayout(options.partitioner);
    this.locks = new StripedLocks(options.lockStripes);
    this.readOptions =
        ReadOptions.DEFAULT.in(keyspace).withFillCache(options.fillsCache).withVerifyChecksums(options.verifiesChecksums);
    this.writtenHere = WriteOptions.DEFAULT.in(keyspace);
    this.syncedHere = WriteOptions.SYNCED.in(keyspace);
    this.isSynced = options.isSynced;
    this.reads = CallPool.of(options.readPool, options.hasPoolThreads, name + "-read");
    this.writes = CallPool.of(options.writePool, options.hasPoolThreads, name + "-write");
  }

  /**
   * Opens the store of a keyspace; an empty keyspace becomes one.
   *
   * @param database stays the caller's
   * @param keyspace holds nothing but this store
   * @param options how
   * @return the store, to be closed before the database
   * @throws MergedbException INVALID_ARGUMENT if the keyspace holds other data, has the other layout, or an import into it was not finished
   * @throws IllegalArgumentException if a number in the options is out of range
   */
  public static VersionedStore open(Database database, Keyspace keyspace, StoreOptions options) {
    VersionedStore store = new VersionedStore(Objects.requireNonNull(database), Objects.requireNonNull(keyspace), options);
    StoreMark mark = StoreMark.read(database, keyspace, store.name);
    if (mark == null) {
      store.mark().write(database, store.writeHere());
    } else if (mark.isImporting()) {
      throw new MergedbException(
          MergedbException.Code.INVALID_ARGUMENT,
          "store " + store.name + ": an import was interrupted; run SeedImport with the same directory again");
    } else if (mark.isPartitioned() != store.layout.isPartitioned()) {
      throw new MergedbException(
          MergedbException.Code.INVALID_ARGUMENT,
          "store "
              + store.name
              + (mark.isPartitioned()
                  ? ": its keys have partition prefixes, and the options have no partitioner; set one"
                  : ": its keys have no partition prefixes, and the options have a partitioner; remove it"));
    }
    return store;
  }

  private StoreMark mark() {
    return new StoreMark(layout.isPartitioned(), false);
  }

  // ---- reading ------------------------------------------------------------------------------------------------------

  /**
   * The versions of a key.
   *
   * @param key the key
   * @return a new, mutable list; empty: the key is not there
   */
  public List<Versioned> get(byte[] key) {
    checkOpen();
    byte[] headKey = layout.headKey(key);
    return reads.call(() -> read(headKey));
  }

  /**
   * The versions of several keys.
   *
   * @param keys the keys
   * @return for each key, in their order, what {@link #get} gives. Each key is as of one moment; keys with several versions may be as of a later one
   */
  public List<List<Versioned>> getAll(List<byte[]> keys) {
    checkOpen();
    List<byte[]> headKeys = keys.stream().map(layout::headKey).toList();
    return reads.call(
        () -> {
          List<byte[]> heads = database.multiGet(readOptions, headKeys);
          List<List<Versioned>> found = new ArrayList<>(headKeys.size());
          for (int i = 0; i < headKeys.size(); ++i) {
            VersionRecord head = head(headKeys.get(i), heads.get(i));
            found.add(head == null || head.siblings.isEmpty() ? alone(head) : read(headKeys.get(i)));
          }
          return found;
        });
  }

  /**
   * The clocks of a key's versions, by one read.
   *
   * @param key the key
   * @return a new list; empty: the key is not there
   */
  public List<VectorClock> getVersions(byte[] key) {
    checkOpen();
    byte[] headKey = layout.headKey(key);
    VersionRecord head = reads.call(() -> head(headKey, database.get(readOptions, headKey)));
    List<VectorClock> clocks = new ArrayList<>(1);
    if (head != null) {
      clocks.add(head.clock);
      head.siblings.forEach(sibling -> clocks.add(sibling.clock()));
    }
    return clocks;
  }

  /** A key with one version costs one get. Several versions are read under a snapshot, so that they are of one moment. */
  private List<Versioned> read(byte[] headKey) {
    VersionRecord head = head(headKey, database.get(readOptions, headKey));
    if (head == null || head.siblings.isEmpty()) {
      return alone(head);
    }
    try (Snapshot snapshot = database.snapshot()) {
      ReadOptions then = readOptions.withSnapshot(snapshot);
      head = head(headKey, database.get(then, headKey));
      List<Versioned> versions = alone(head);
      if (head != null) {
        addSiblings(then, headKey, head, versions);
      }
      return versions;
    }
  }

  private static List<Versioned> alone(VersionRecord head) {
    List<Versioned> versions = new ArrayList<>(1);
    if (head != null) {
      versions.add(head.version());
    }
    return versions;
  }

  private void addSiblings(ReadOptions options, byte[] headKey, VersionRecord head, List<Versioned> versions) {
    List<byte[]> keys = head.siblings.stream().map(sibling -> KeyLayout.siblingKey(headKey, sibling.slot())).toList();
    List<byte[]> found = database.multiGet(options, keys);
    for (int i = 0; i < keys.size(); ++i) {
      versions.add(sibling(keys.get(i), found.get(i), head.siblings.get(i)));
    }
  }

  private VersionRecord head(byte[] headKey, byte[] bytes) {
    try {
      return bytes == null ? null : VersionRecord.head(bytes);
    } catch (VersionFormatException e) {
      throw damaged(headKey, e);
    }
  }

  private Versioned sibling(byte[] recordKey, byte[] bytes, Sibling expected) {
    try {
      if (bytes == null) {
        throw new VersionFormatException("expected the version " + expected.clock() + ", found no record");
      }
      Versioned version = VersionRecord.sibling(bytes);
      if (!version.clock().equals(expected.clock())) {
        throw new VersionFormatException("expected the version " + expected.clock() + ", found " + version.clock());
      }
      return version;
    } catch (VersionFormatException e) {
      throw damaged(recordKey, e);
    }
  }

  private VersionFormatException damaged(byte[] recordKey, VersionFormatException e) {
    return new VersionFormatException(
        "store "
            + name
            + ", record "
            + Bytes.hex(recordKey)
            + ": "
            + e.getMessage()
            + ": delete the key with version null, or check the database with mergedb verify",
        e);
  }

  // ---- writing ------------------------------------------------------------------------------------------------------

  /**
   * Adds a version. Versions that it supersedes go, concurrent ones stay.
   *
   * @param key the key
   * @param version the version
   * @throws ObsoleteVersionException if the key has a version that is as new or newer; nothing changes
   */
  public void put(byte[] key, Versioned version) {
    Objects.requireNonNull(version, "version");
    List<Versioned> obsolete = change(key, (headKey, bytes) -> add(headKey, head(headKey, bytes), List.of(version), true));
    assert obsolete.isEmpty();
  }

  /**
   * Adds several versions by one atomic change, each as {@link #put} would, in the order of the list.
   *
   * @param key the key
   * @param versions the versions
   * @return those that were refused as obsolete: a new list
   */
  public List<Versioned> multiVersionPut(byte[] key, List<Versioned> versions) {
    List<Versioned> copy = List.copyOf(versions);
    return change(key, (headKey, bytes) -> add(headKey, head(headKey, bytes), copy, false));
  }

  /**
   * Deletes the versions that a clock supersedes or equals.
   *
   * @param key the key
   * @param clock the clock; null: all versions, also damaged ones
   * @return whether a version was deleted
   */
  public boolean delete(byte[] key, VectorClock clock) {
    return change(
        key,
        (headKey, bytes) -> {
          if (bytes == null) {
            return false;
          }
          if (clock == null) {
            deleteAll(headKey, bytes);
            return true;
          }
          VersionRecord head = head(headKey, bytes);
          Slots slots = new Slots(head);
          boolean isChanged = slots.removeIf(stored -> stored.compare(clock) == Occurred.BEFORE);
          if (isChanged) {
            commit(headKey, head, slots, List.of());
          }
          return isChanged;
        });
  }

  /**
   * Locks a key for the calling thread and reads its versions. Other writers of the key, and of keys of the same stripe, wait. The same thread
   * must call {@link #putAndUnlock} or {@link #releaseLock} once.
   *
   * @param key the key; kept, not copied
   * @return the key and its versions
   */
  public LockedKey getAndLock(byte[] key) {
    checkOpen();
    byte[] headKey = layout.headKey(key);
    ReentrantLock lock = locks.of(key);
    lock.lock();
    boolean isLocked = false;
    try {
      LockedKey locked = new LockedKey(key, reads.call(() -> read(headKey)), lock);
      isLocked = true;
      return locked;
    } finally {
      if (!isLocked) {
        lock.unlock();
      }
    }
  }

  /**
   * Replaces all versions of a locked key and unlocks it, also if the write fails.
   *
   * @param locked what {@link #getAndLock} gave
   * @param versions the versions that the key has from now on, stored as they are; empty: the key is deleted
   * @throws IllegalStateException if another thread locked it, or it was unlocked before
   */
  public void putAndUnlock(LockedKey locked, List<Versioned> versions) {
    locked.check();
    try {
      List<Versioned> copy = List.copyOf(versions);
      change(
          locked.key(),
          (headKey, bytes) -> {
            VersionRecord head = head(headKey, bytes);
            Slots slots = new Slots(head);
            slots.removeIf(stored -> true);
            commit(headKey, head, slots, copy);
            return true;
          });
    } finally {
      locked.unlock();
    }
  }

  /**
   * Unlocks a key and changes nothing.
   *
   * @param locked what {@link #getAndLock} gave
   * @throws IllegalStateException if another thread locked it, or it was unlocked before
   */
  public void releaseLock(LockedKey locked) {
    locked.check();
    locked.unlock();
  }

  /**
   * Deletes every key, by one write: a range delete. Waits for all writers, and until the range delete is in a table.
   *
   * @throws IllegalStateException if the calling thread has a key locked
   */
  public void truncate() {
    checkOpen();
    locks.lockAll(name);
    try {
      writes.call(
          () -> {
            deleteRecords();
            return null;
          });
    } finally {
      locks.unlockAll();
    }
  }

  /** The mark is before the range and stays: a keyspace with records and without a mark does not open. */
  private void deleteRecords() {
    byte[] last = lastRecord();
    if (last == null) {
      return;
    }
    try (WriteBatch batch = new WriteBatch()) {
      batch.deleteRange(keyspace, KeyLayout.FIRST_RECORD, last);
      batch.delete(keyspace, last);
      database.write(writeOptions(), batch);
    }
    database.flush(); // a range delete that is not in a table gives no space back
  }

  /** The key of the last record, or null: there is none. */
  private byte[] lastRecord() {
    IteratorOptions range = IteratorOptions.DEFAULT.read(readOptions).keysOnly(true).lower(KeyLayout.FIRST_RECORD);
    try (EntryIterator records = database.iterator(range)) {
      return records.seekToLast() ? records.key() : null;
    }
  }

  /**
   * Begins a bulk load: until {@link #endBatch} a write of a synced store survives the end of the process only. A store that is not synced writes as always.
   *
   * @return false: a batch was begun before
   */
  public boolean beginBatch() {
    checkOpen();
    return isInBatch.compareAndSet(false, true);
  }

  /**
   * Ends a bulk load. In a synced store all of its writes then survive power loss.
   *
   * @return false: no batch was begun
   */
  public boolean endBatch() {
    checkOpen();
    if (!isInBatch.compareAndSet(true, false)) {
      return false;
    }
    if (isSynced) {
      database.syncWal();
    }
    return true;
  }

  /** What a change of one key does, under the key's lock. */
  private interface Change<T> {
    T apply(byte[] headKey, byte[] headBytes);
  }

  /** Takes the lock in the caller's thread, so that no call in a pool waits for a lock. */
  private <T> T change(byte[] key, Change<T> change) {
    checkOpen();
    byte[] headKey = layout.headKey(key);
    ReentrantLock lock = locks.of(key);
    lock.lock();
    try {
      return writes.call(() -> change.apply(headKey, database.get(readOptions, headKey)));
    } finally {
      lock.unlock();
    }
  }

  private List<Versioned> add(byte[] headKey, VersionRecord head, List<Versioned> versions, boolean refuses) {
    Slots slots = new Slots(head);
    List<Versioned> added = new ArrayList<>(versions.size());
    List<Versioned> obsolete = new ArrayList<>(0);
    for (Versioned version : versions) {
      VectorClock newer = slots.supersede(version.clock());
      if (newer == null) {
        newer = supersede(added, version.clock());
      }
      if (newer == null) {
        added.add(version);
      } else if (refuses) {
        throw new ObsoleteVersionException(
            "store " + name + ", key " + Bytes.hex(layout.key(headKey)) + ": " + version.clock() + " is obsolete: the store has " + newer,
            version.clock(),
            newer);
      } else {
        obsolete.add(version);
      }
    }
    if (!added.isEmpty()) {
      commit(headKey, head, slots, added);
    }
    return obsolete;
  }

  /** Removes what the clock supersedes; returns a clock that is as new or newer, or null. */
  private static VectorClock supersede(List<Versioned> versions, VectorClock clock) {
    Iterator<Versioned> rest = versions.iterator();
    while (rest.hasNext()) {
      VectorClock stored = rest.next().clock();
      Occurred occurred = clock.compare(stored);
      if (occurred == Occurred.BEFORE) {
        return stored;
      }
      if (occurred == Occurred.AFTER) {
        rest.remove();
      }
    }
    return null;
  }

  /** If the head is damaged, nothing says which siblings there are: a scan of the key's records finds them. */
  private void deleteAll(byte[] headKey, byte[] headBytes) {
    Puts puts = new Puts();
    try {
      for (Sibling sibling : VersionRecord.head(headBytes).siblings) {
        puts.delete(KeyLayout.siblingKey(headKey, sibling.slot()));
      }
    } catch (VersionFormatException e) {
      byte[] last = KeyLayout.siblingKey(headKey, KeyLayout.SLOT_MAX);
      IteratorOptions range = IteratorOptions.DEFAULT.read(readOptions).keysOnly(true).lower(headKey);
      try (EntryIterator records = database.iterator(range)) {
        for (boolean is = records.seek(headKey); is && Arrays.compareUnsigned(records.key(), last) <= 0; is = records.next()) {
          if (records.key().length == headKey.length && !Arrays.equals(records.key(), headKey)) {
            puts.delete(records.key());
          }
        }
      }
    }
    puts.delete(headKey);
    puts.write();
  }

  /** Writes the kept versions of `slots` and the added ones as the versions of the key, by one write. */
  private void commit(byte[] headKey, VersionRecord head, Slots slots, List<Versioned> added) {
    List<Sibling> siblings = slots.keptSiblings();
    List<Versioned> newSiblings = added;
    Versioned first = null;
    if (slots.isHeadKept()) {
      first = head.version();
    } else if (!added.isEmpty()) {
      first = added.get(0);
      newSiblings = added.subList(1, added.size());
    }
    Puts puts = new Puts();
    slots.droppedSiblings().forEach(sibling -> puts.delete(KeyLayout.siblingKey(headKey, sibling.slot())));
    if (first == null && !siblings.isEmpty()) {
      Sibling promoted = siblings.remove(0);
      byte[] recordKey = KeyLayout.siblingKey(headKey, promoted.slot());
      first = sibling(recordKey, database.get(readOptions, recordKey), promoted);
      puts.delete(recordKey);
    }
    if (first == null) {
      if (head == null) {
        return;
      }
      puts.delete(headKey);
    } else {
      for (Versioned version : newSiblings) {
        int slot = insert(siblings, version.clock());
        puts.put(KeyLayout.siblingKey(headKey, slot), VersionRecord.siblingBytes(version));
      }
      puts.put(headKey, VersionRecord.headBytes(first, siblings));
    }
    puts.write();
  }

  /** Adds a sibling at the lowest free slot; keeps the list in the order of slots. */
  private int insert(List<Sibling> siblings, VectorClock clock) {
    int at = 0;
    while (at < siblings.size() && siblings.get(at).slot() == at + 1) {
      ++at;
    }
    if (at + 1 > KeyLayout.SLOT_MAX) {
      throw new IllegalStateException(
          "store " + name + ": a key has " + (KeyLayout.SLOT_MAX + 1) + " concurrent versions; write a version that supersedes them");
    }
    siblings.add(at, new Sibling(at + 1, clock));
    return at + 1;
  }

  /** The records of one change: one call if there is one, else a batch. */
  private final class Puts {
    private final List<byte[]> keys = new ArrayList<>(1);

    /** Null: the record is deleted. */
    private final List<byte[]> values = new ArrayList<>(1);

    void put(byte[] recordKey, byte[] bytes) {
      keys.add(recordKey);
      values.add(bytes);
    }

    void delete(byte[] recordKey) {
      put(recordKey, null);
    }

    void write() {
      if (keys.size() == 1) {
        WriteOptions options = writeHere();
        if (values.get(0) == null) {
          database.delete(options, keys.get(0));
        } else {
          database.put(options, keys.get(0), values.get(0));
        }
        return;
      }
      try (WriteBatch batch = new WriteBatch()) {
        for (int i = 0; i < keys.size(); ++i) {
          if (values.get(i) == null) {
            batch.delete(keyspace, keys.get(i));
          } else {
            batch.put(keyspace, keys.get(i), values.get(i));
          }
        }
        database.write(writeOptions(), batch);
      }
    }
  }

  /** For calls that name their keyspace themselves. */
  private WriteOptions writeOptions() {
    return isSynced && !isInBatch.get() ? WriteOptions.SYNCED : WriteOptions.DEFAULT;
  }

  /** For calls on one key. */
  private WriteOptions writeHere() {
    return isSynced && !isInBatch.get() ? syncedHere : writtenHere;
  }

  // ---- scanning -----------------------------------------------------------------------------------------------------

  /**
   * Whether {@link #entries(int)} and {@link #keys(int)} work.
   *
   * @return true: the store is partitioned
   */
  public boolean isPartitioned() {
    return layout.isPartitioned();
  }

  /**
   * All entries: a key with several versions comes several times in a row.
   *
   * @return a scan, in the order of partitions, to be closed by the caller
   */
  public Scan<Entry> entries() {
    return scan(false, IteratorOptions.DEFAULT.lower(KeyLayout.FIRST_RECORD), this::takeEntries);
  }

  /**
   * The entries of one partition.
   *
   * @param partition 0 to 65,535
   * @return a scan, to be closed by the caller
   * @throws UnsupportedOperationException if the store is not partitioned
   */
  public Scan<Entry> entries(int partition) {
    return scan(false, IteratorOptions.DEFAULT.prefix(prefix(partition)), this::takeEntries);
  }

  /**
   * All keys, each once.
   *
   * @return a scan, in the order of partitions, to be closed by the caller
   */
  public Scan<byte[]> keys() {
    return scan(true, IteratorOptions.DEFAULT.lower(KeyLayout.FIRST_RECORD), reads -> this::takeKey);
  }

  /**
   * The keys of one partition, each once.
   *
   * @param partition 0 to 65,535
   * @return a scan, to be closed by the caller
   * @throws UnsupportedOperationException if the store is not partitioned
   */
  public Scan<byte[]> keys(int partition) {
    return scan(true, IteratorOptions.DEFAULT.prefix(prefix(partition)), reads -> this::takeKey);
  }

  private byte[] prefix(int partition) {
    if (!layout.isPartitioned()) {
      throw new UnsupportedOperationException(
          "store " + name + " is not partitioned; scan the whole store, or create a new store with a partitioner");
    }
    return KeyLayout.prefix(partition);
  }

  /** Makes the step of a scan that reads with these options. */
  private interface Steps<T> {
    Scan.Step<T> with(ReadOptions options);
  }

  private <T> Scan<T> scan(boolean keysOnly, IteratorOptions range, Steps<T> steps) {
    checkOpen();
    Snapshot snapshot = database.snapshot();
    try {
      ReadOptions options = readOptions.withSnapshot(snapshot);
      EntryIterator records = database.iterator(range.read(options).keysOnly(keysOnly));
      return new Scan<>(snapshot, records, steps.with(options));
    } catch (RuntimeException | Error e) {
      snapshot.close();
      throw e;
    }
  }

  private Scan.Step<Entry> takeEntries(ReadOptions options) {
    return (recordKey, bytes, found) -> {
      if (isHead(recordKey)) {
        VersionRecord head = head(recordKey, bytes);
        List<Versioned> versions = alone(head);
        addSiblings(options, recordKey, head, versions);
        byte[] key = layout.key(recordKey);
        versions.forEach(version -> found.add(new Entry(key, version)));
      }
    };
  }

  private void takeKey(byte[] recordKey, byte[] bytes, Queue<byte[]> found) {
    if (isHead(recordKey)) {
      found.add(layout.key(recordKey));
    }
  }

  private boolean isHead(byte[] recordKey) {
    if (!layout.isRecordKey(recordKey)) {
      throw damaged(recordKey, new VersionFormatException("expected a longer key"));
    }
    return KeyLayout.slot(recordKey) == KeyLayout.HEAD_SLOT;
  }

  // ---- the end ------------------------------------------------------------------------------------------------------

  /**
   * The name that the options gave it.
   *
   * @return the name
   */
  public String name() {
    return name;
  }

  /** Refuses further calls. Calls that are running finish. Open scans go on until the database is closed. Idempotent. */
  @Override
  public void close() {
    isOpen = false;
    reads.close();
    writes.close();
  }

  private void checkOpen() {
    if (!isOpen) {
      throw new MergedbException(MergedbException.Code.CLOSED, "store " + name + " is closed; open it again");
    }
  }
}
