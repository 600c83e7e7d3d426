package dev.mergedb.infinispan;

import dev.mergedb.Database;
import dev.mergedb.Keyspace;
import dev.mergedb.MergedbException;
import dev.mergedb.Options;
import dev.mergedb.Snapshot;
import dev.mergedb.WriteBatch;
import dev.mergedb.WriteOptions;
import io.reactivex.rxjava3.core.Flowable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.infinispan.commons.configuration.ConfiguredBy;
import org.infinispan.commons.io.ByteBuffer;
import org.infinispan.commons.io.ByteBufferFactory;
import org.infinispan.commons.time.TimeService;
import org.infinispan.commons.util.IntSet;
import org.infinispan.marshall.persistence.PersistenceMarshaller;
import org.infinispan.persistence.PersistenceUtil;
import org.infinispan.persistence.spi.InitializationContext;
import org.infinispan.persistence.spi.MarshallableEntry;
import org.infinispan.persistence.spi.MarshallableEntryFactory;
import org.infinispan.persistence.spi.NonBlockingStore;
import org.infinispan.persistence.spi.PersistenceException;
import org.infinispan.util.concurrent.BlockingManager;
import org.jboss.logging.Logger;
import org.reactivestreams.Publisher;

/**
 * Keeps the entries of one Infinispan cache in a mergedb database: a directory for each cache of each node, below the
 * path of {@link MergedbStoreConfiguration}.
 *
 * <p>The store is for the entries that its node owns; it is not for several nodes to share. It reads and writes on the
 * threads of Infinispan's {@link BlockingManager} only. A write that has completed is as durable as the configuration
 * says. A segment that the node loses is removed by one range delete, and so is everything by {@link #clear()}.
 *
 * <p>Every failure is a {@link PersistenceException} that names the cache, the directory and what failed, and that has
 * the {@link MergedbException} as its cause. Thread-safe, as {@link NonBlockingStore} asks.
 *
 * @param <K> the type of keys
 * @param <V> the type of values
 */
@ConfiguredBy(MergedbStoreConfiguration.class)
public class MergedbStore<K, V> implements NonBlockingStore<K, V> {
  private static final Logger LOGGER = Logger.getLogger(MergedbStore.class);
  private static final String DIRECTORY_NAME = "mergedb";
  private static final String EXPIRY_KEYSPACE = "expiry";
  private static final long BATCH_BYTES_MAX = 16L << 20;

  // Set by start, before any other call.
  private BlockingManager blocking;
  private TimeService time;
  private PersistenceMarshaller marshaller;
  private MarshallableEntryFactory<K, V> entries;
  private ByteBufferFactory buffers;
  private String cacheName;
  private Path directory;
  private boolean isSegmented;
  private WriteOptions writeOptions;
  private volatile Database database;  // null: not open
  private volatile ExpiryIndex expiry;

  /** Infinispan makes a store and then starts it. */
  public MergedbStore() {}

  @Override
  public Set<Characteristic> characteristics() {
    return EnumSet.of(Characteristic.BULK_READ, Characteristic.EXPIRATION, Characteristic.SEGMENTABLE);
  }

  @Override
  public CompletionStage<Void> start(InitializationContext context) {
    MergedbStoreConfiguration configuration = context.getConfiguration();
    blocking = context.getBlockingManager();
    time = context.getTimeService();
    marshaller = context.getPersistenceMarshaller();
    entries = context.getMarshallableEntryFactory();
    buffers = context.getByteBufferFactory();
    cacheName = context.getCache().getName();
    isSegmented = configuration.segmented();
    writeOptions = WriteOptions.DEFAULT.withDurability(configuration.durability().durability());
    directory = PersistenceUtil.getQualifiedLocation(context.getGlobalConfiguration(), configuration.path(), cacheName,
        DIRECTORY_NAME);
    return run("open", () -> open(context, configuration));
  }

  private void open(InitializationContext context, MergedbStoreConfiguration configuration) {
    try {
      if (context.canStoreDirectlyPurgeOnStartup() && Files.exists(directory)) Database.destroy(directory);
      Files.createDirectories(directory);
    } catch (IOException e) {
      throw new PersistenceException("cannot create the directory: " + e, e);
    }
    Database opened = Database.open(directory, optionsOf(configuration));
    try {
      StoreLayout.of(context, isSegmented).checkOrWrite(opened);
      expiry = new ExpiryIndex(opened, opened.keyspace(EXPIRY_KEYSPACE), configuration.durability().durability());
    } catch (RuntimeException | Error e) {
      opened.close();
      throw e;
    }
    database = opened;
  }

