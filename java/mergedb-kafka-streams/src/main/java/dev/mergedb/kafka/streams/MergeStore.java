package dev.mergedb.kafka.streams;

import dev.mergedb.IteratorOptions;
import dev.mergedb.Merge;
import dev.mergedb.ReadOptions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.processor.internals.InternalProcessorContext;
import org.apache.kafka.streams.processor.internals.ProcessorContextUtils;
import org.apache.kafka.streams.processor.internals.ProcessorRecordContext;
import org.apache.kafka.streams.query.Position;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.internals.CacheFlushListener;
import org.apache.kafka.streams.state.internals.CachedStateStore;
import org.apache.kafka.streams.state.internals.StoreQueryUtils;

/**
 * {@link MergedbMergeStore}. Kafka Streams takes its unlogged keys for a cache: it calls {@link
 * #flushCache} before it commits the offsets of the input, and so the changelog records go out in
 * time.
 */
final class MergeStore<K, V> extends MergedbStateStore
    implements MergedbMergeStore<K, V>, CachedStateStore<K, V> {
  /** More changed keys than this are logged before the commit, to bound memory. */
  private static final int UNLOGGED_MAX = 100_000;

  private static final int KEYS_A_READ = 1_000;

  private final Serde<K> keySerde;
  private final MergedbAggregator<V> aggregator;
  private final Serde<V> valueSerde;
  private final boolean isLogged;

  /** The keys that changed since they were logged, each with the timestamp of its latest record. */
  private final Map<Bytes, Long> unlogged = new HashMap<>();

  private InternalProcessorContext<?, ?> internalContext;
  private String topic;

  MergeStore(String name, Serde<K> keySerde, MergedbAggregator<V> aggregator, boolean isLogged) {
    super(name, "merge");
    this.keySerde = keySerde;
    this.aggregator = aggregator;
    this.valueSerde = aggregator.changelogSerde();
    this.isLogged = isLogged;
  }

  @Override
  public void init(StateStoreContext stateStoreContext, StateStore root) {
    internalContext = ProcessorContextUtils.asInternalProcessorContext(stateStoreContext);
    topic = ProcessorContextUtils.changelogFor(stateStoreContext, name(), Boolean.TRUE);
    super.init(stateStoreContext, root);
  }

  @Override
  byte[] restoredValue(byte[] changelogValue) {
    return aggregator.encode(valueSerde.deserializer().deserialize(topic, changelogValue));
  }

  private byte[] keyBytes(K key) {
    return keySerde
        .serializer()
        .serialize(topic, Objects.requireNonNull(key, "key cannot be null"));
  }

  @Override
  public void merge(K key, V value) {
    byte[] bytes = keyBytes(key);
    Merge operand = aggregator.operand(Objects.requireNonNull(value, "value cannot be null"));
    Position position = getPosition();
    synchronized (position) {
      database().run(db -> db.merge(database().writes(), bytes, operand));
      changed(bytes);
    }
  }

  @Override
  public void put(K key, V aggregate) {
    byte[] bytes = keyBytes(key);
    Position position = getPosition();
    synchronized (position) {
      database().put(bytes, aggregate == null ? null : aggregator.encode(aggregate));
      changed(bytes);
    }
  }

  private void changed(byte[] key) {
    StoreQueryUtils.updatePosition(getPosition(), context());
    if (!isLogged) return;
    if (unlogged.size() >= UNLOGGED_MAX) flushCache();
    unlogged.merge(Bytes.wrap(key), timestamp(), Math::max);
  }

  private long timestamp() {
    ProcessorRecordContext record = internalContext.recordContext();
    return record == null ? internalContext.currentSystemTimeMs() : record.timestamp();
  }

  /** Log what the changed keys are now. */
  @Override
  public void flushCache() {
    if (unlogged.isEmpty()) return;
    List<Map.Entry<Bytes, Long>> changes = new ArrayList<>(unlogged.entrySet());
    changes.sort(Map.Entry.comparingByKey());
    Position position = getPosition().copy();
    for (int begin = 0; begin < changes.size(); begin += KEYS_A_READ) {
      List<Map.Entry<Bytes, Long>> some =
          changes.subList(begin, Math.min(changes.size(), begin + KEYS_A_READ));
      List<byte[]> keys = new ArrayList<>(some.size());
      for (Map.Entry<Bytes, Long> change : some) keys.add(change.getKey().get());
      List<byte[]> values = database().call(db -> db.multiGet(ReadOptions.DEFAULT, keys));
      for (int i = 0; i < some.size(); ++i) {
        byte[] stored = values.get(i);
        byte[] value =
            stored == null
                ? null
                : valueSerde.serializer().serialize(topic, aggregator.decode(stored));
        internalContext.logChange(
            name(),
            some.get(i).getKey(),
            value,
            some.get(i).getValue(),
            new RecordHeaders(),
            position);
      }
    }
    unlogged.clear();
  }

  /**
   * Nothing to clear: the entries are in the database, and only what is not logged is held here.
   */
  @Override
  public void clearCache() {
    unlogged.clear();
  }

  /** False: the store passes nothing on. */
  @Override
  public boolean setFlushListener(CacheFlushListener<K, V> listener, boolean sendOldValues) {
    return false;
  }

  @Override
  public V get(K key) {
    byte[] stored = database().get(keyBytes(key));
    return stored == null ? null : aggregator.decode(stored);
  }

  @Override
  public KeyValueIterator<K, V> range(K from, K to) {
    return range(from, to, true);
  }

  @Override
  public KeyValueIterator<K, V> reverseRange(K from, K to) {
    return range(from, to, false);
  }

  private KeyValueIterator<K, V> range(K from, K to, boolean isForward) {
    Bytes low = from == null ? null : Bytes.wrap(keyBytes(from));
    Bytes high = to == null ? null : Bytes.wrap(keyBytes(to));
    if (StoreIterator.isInverted(low, high)) return new Decoded(StoreIterator.none());
    return new Decoded(
        new RangeIterator(database(), RangeIterator.inclusive(low, high), isForward));
  }

  @Override
  public KeyValueIterator<K, V> all() {
    return range(null, null, true);
  }

  @Override
  public KeyValueIterator<K, V> reverseAll() {
    return range(null, null, false);
  }

  @Override
  public <PS extends Serializer<P>, P> KeyValueIterator<K, V> prefixScan(
      P prefix, PS prefixKeySerializer) {
    byte[] bytes =
        prefixKeySerializer.serialize(
            topic, Objects.requireNonNull(prefix, "prefix cannot be null"));
    return new Decoded(new RangeIterator(database(), IteratorOptions.DEFAULT.prefix(bytes), true));
  }

  /** Exact up to 10,000 keys, an estimate above. */
  @Override
  public long approximateNumEntries() {
    return database().approximateEntries();
  }

  private final class Decoded implements KeyValueIterator<K, V> {
    private final KeyValueIterator<Bytes, byte[]> entries;

    Decoded(KeyValueIterator<Bytes, byte[]> entries) {
      this.entries = entries;
    }

    @Override
    public boolean hasNext() {
      return entries.hasNext();
    }

    @Override
    public KeyValue<K, V> next() {
      KeyValue<Bytes, byte[]> entry = entries.next();
      return KeyValue.pair(key(entry.key), aggregator.decode(entry.value));
    }

    @Override
    public K peekNextKey() {
      return key(entries.peekNextKey());
    }

    private K key(Bytes bytes) {
      return keySerde.deserializer().deserialize(topic, bytes.get());
    }

    @Override
    public void close() {
      entries.close();
    }
  }
}
