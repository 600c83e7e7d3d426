package voldemort.store.mergedb;

import dev.mergedb.versions.Entry;
import dev.mergedb.versions.LockedKey;
import dev.mergedb.versions.Scan;
import dev.mergedb.versions.VersionedStore;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import voldemort.VoldemortException;
import voldemort.server.storage.KeyLockHandle;
import voldemort.store.AbstractStorageEngine;
import voldemort.store.StoreUtils;
import voldemort.utils.ByteArray;
import voldemort.utils.ClosableIterator;
import voldemort.utils.Pair;
import voldemort.versioning.Version;
import voldemort.versioning.Versioned;

/**
 * A store of Voldemort on mergedb. Thread-safe; iterators are for one thread at a time. Errors of the database are {@link
 * voldemort.store.PersistenceFailureException}s whose cause is the {@link dev.mergedb.MergedbException}. Transforms are not used.
 */
public class MergedbStorageEngine extends AbstractStorageEngine<ByteArray, byte[], byte[]> {
  private final VersionedStore store;

  /**
   * An engine on an open store.
   *
   * @param store the store; the engine closes it
   */
  public MergedbStorageEngine(VersionedStore store) {
    super(store.name());
    this.store = store;
  }

  @Override
  public List<Versioned<byte[]>> get(ByteArray key, byte[] transforms) {
    StoreUtils.assertValidKey(key);
    return Translation.call(() -> Translation.theirs(store.get(key.get())));
  }

  /** Reads the keys by one call of the database. Keys that are not there are not in the result. */
  @Override
  public Map<ByteArray, List<Versioned<byte[]>>> getAll(Iterable<ByteArray> keys, Map<ByteArray, byte[]> transforms) {
    StoreUtils.assertValidKeys(keys);
    List<ByteArray> asked = new ArrayList<>();
    keys.forEach(asked::add);
    return Translation.call(
        () -> {
          List<List<dev.mergedb.versions.Versioned>> found = store.getAll(asked.stream().map(ByteArray::get).toList());
          Map<ByteArray, List<Versioned<byte[]>>> result = new HashMap<>(2 * asked.size());
          for (int i = 0; i < asked.size(); ++i) {
            if (!found.get(i).isEmpty()) {
              result.put(asked.get(i), Translation.theirs(found.get(i)));
            }
          }
          return result;
        });
  }

  @Override
  public List<Version> getVersions(ByteArray key) {
    StoreUtils.assertValidKey(key);
    return Translation.call(
        () -> {
          List<Version> versions = new ArrayList<>(1);
          store.getVersions(key.get()).forEach(clock -> versions.add(Translation.clock(clock)));
          return versions;
        });
  }

  @Override
  public void put(ByteArray key, Versioned<byte[]> value, byte[] transforms) {
    StoreUtils.assertValidKey(key);
    Translation.call(
        () -> {
          store.put(key.get(), Translation.versioned(value));
          return null;
        });
  }

  @Override
  public List<Versioned<byte[]>> multiVersionPut(ByteArray key, List<Versioned<byte[]>> values) {
    StoreUtils.assertValidKey(key);
    return Translation.call(() -> Translation.theirs(store.multiVersionPut(key.get(), Translation.ours(values))));
  }

  @Override
  public boolean delete(ByteArray key, Version version) {
    StoreUtils.assertValidKey(key);
    return Translation.call(() -> store.delete(key.get(), version == null ? null : Translation.clock(version)));
  }

  @Override
  public KeyLockHandle<byte[]> getAndLock(ByteArray key) {
    StoreUtils.assertValidKey(key);
    return Translation.call(
        () -> {
          LockedKey locked = store.getAndLock(key.get());
          return new KeyLockHandle<>(Translation.theirs(locked.versions()), locked);
        });
  }

  @Override
  public void putAndUnlock(ByteArray key, KeyLockHandle<byte[]> handle) {
    StoreUtils.assertValidKey(key);
    LockedKey locked = locked(handle);
    if (!key.equals(new ByteArray(locked.key()))) {
      throw new IllegalArgumentException("expected the key that the handle locks, " + new ByteArray(locked.key()) + "; found " + key);
    }
    try {
      Translation.call(
          () -> {
            store.putAndUnlock(locked, Translation.ours(handle.getValues()));
            return null;
          });
    } finally {
      handle.close();
    }
  }

  @Override
  public void releaseLock(KeyLockHandle<byte[]> handle) {
    store.releaseLock(locked(handle));
    handle.close();
  }

  private static LockedKey locked(KeyLockHandle<byte[]> handle) {
    if (!(handle.getKeyLock() instanceof LockedKey locked)) {
      throw new IllegalArgumentException("expected a handle of getAndLock of this engine, found one of another");
    }
    return locked;
  }

  @Override
  public ClosableIterator<Pair<ByteArray, Versioned<byte[]>>> entries() {
    return Translation.call(() -> new Iteration<>(store.entries(), MergedbStorageEngine::pair));
  }

  @Override
  public ClosableIterator<Pair<ByteArray, Versioned<byte[]>>> entries(int partition) {
    return Translation.call(() -> new Iteration<>(store.entries(partition), MergedbStorageEngine::pair));
  }

  @Override
  public ClosableIterator<ByteArray> keys() {
    return Translation.call(() -> new Iteration<>(store.keys(), ByteArray::new));
  }

  @Override
  public ClosableIterator<ByteArray> keys(int partition) {
    return Translation.call(() -> new Iteration<>(store.keys(partition), ByteArray::new));
  }

  private static Pair<ByteArray, Versioned<byte[]>> pair(Entry entry) {
    return Pair.create(new ByteArray(entry.key()), Translation.versioned(entry.version()));
  }

  /** A scan as Voldemort's iterator. */
  private static final class Iteration<S, T> implements ClosableIterator<T> {
    private final Scan<S> scan;
    private final Function<S, T> translate;

    Iteration(Scan<S> scan, Function<S, T> translate) {
      this.scan = scan;
      this.translate = translate;
    }

    @Override
    public boolean hasNext() {
      return Translation.call(scan::hasNext);
    }

    @Override
    public T next() {
      return Translation.call(() -> translate.apply(scan.next()));
    }

    @Override
    public void remove() {
      throw new UnsupportedOperationException("iterators of mergedb do not support remove; delete the key");
    }

    @Override
    public void close() {
      scan.close();
    }
  }

  @Override
  public void truncate() {
    Translation.call(
        () -> {
          store.truncate();
          return null;
        });
  }

  @Override
  public boolean isPartitionScanSupported() {
    return store.isPartitioned();
  }

  @Override
  public boolean beginBatchModifications() {
    return Translation.call(store::beginBatch);
  }

  @Override
  public boolean endBatchModifications() {
    return Translation.call(store::endBatch);
  }

  /** Refuses further calls; the configuration closes the database. Idempotent. */
  @Override
  public void close() throws VoldemortException {
    store.close();
  }
}
