package dev.mergedb.kafka.streams;

import dev.mergedb.Database;
import dev.mergedb.Durability;
import dev.mergedb.EntryIterator;
import dev.mergedb.IteratorOptions;
import dev.mergedb.Keyspace;
import dev.mergedb.MergedbException;
import dev.mergedb.Options;
import dev.mergedb.ReadOptions;
import dev.mergedb.WriteBatch;
import dev.mergedb.WriteOptions;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Function;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.apache.kafka.streams.errors.TaskCorruptedException;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.query.Position;
import org.apache.kafka.streams.state.internals.PositionSerde;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The database of one store: opened in directory {@code mergedb/NAME} of the task, with the store's
 * entries in the default keyspace and what Kafka Streams wants to find again in keyspace {@code
 * streams}:
 *
 * <pre>
 *   layout              how the entries are encoded; another layout is refused
 *   status              1 while the store is open: an exactly-once task refuses what a crash left
 *   position            the input offsets up to which records are in the store
 *   stream-time         largest timestamp that a window or session store has seen
 *   segment-millis      length of a segment of a window or session store, in milliseconds
 *   offset/TOPIC-N      the changelog offset of the last commit
 * </pre>
 *
 * A commit is one batch. The log of the database keeps the order of the writes, so after any crash
 * an offset is there only if every record before it is.
 *
 * <p>Where the entries are not logged ({@code mergedb.durability=no-wal}), the mark in {@code status}
 * that the store is open is logged nevertheless.
 *
 * <p>Any thread may call any method. A call that meets a closed database throws {@link
 * InvalidStateStoreException}; every other failure of the engine is a {@link
 * ProcessorStateException} that names the store and its directory.
 */
final class StoreDatabase {
  private static final Logger LOG = LoggerFactory.getLogger(StoreDatabase.class);
  private static final String FOLDER = "mergedb";
  private static final String KEYSPACE = "streams";
  private static final byte[] LAYOUT = bytes("layout");
  private static final byte[] STATUS = bytes("status");
  private static final byte[] POSITION = bytes("position");
  private static final byte[] STREAM_TIME = bytes("stream-time");
  private static final byte[] SEGMENT_MILLIS = bytes("segment-millis");
  private static final String OFFSET = "offset/";
  private static final byte[] OPEN = {1};
  private static final byte[] CLOSED = {0};

  private final String name;
  private final String layout;
  private final Set<OwnedIterator> iterators = ConcurrentHashMap.newKeySet();
  private final Map<TopicPartition, Long> offsets = new ConcurrentHashMap<>();
  private final Position position = Position.emptyPosition();

  private Path directory;
  private Keyspace metadata;
  private WriteOptions dataWrites;
  private WriteOptions metadataWrites;
  private ReadOptions metadataReads;
  private volatile Database database;

  /** An iterator over the database, which the store closes when it closes. */
  interface OwnedIterator {
    void closeWithStore();
  }

  /**
   * `layout` names how entries are encoded: a directory that was made with another one is refused.
   */
  StoreDatabase(String name, String layout) {
    this.name = name;
    this.layout = layout;
  }

  String name() {
    return name;
  }

  boolean isOpen() {
    return database != null;
  }

  /** The position of the entries; changed only while its monitor is held. */
  Position position() {
    return position;
  }

  WriteOptions writes() {
    return dataWrites;
  }

  /**
   * Open or create the database. Does nothing if it is open.
   *
   * @throws TaskCorruptedException if the task runs exactly-once and the store was not closed:
   *     Kafka Streams wipes the task and restores it
   */
  synchronized void open(StateStoreContext context) {
    if (database != null) return;
    Map<String, Object> configs = context.appConfigs();
    MergedbConfig config = MergedbConfig.of(configs);
    directory = new File(new File(context.stateDir(), FOLDER), name).toPath();
    try {
      Files.createDirectories(directory);
    } catch (IOException e) {
      throw new ProcessorStateException(
          "store " + name + ": cannot create directory " + directory, e);
    }
    Options options = config.options(name);
    options.logger(line -> LOG.info("store {}: {}", name, line));
    Database opened = null;
    try {
      opened = Database.open(directory, options);
      metadata = opened.keyspace(KEYSPACE);
      dataWrites = WriteOptions.DEFAULT.withDurability(config.durability());
      metadataWrites = dataWrites.in(metadata);
      metadataReads = ReadOptions.DEFAULT.in(metadata);
      checkLayout(opened);
      boolean exactlyOnce =
          StreamsConfig.EXACTLY_ONCE_V2.equals(
              configs.get(StreamsConfig.PROCESSING_GUARANTEE_CONFIG));
      if (exactlyOnce && isMarkedOpen(opened)) {
        throw new TaskCorruptedException(
            Set.of(context.taskId()),
            new ProcessorStateException(
                "store "
                    + name
                    + ": "
                    + directory
                    + " was not closed, so it may hold records of a transaction that was aborted;"
                    + " it is restored from the changelog"));
      }
      load(opened);
      opened.put(openMarkWrites(config.durability()), STATUS, OPEN);
      database = opened;
    } catch (MergedbException e) {
      closeQuietly(opened);
      throw new ProcessorStateException(
          "store "
              + name
              + ": cannot open "
              + directory
              + ". If the store has a changelog, delete "
              + "this directory while the application is down: it is restored. ("
              + e.code()
              + ")",
          e);
    } catch (RuntimeException e) {
      closeQuietly(opened);
      throw e;
    }
  }