  private static Options optionsOf(MergedbStoreConfiguration configuration) {
    Options options = new Options().logger(LOGGER::debug);
    if (configuration.memoryBytes() != null) options.memoryBytes(configuration.memoryBytes());
    if (configuration.writeBufferBytes() != null) options.writeBufferBytes(configuration.writeBufferBytes());
    if (configuration.compression() != null) {
      options.upperCompression(configuration.compression().compression())
          .bottomCompression(configuration.compression().compression());
    }
    return options;
  }

  /** Closes the database. A store that never started, or that is stopped, stays as it is. */
  @Override
  public CompletionStage<Void> stop() {
    if (blocking == null) return CompletableFuture.completedFuture(null);
    return run("close", this::close);
  }

  private void close() {
    Database open = database;
    database = null;
    expiry = null;
    if (open != null) open.close();
  }

  /** Closes the database and removes its directory. */
  @Override
  public CompletionStage<Void> destroy() {
    if (blocking == null) return CompletableFuture.completedFuture(null);
    return run("destroy", () -> {
      close();
      if (Files.exists(directory)) Database.destroy(directory);
    });
  }

  /** Whether the database is open. A full disk or a failed write does not close it. */
  @Override
  public CompletionStage<Boolean> isAvailable() {
    Database open = database;
    return CompletableFuture.completedFuture(open != null && open.isOpen());
  }

  @Override
  public CompletionStage<MarshallableEntry<K, V>> load(int segment, Object key) {
    return supply("load", () -> {
      byte[] bytes = database().get(keyOf(segment, key));
      if (bytes == null) return null;
      StoredEntry entry = new StoredEntry(bytes);
      return entry.isExpired(time.wallClockTime()) ? null : entry.decode(key, entries, buffers, true);
    });
  }

  @Override
  public CompletionStage<Boolean> containsKey(int segment, Object key) {
    return supply("containsKey", () -> {
      byte[] bytes = database().get(keyOf(segment, key));
      return bytes != null && !new StoredEntry(bytes).isExpired(time.wallClockTime());
    });
  }

  @Override
  public CompletionStage<Void> write(int segment, MarshallableEntry<? extends K, ? extends V> entry) {
    return run("write", () -> {
      byte[] key = keyOf(segment, entry.getKeyBytes());
      byte[] value = StoredEntry.encode(entry);
      long expiryTime = entry.expiryTime();
      if (expiryTime == StoredEntry.NEVER) {
        database().put(writeOptions, key, value);
        return;
      }
      try (WriteBatch batch = new WriteBatch()) {
        batch.put(key, value);
        expiry().add(batch, key, expiryTime, time.wallClockTime());
        database().write(writeOptions, batch);
      }
    });
  }

  /** Completes with null: the entry is removed without a look at whether it was there. */
  @Override
  public CompletionStage<Boolean> delete(int segment, Object key) {
    return supply("delete", () -> {
      database().delete(writeOptions, keyOf(segment, key));
      return null;
    });
  }

  /**
   * Writes and removes in one batch, all or nothing. A batch of more than 16 MiB goes out in several, each all or
   * nothing.
   */
  @Override
  public CompletionStage<Void> batch(int publisherCount, Publisher<SegmentedPublisher<Object>> removePublisher,
      Publisher<SegmentedPublisher<MarshallableEntry<K, V>>> writePublisher) {
    int concurrency = Math.max(1, publisherCount);
    Changes changes = new Changes();
    Flowable<Runnable> removals = Flowable.fromPublisher(removePublisher).flatMap(
        segment -> Flowable.fromPublisher(segment).map(key -> () -> changes.remove(segment.getSegment(), key)),
            concurrency);
    Flowable<Runnable> writes = Flowable.fromPublisher(writePublisher).flatMap(
        segment -> Flowable.fromPublisher(segment).map(entry -> () -> changes.write(segment.getSegment(), entry)),
            concurrency);
    // merge subscribes to both before either emits, as the publishers demand.
    CompletionStage<Void> collected =
        blocking.subscribeBlockingConsumer(Flowable.merge(removals, writes), Runnable::run, "mergedb-batch");
    return blocking.handleBlocking(collected, (nothing, error) -> {
      try (changes) {
        if (error != null) throw failure("batch", error);
        changes.writeOut();
        return null;
      } catch (MergedbException e) {
        throw failure("batch", e);
      }
    }, "mergedb-batch");
  }

  /** The changes of one call of batch. For one thread at a time. */
  private final class Changes implements AutoCloseable {
    private final WriteBatch batch = new WriteBatch();

