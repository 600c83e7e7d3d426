package dev.mergedb.kafka.streams;

import dev.mergedb.WriteBatch;
import java.util.Collection;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.processor.internals.ChangelogRecordDeserializationHelper;
import org.apache.kafka.streams.processor.internals.RecordBatchingStateRestoreCallback;
import org.apache.kafka.streams.query.Position;
import org.apache.kafka.streams.state.internals.StoreQueryUtils;

/**
 * What all stores share: a database, its life, and restoring from the changelog.
 *
 * <p>Writes come from the stream thread; any thread may read.
 */
abstract class MergedbStateStore implements StateStore {
  private final StoreDatabase database;
  private StateStoreContext context;
  private boolean isConsistencyEnabled;

  MergedbStateStore(String name, String layout) {
    database = new StoreDatabase(name, layout);
  }

  final StoreDatabase database() {
    return database;
  }

  final StateStoreContext context() {
    return context;
  }

  @Override
  public final String name() {
    return database.name();
  }

  @Override
  public void init(StateStoreContext stateStoreContext, StateStore root) {
    context = stateStoreContext;
    isConsistencyEnabled =
        StreamsConfig.InternalConfig.getBoolean(
            stateStoreContext.appConfigs(),
            StreamsConfig.InternalConfig.IQ_CONSISTENCY_OFFSET_VECTOR_ENABLED,
            false);
    open();
    stateStoreContext.register(root, (RecordBatchingStateRestoreCallback) this::restore);
  }

  void open() {
    database.open(context);
  }

  /** The key under which the store has a record of the changelog; null: the record has expired. */
  byte[] restoredKey(byte[] changelogKey) {
    return changelogKey;
  }

  byte[] restoredValue(byte[] changelogValue) {
    return changelogValue;
  }

  /** Records of the changelog as one batch. */
  void restore(Collection<ConsumerRecord<byte[], byte[]>> records) {
    Position position = database.position();
    synchronized (position) {
      try (WriteBatch batch = new WriteBatch()) {
        for (ConsumerRecord<byte[], byte[]> record : records) {
          byte[] key = restoredKey(record.key());
          if (key == null) continue;
          ChangelogRecordDeserializationHelper.applyChecksAndUpdatePosition(
              record, isConsistencyEnabled, position);
          add(batch, key, record.value() == null ? null : restoredValue(record.value()));
        }
        database.run(db -> db.write(database.writes(), batch));
      }
    }
  }

  /** Put an entry into a batch, or delete it if `value` is null. */
  static void add(WriteBatch batch, byte[] key, byte[] value) {
    if (value == null) {
      batch.delete(key);
    } else {
      batch.put(key, value);
    }
  }

  /** Run the writes of one record, and note that the record came. */
  final void write(Runnable writes) {
    Position position = database.position();
    synchronized (position) {
      writes.run();
      StoreQueryUtils.updatePosition(position, context);
    }
  }

  /** The stream time that a commit keeps; -1: none. */
  long streamTime() {
    return -1;
  }

  @Override
  public final Position getPosition() {
    return database.position();
  }

  @Override
  public final void commit(Map<TopicPartition, Long> changelogOffsets) {
    database.commit(changelogOffsets, streamTime());
  }

  @Override
  public final Long committedOffset(TopicPartition partition) {
    return database.committedOffset(partition);
  }

  @Override
  @Deprecated
  public final boolean managesOffsets() {
    return true;
  }

  @Override
  public final void close() {
    database.close();
  }

  @Override
  public final boolean persistent() {
    return true;
  }

  @Override
  public final boolean isOpen() {
    return database.isOpen();
  }
}