  /**
   * WHY logged where the entries are not: the engine logs a batch that is larger than a memtable
   * whatever its durability is. If a crash leaves such a batch, it must leave the mark too.
   */
  private WriteOptions openMarkWrites(Durability durability) {
    return durability == Durability.NO_WAL
        ? metadataWrites.withDurability(Durability.PROCESS_CRASH)
        : metadataWrites;
  }

  private void checkLayout(Database opened) {
    byte[] found = opened.get(metadataReads, LAYOUT);
    if (found == null) {
      opened.put(metadataWrites, LAYOUT, bytes(layout));
    } else if (!new String(found, StandardCharsets.UTF_8).equals(layout)) {
      throw new ProcessorStateException(
          "store "
              + name
              + ": "
              + directory
              + " holds entries of layout \""
              + new String(found, StandardCharsets.UTF_8)
              + "\", expected \""
              + layout
              + "\". Delete the directory while the application "
              + "is down: it is restored from the changelog.");
    }
  }

  private boolean isMarkedOpen(Database opened) {
    byte[] status = opened.get(metadataReads, STATUS);
    return status != null && status.length == 1 && status[0] == OPEN[0];
  }

  private void load(Database opened) {
    byte[] stored = opened.get(metadataReads, POSITION);
    synchronized (position) {
      if (stored != null) position.merge(PositionSerde.deserialize(ByteBuffer.wrap(stored)));
    }
    offsets.clear();
    IteratorOptions all = IteratorOptions.DEFAULT.read(metadataReads).prefix(bytes(OFFSET));
    try (EntryIterator entries = opened.iterator(all)) {
      for (boolean there = entries.seekToFirst(); there; there = entries.next()) {
        String text = new String(entries.key(), StandardCharsets.UTF_8).substring(OFFSET.length());
        int dash = text.lastIndexOf('-');
        offsets.put(
            new TopicPartition(text.substring(0, dash), Integer.parseInt(text.substring(dash + 1))),
            ByteBuffer.wrap(entries.value()).getLong());
      }
    }
  }

  /** The largest timestamp of the last commit; -1 if there is none. */
  long committedStreamTime() {
    byte[] stored = call(db -> db.get(metadataReads, STREAM_TIME));
    return stored == null ? -1 : ByteBuffer.wrap(stored).getLong();
  }

  /** What {@link #setSegmentMillis} set last; -1 before it was called. */
  long segmentMillis() {
    byte[] stored = call(db -> db.get(metadataReads, SEGMENT_MILLIS));
    return stored == null ? -1 : ByteBuffer.wrap(stored).getLong();
  }

  void setSegmentMillis(long millis) {
    run(db -> db.put(metadataWrites, SEGMENT_MILLIS, number(millis)));
  }

  Long committedOffset(TopicPartition partition) {
    requireOpen();
    return offsets.get(partition);
  }

  /**
   * Write what a later open finds again, in one batch: the changelog offsets (an empty map removes
   * all of them, a null value removes one), the position and, unless it is negative, the stream
   * time. Does nothing if the database is closed.
   */
  synchronized void commit(Map<TopicPartition, Long> changelogOffsets, long streamTime) {
    if (database == null) return;
    try (WriteBatch batch = new WriteBatch()) {
      Map<TopicPartition, Long> changes =
          changelogOffsets.isEmpty() ? removalOfAll() : changelogOffsets;
      changes.forEach(
          (partition, offset) -> {
            byte[] key = bytes(OFFSET + partition);
            if (offset == null) {
              batch.delete(metadata, key);
            } else {
              batch.put(metadata, key, number(offset));
            }
          });
      synchronized (position) {
        ByteBuffer encoded = PositionSerde.serialize(position);
        byte[] value = new byte[encoded.remaining()];
        encoded.get(value);
        batch.put(metadata, POSITION, value);
      }
      if (streamTime >= 0) batch.put(metadata, STREAM_TIME, number(streamTime));
      run(db -> db.write(dataWrites, batch));
      changes.forEach(
          (partition, offset) -> {
            if (offset == null) {
              offsets.remove(partition);
            } else {
              offsets.put(partition, offset);
            }
          });
    }
  }