    void remove(int segment, Object key) {
      batch.delete(keyOf(segment, key));
      writeOutIfLarge();
    }

    void write(int segment, MarshallableEntry<K, V> entry) {
      byte[] key = keyOf(segment, entry.getKeyBytes());
      batch.put(key, StoredEntry.encode(entry));
      long expiryTime = entry.expiryTime();
      if (expiryTime != StoredEntry.NEVER) expiry().add(batch, key, expiryTime, time.wallClockTime());
      writeOutIfLarge();
    }

    void writeOut() {
      if (batch.count() == 0) return;
      database().write(writeOptions, batch);
      batch.clear();
    }

    @Override
    public void close() {
      batch.close();
    }

    private void writeOutIfLarge() {
      if (batch.bytes() >= BATCH_BYTES_MAX) writeOut();
    }
  }

  /** Nothing to prepare: a segment is a range of keys. */
  @Override
  public CompletionStage<Void> addSegments(IntSet segments) {
    return CompletableFuture.completedFuture(null);
  }

  /** Removes the entries of the segments, all at once. The cost does not depend on their number. */
  @Override
  public CompletionStage<Void> removeSegments(IntSet segments) {
    return run("removeSegments", () -> {
      int[] removed = segments.toIntArray();
      Arrays.sort(removed);
      try (WriteBatch batch = new WriteBatch()) {
        for (int i = 0; i < removed.length; ++i) {
          int first = removed[i];
          while (i + 1 < removed.length && removed[i + 1] == removed[i] + 1) ++i;
          batch.deleteRange(StoreKeys.segmentBegin(first), StoreKeys.segmentBegin(removed[i] + 1));
        }
        database().write(writeOptions, batch);
      }
    });
  }

  @Override
  public CompletionStage<Void> clear() {
    return run("clear", () -> {
      try (WriteBatch batch = new WriteBatch()) {
        batch.deleteRange(StoreKeys.begin(), StoreKeys.end());
        expiry().clear(batch);
        database().write(writeOptions, batch);
      }
    });
  }

  /**
   * The number of entries that are not expired. It walks the keys; and the values as well if an entry may be expired.
   */
  @Override
  public CompletionStage<Long> size(IntSet segments) {
    return supply("size", () -> {
      long now = time.wallClockTime();
      try (Snapshot snapshot = database().snapshot()) {
        boolean mayHaveExpired = expiry().mayHaveExpired(snapshot, now);
        long count = 0;
        try (SegmentScan scan = new SegmentScan(database(), sorted(segments), snapshot, !mayHaveExpired)) {
          while (scan.next()) {
            if (!mayHaveExpired || !new StoredEntry(scan.value()).isExpired(now)) ++count;
          }
        }
        return count;
      }
    });
  }

  /**
   * The number of entries, expired ones among them: exact up to 100,000, estimated from the sizes on disk above that.
   */
  @Override
  public CompletionStage<Long> approximateSize(IntSet segments) {
    return supply("approximateSize", () -> ApproximateSize.of(database(), sorted(segments)));
  }

  @Override
  public Publisher<MarshallableEntry<K, V>> publishEntries(IntSet segments, Predicate<? super K> filter,
      boolean includeValues) {
    Flowable<MarshallableEntry<K, V>> published =
        Flowable.generate(() -> new EntryScan(segments, false), (scan, emitter) -> {
      MarshallableEntry<K, V> entry = guarded("publishEntries", () -> scan.nextEntry(filter, includeValues));
      if (entry == null) {
        emitter.onComplete();
      } else {
        emitter.onNext(entry);
      }
    }, EntryScan::close);
    return blocking.blockingPublisher(published);
  }

  @Override
  public Publisher<K> publishKeys(IntSet segments, Predicate<? super K> filter) {
    Flowable<K> published = Flowable.generate(() -> new EntryScan(segments, true), (scan, emitter) -> {
      K key = guarded("publishKeys", () -> scan.nextKey(filter));
      if (key == null) {
        emitter.onComplete();
      } else {
        emitter.onNext(key);
      }
    }, EntryScan::close);
    return blocking.blockingPublisher(published);
  }

  /** What one subscriber walks, as of its first request. For one thread at a time. */
  private final class EntryScan implements AutoCloseable {
    private final Snapshot snapshot;
    private final SegmentScan scan;
    private final boolean mayExpire;

    EntryScan(IntSet segments, boolean keysOnly) {
      snapshot = guarded("scan", () -> database().snapshot());
      try {
        mayExpire = guarded("scan", () -> !expiry().isEmpty(snapshot));
        scan = guarded("scan", () -> new SegmentScan(database(), sorted(segments), snapshot, keysOnly && !mayExpire));
      } catch (RuntimeException | Error e) {
        snapshot.close();
        throw e;
      }
    }

