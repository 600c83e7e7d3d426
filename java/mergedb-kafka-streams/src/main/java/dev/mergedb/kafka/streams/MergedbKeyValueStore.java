package dev.mergedb.kafka.streams;

import dev.mergedb.IteratorOptions;
import dev.mergedb.WriteBatch;
import java.util.List;
import java.util.Objects;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.DslStoreFormat;
import org.apache.kafka.streams.KeyValue;
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
 */
class MergedbKeyValueStore extends MergedbStateStore implements KeyValueStore<Bytes, byte[]> {
  private static final Logger LOG = LoggerFactory.getLogger(MergedbKeyValueStore.class);

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
    super(name, "key-value " + format);
  }

  @Override
  public void put(Bytes key, byte[] value) {
    Objects.requireNonNull(key, "key cannot be null");
    write(() -> database().put(key.get(), value));
  }

  @Override
  public byte[] putIfAbsent(Bytes key, byte[] value) {
    byte[] present = get(key);
    if (present == null && value != null) put(key, value);
    return present;
  }

  @Override
  public void putAll(List<KeyValue<Bytes, byte[]>> entries) {
    write(
        () -> {
          try (WriteBatch batch = new WriteBatch()) {
            for (KeyValue<Bytes, byte[]> entry : entries) {
              Bytes key = Objects.requireNonNull(entry.key, "key cannot be null");
              add(batch, key.get(), entry.value);
            }
            database().run(db -> db.write(database().writes(), batch));
          }
        });
  }

  @Override
  public byte[] delete(Bytes key) {
    byte[] present = get(key);
    put(key, null);
    return present;
  }

  @Override
  public byte[] get(Bytes key) {
    return database().get(Objects.requireNonNull(key, "key cannot be null").get());
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
    return new RangeIterator(database(), RangeIterator.inclusive(from, to), isForward);
  }

  @Override
  public KeyValueIterator<Bytes, byte[]> all() {
    return new RangeIterator(database(), IteratorOptions.DEFAULT, true);
  }

  @Override
  public KeyValueIterator<Bytes, byte[]> reverseAll() {
    return new RangeIterator(database(), IteratorOptions.DEFAULT, false);
  }

  @Override
  public <PS extends Serializer<P>, P> KeyValueIterator<Bytes, byte[]> prefixScan(
      P prefix, PS prefixKeySerializer) {
    Objects.requireNonNull(prefix, "prefix cannot be null");
    Objects.requireNonNull(prefixKeySerializer, "prefixKeySerializer cannot be null");
    byte[] bytes = prefixKeySerializer.serialize(null, prefix);
    return new RangeIterator(database(), IteratorOptions.DEFAULT.prefix(bytes), true);
  }

  /** Exact up to 10,000 keys, an estimate above. */
  @Override
  public long approximateNumEntries() {
    return database().approximateEntries();
  }

  @Override
  public <R> QueryResult<R> query(Query<R> query, PositionBound positionBound, QueryConfig config) {
    return StoreQueryUtils.handleBasicQueries(
        query, positionBound, config, this, getPosition(), context());
  }
}
