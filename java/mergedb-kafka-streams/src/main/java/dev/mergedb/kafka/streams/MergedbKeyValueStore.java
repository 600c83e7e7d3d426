package dev.mergedb.kafka.streams;

import dev.mergedb.IteratorOptions;
import dev.mergedb.WriteBatch;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.DslStoreFormat;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.processor.internals.ChangelogRecordDeserializationHelper;
import org.apache.kafka.streams.processor.internals.RecordBatchingStateRestoreCallback;
import org.apache.kafka.streams.query.Position;
import org.apache.kafka.streams.query.PositionBound;
import org.apache.kafka.streams.query.Query;
import org.apache.kafka.streams.query.QueryConfig;
import org.apache.kafka.streams.query.QueryResult;
import org.apache.kafka.streams.state.HeadersBytesStore;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.TimestampedBytesStore;
import org.apache.kafka.streams.state.internals.StoreQueryUtils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A key-value store of bytes. The subclasses differ only in what the bytes of a value hold, which
 * Kafka Streams learns from their marker interfaces.
 *
 * <p>Writes come from the stream thread; any thread may read.
 */
class MergedbKeyValueStore implements KeyValueStore<Bytes, byte[]> {
  private static final Logger LOG = LoggerFactory.getLogger(MergedbKeyValueStore.class);

  private final StoreDatabase database;
  private StateStoreContext context;
  private boolean isConsistencyEnabled;

  /** A store whose values are those of format `format`. */
  static KeyValueStore<Bytes, byte[]> of(String name, DslStoreFormat format) {
    switch (format) {
      case PLAIN:
        return new MergedbKeyValueStore(name, format);
      case TIMESTAMPED:
        return new Timestamped(name);
      case HEADERS:
        return new WithHeaders(name);
      default:
        throw new IllegalArgumentException(
            "store "
                + name
                + ": format "
                + format
                + " is not known; expected PLAIN, TIMESTAMPED or HEADERS");
    }
  }

  private static final class Timestamped extends MergedbKeyValueStore
      implements TimestampedBytesStore {
    Timestamped(String name) {
      super(name, DslStoreFormat.TIMESTAMPED);
    }
  }

  private static final class WithHeaders extends MergedbKeyValueStore implements HeadersBytesStore {
    WithHeaders(String name) {
      super(name, DslStoreFormat.HEADERS);
    }
  }

  private MergedbKeyValueStore(String name, DslStoreFormat format) {
    database = new StoreDatabase(name, "key-value " + format);
  }

  @Override
  public String name() {
    return database.name();
  }

  @Override
  public void init(StateStoreContext stateStoreContext, StateStore root) {
    context = stateStoreContext;
    database.open(stateStoreContext);
    isConsistencyEnabled =
        StreamsConfig.InternalConfig.getBoolean(
            stateStoreContext.appConfigs(),
            StreamsConfig.InternalConfig.IQ_CONSISTENCY_OFFSET_VECTOR_ENABLED,
            false);
    stateStoreContext.register(root, (RecordBatchingStateRestoreCallback) this::restore);
  }

  private void restore(Collection<ConsumerRecord<byte[], byte[]>> records) {
    Position position = database.position();
    synchronized (position) {
      try (WriteBatch batch = new WriteBatch()) {
        for (ConsumerRecord<byte[], byte[]> record : records) {
          ChangelogRecordDeserializationHelper.applyChecksAndUpdatePosition(
              record, isConsistencyEnabled, position);
          add(batch, record.key(), record.value());
        }
        database.run(db -> db.write(database.writes(), batch));
      }
    }
  }

  private static void add(WriteBatch batch, byte[] key, byte[] value) {
    if (value == null) {
      batch.delete(key);
    } else {
      batch.put(key, value);
    }
  }

  @Override
  public void put(Bytes key, byte[] value) {
    Objects.requireNonNull(key, "key cannot be null");
    Position position = database.position();
    synchronized (position) {
      database.put(key.get(), value);
      StoreQueryUtils.updatePosition(position, context);
    }
  }

  @Override
  public byte[] putIfAbsent(Bytes key, byte[] value) {
    byte[] present = get(key);
    if (present == null && value != null) put(key, value);
    return present;
  }

  @Override
  public void putAll(List<KeyValue<Bytes, byte[]>> entries) {
    Position position = database.position();
    synchronized (position) {
      try (WriteBatch batch = new WriteBatch()) {
        for (KeyValue<Bytes, byte[]> entry : entries) {
          add(batch, Objects.requireNonNull(entry.key, "key cannot be null").get(), entry.value);
        }
        database.run(db -> db.write(database.writes(), batch));
      }
      StoreQueryUtils.updatePosition(position, context);
    }
  }

  @Override
  public byte[] delete(Bytes key) {
    byte[] present = get(key);
    put(key, null);
    return present;
  }

  @Override
  public byte[] get(Bytes key) {
    return database.get(Objects.requireNonNull(key, "key cannot be null").get());
  }

  @Override
  public KeyValueIterator<Bytes, byte[]> range(Bytes from, Bytes to) {
    return range(from, to, true);
  }

  @Override
  public KeyValueIterator<Bytes, byte[]> reverseRange(Bytes from, Bytes to) {
    return range(from, to, false);
  }

  private KeyValueIterator<Bytes, byte[]> range(Bytes from, Bytes to, boolean isForward) {
    if (StoreIterator.isInverted(from, to)) {
      LOG.warn(StoreIterator.INVALID_RANGE);
      return StoreIterator.none();
    }
    return new RangeIterator(database, RangeIterator.inclusive(from, to), isForward);
  }

  @Override
  public KeyValueIterator<Bytes, byte[]> all() {
    return new RangeIterator(database, IteratorOptions.DEFAULT, true);
  }

  @Override
  public KeyValueIterator<Bytes, byte[]> reverseAll() {
    return new RangeIterator(database, IteratorOptions.DEFAULT, false);
  }

  @Override
  public <PS extends Serializer<P>, P> KeyValueIterator<Bytes, byte[]> prefixScan(
      P prefix, PS prefixKeySerializer) {
    Objects.requireNonNull(prefix, "prefix cannot be null");
    Objects.requireNonNull(prefixKeySerializer, "prefixKeySerializer cannot be null");
    byte[] bytes = prefixKeySerializer.serialize(null, prefix);
    return new RangeIterator(database, IteratorOptions.DEFAULT.prefix(bytes), true);
  }

  /** Exact up to 10,000 keys, an estimate above. */
  @Override
  public long approximateNumEntries() {
    return database.approximateEntries();
  }

  @Override
  public <R> QueryResult<R> query(Query<R> query, PositionBound positionBound, QueryConfig config) {
    return StoreQueryUtils.handleBasicQueries(
        query, positionBound, config, this, database.position(), context);
  }

  @Override
  public Position getPosition() {
    return database.position();
  }

  @Override
  public void commit(Map<TopicPartition, Long> changelogOffsets) {
    database.commit(changelogOffsets, -1);
  }

  @Override
  public Long committedOffset(TopicPartition partition) {
    return database.committedOffset(partition);
  }

  @Override
  @Deprecated
  public boolean managesOffsets() {
    return true;
  }

  @Override
  public void close() {
    database.close();
  }

  @Override
  public boolean persistent() {
    return true;
  }

  @Override
  public boolean isOpen() {
    return database.isOpen();
  }
}