  private Map<TopicPartition, Long> removalOfAll() {
    Map<TopicPartition, Long> removal = new HashMap<>();
    offsets.keySet().forEach(partition -> removal.put(partition, null));
    return removal;
  }

  /**
   * Close the iterators and the database. Does nothing if it is closed.
   *
   * @throws ProcessorStateException if the last writes could not be made durable; the database is closed
   */
  synchronized void close() {
    Database closing = database;
    if (closing == null) return;
    database = null;
    iterators.forEach(OwnedIterator::closeWithStore);
    iterators.clear();
    try {
      closing.put(metadataWrites, STATUS, CLOSED);
    } catch (MergedbException e) {
      LOG.warn("store {}: {} could not be marked as closed: {}", name, directory, e.getMessage());
    }
    try {
      closing.close();
    } catch (MergedbException e) {
      throw translate(e);
    }
  }

  /** After a failed open, whose error is the one that is thrown. */
  private void closeQuietly(Database closing) {
    if (closing == null) return;
    try {
      closing.close();
    } catch (MergedbException e) {
      LOG.error("store {}: closing {} failed: {}", name, directory, e.getMessage());
    }
  }

  /** Register an iterator to be closed with the store. */
  void own(OwnedIterator iterator) {
    iterators.add(iterator);
    if (database == null) {
      iterators.remove(iterator);
      iterator.closeWithStore();
    }
  }

  void disown(OwnedIterator iterator) {
    iterators.remove(iterator);
  }

  void requireOpen() {
    if (database == null) throw closed(null);
  }

  /** What `action` returns for the open database. */
  <T> T call(Function<Database, T> action) {
    Database db = database;
    if (db == null) throw closed(null);
    try {
      return action.apply(db);
    } catch (MergedbException e) {
      throw translate(e);
    }
  }

  void run(Consumer<Database> action) {
    Database db = database;
    if (db == null) throw closed(null);
    try {
      action.accept(db);
    } catch (MergedbException e) {
      throw translate(e);
    }
  }

  byte[] get(byte[] key) {
    Database db = database;
    if (db == null) throw closed(null);
    try {
      return db.get(key);
    } catch (MergedbException e) {
      throw translate(e);
    }
  }

  /** Put `value`, or delete the key if it is null. */
  void put(byte[] key, byte[] value) {
    Database db = database;
    if (db == null) throw closed(null);
    try {
      if (value == null) {
        db.delete(dataWrites, key);
      } else {
        db.put(dataWrites, key, value);
      }
    } catch (MergedbException e) {
      throw translate(e);
    }
  }

  RuntimeException translate(MergedbException e) {
    if (e.code() == MergedbException.Code.CLOSED || e.code() == MergedbException.Code.SHUTTING_DOWN)
      return closed(e);
    return new ProcessorStateException(
        "store " + name + ": " + directory + ": " + e.getMessage(), e);
  }

  private InvalidStateStoreException closed(MergedbException cause) {
    return new InvalidStateStoreException("store " + name + " is closed", cause);
  }

  /**
   * About how many entries there are: exact up to 10,000 keys, else from the sizes of tables and
   * memtables.
   */
  long approximateEntries() {
    return call(
        db -> {
          long counted = 0;
          long bytes = 0;
          try (EntryIterator entries =
              db.iterator(IteratorOptions.DEFAULT.read(ReadOptions.DEFAULT.withFillCache(false)))) {
            for (boolean there = entries.seekToFirst(); there; there = entries.next()) {
              bytes += entries.key().length + entries.value().length;
              if (++counted == 10_000) {
                long unflushed = property(db, "mergedb.memtable_bytes") / (bytes / counted + 32);
                return Math.max(counted, property(db, "mergedb.entries_in_tables") + unflushed);
              }
            }
          }
          return counted;
        });
  }

  private static long property(Database db, String property) {
    String text = db.property(property);
    return text == null ? 0 : Long.parseLong(text.trim());
  }

  private static byte[] number(long value) {
    return ByteBuffer.allocate(Long.BYTES).putLong(value).array();
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