    /** Null after the last element. */
    MarshallableEntry<K, V> nextEntry(Predicate<? super K> filter, boolean withValue) {
      while (scan.next()) {
        StoredEntry stored = new StoredEntry(scan.value());
        if (mayExpire && stored.isExpired(time.wallClockTime())) continue;
        MarshallableEntry<K, V> entry = stored.decode(keyBytes(scan.key()), entries, buffers, withValue);
        if (filter == null || filter.test(entry.getKey())) return entry;
      }
      return null;
    }

    /** Null after the last element. */
    K nextKey(Predicate<? super K> filter) {
      while (scan.next()) {
        if (mayExpire && new StoredEntry(scan.value()).isExpired(time.wallClockTime())) continue;
        K key = unmarshal(scan.key());
        if (filter == null || filter.test(key)) return key;
      }
      return null;
    }

    @Override
    public void close() {
      scan.close();
      snapshot.close();
    }
  }

  /** Removes what is expired when it is subscribed to, and publishes it. */
  @Override
  public Publisher<MarshallableEntry<K, V>> purgeExpired() {
    Flowable<MarshallableEntry<K, V>> published = Flowable.<List<Map.Entry<byte[], byte[]>>, ExpiryIndex.Purge>generate(
        () -> expiry().new Purge(time.wallClockTime()), (purge, emitter) -> {
          List<Map.Entry<byte[], byte[]>> page = guarded("purgeExpired", purge::nextPage);
          if (page == null) {
            emitter.onComplete();
          } else {
            emitter.onNext(page);
          }
        }).concatMapIterable(page -> page)
        .map(removed -> new StoredEntry(removed.getValue()).decode(keyBytes(removed.getKey()), entries, buffers, true));
    return blocking.blockingPublisher(published);
  }

  private Database database() {
    Database open = database;
    if (open == null) throw new PersistenceException("the store is not started, or it is stopped");
    return open;
  }

  private ExpiryIndex expiry() {
    ExpiryIndex index = expiry;
    if (index == null) throw new PersistenceException("the store is not started, or it is stopped");
    return index;
  }

  private byte[] keyOf(int segment, Object key) {
    try {
      return keyOf(segment, marshaller.objectToBuffer(key));
    } catch (IOException e) {
      throw new PersistenceException("cannot marshal a key of " + key.getClass() + ": " + e, e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new PersistenceException("interrupted while marshalling a key", e);
    }
  }

  private byte[] keyOf(int segment, ByteBuffer key) {
    return StoreKeys.entry(isSegmented ? segment : 0, key.getBuf(), key.getOffset(), key.getLength());
  }

  private ByteBuffer keyBytes(byte[] entryKey) {
    return buffers.newByteBuffer(entryKey, StoreKeys.SEGMENT_BYTES, entryKey.length - StoreKeys.SEGMENT_BYTES);
  }

  @SuppressWarnings("unchecked")
  private K unmarshal(byte[] entryKey) {
    try {
      return (K) marshaller.objectFromByteBuffer(entryKey, StoreKeys.SEGMENT_BYTES,
          entryKey.length - StoreKeys.SEGMENT_BYTES);
    } catch (IOException | ClassNotFoundException e) {
      throw new PersistenceException("cannot unmarshal a key of " + entryKey.length + " bytes: " + e, e);
    }
  }

  // Without segments everything is in segment 0.
  private int[] sorted(IntSet segments) {
    if (!isSegmented) return new int[] {0};
    int[] numbers = segments.toIntArray();
    Arrays.sort(numbers);
    return numbers;
  }

  private CompletionStage<Void> run(String operation, Runnable action) {
    return supply(operation, () -> {
      action.run();
      return null;
    });
  }

  private <T> CompletionStage<T> supply(String operation, Supplier<T> action) {
    return blocking.supplyBlocking(() -> guarded(operation, action), "mergedb-" + operation);
  }

  private <T> T guarded(String operation, Supplier<T> action) {
    try {
      return action.get();
    } catch (RuntimeException e) {
      throw failure(operation, e);
    }
  }

  private PersistenceException failure(String operation, Throwable error) {
    Throwable cause = error instanceof CompletionException && error.getCause() != null ? error.getCause() : error;
    return new PersistenceException("mergedb store of cache '" + cacheName + "' in " + directory + ": " + operation
        + ": " + cause.getMessage(), cause);
  }
}
