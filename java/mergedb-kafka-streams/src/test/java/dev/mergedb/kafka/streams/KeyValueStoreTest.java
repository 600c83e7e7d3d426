package dev.mergedb.kafka.streams;

import static dev.mergedb.kafka.streams.Fixture.bytes;
import static dev.mergedb.kafka.streams.Fixture.text;
import static dev.mergedb.kafka.streams.Fixture.utf8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.mergedb.Database;
import dev.mergedb.Options;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.DslStoreFormat;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.apache.kafka.streams.errors.TaskCorruptedException;
import org.apache.kafka.streams.query.FailureReason;
import org.apache.kafka.streams.query.KeyQuery;
import org.apache.kafka.streams.query.Position;
import org.apache.kafka.streams.query.PositionBound;
import org.apache.kafka.streams.query.QueryConfig;
import org.apache.kafka.streams.query.QueryResult;
import org.apache.kafka.streams.query.RangeQuery;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.test.InternalMockProcessorContext;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class KeyValueStoreTest {
  private static final TopicPartition CHANGELOG = new TopicPartition("app-counts-changelog", 0);
  private static final TopicPartition OTHER = new TopicPartition("a-topic-with-dashes", 17);

  @TempDir Path directory;

  private InternalMockProcessorContext<?, ?> context;
  private KeyValueStore<Bytes, byte[]> store;

  @BeforeEach
  void open() {
    context = Fixture.context(directory);
    store = open(context);
  }

  @AfterEach
  void close() {
    store.close();
  }

  private static KeyValueStore<Bytes, byte[]> open(InternalMockProcessorContext<?, ?> context) {
    KeyValueStore<Bytes, byte[]> opened = MergedbStores.keyValueStore("counts").get();
    opened.init(context, opened);
    return opened;
  }

  private void reopen(Object... settings) {
    store.close();
    context = Fixture.context(directory, settings);
    store = open(context);
  }

  private static List<String> drain(KeyValueIterator<Bytes, byte[]> entries) {
    List<String> result = new ArrayList<>();
    try (entries) {
      while (entries.hasNext()) {
        Bytes peeked = entries.peekNextKey();
        KeyValue<Bytes, byte[]> entry = entries.next();
        assertEquals(peeked, entry.key);
        result.add(text(entry.key.get()) + "=" + text(entry.value));
      }
      assertThrows(NoSuchElementException.class, entries::next);
    }
    return result;
  }

  private void put(String... keys) {
    for (String key : keys) store.put(bytes(key), utf8(key.toUpperCase(Locale.ROOT)));
  }

  @Test
  void directoryHasTheNameOfTheStore() {
    assertTrue(Files.isRegularFile(directory.resolve("mergedb/counts/CURRENT")));
    assertTrue(store.persistent());
    assertEquals("counts", store.name());
  }

  @Test
  void entriesAreThereAfterAReopen() {
    put("a", "b");
    assertEquals("A", text(store.delete(bytes("a"))));
    reopen();
    assertNull(store.get(bytes("a")));
    assertEquals("B", text(store.get(bytes("b"))));
  }

  @Test
  void rangesAreInclusiveAndOrdered() {
    put("a", "b", "ba", "b\0", "c", "d");
    assertEquals(
        List.of("b=B", "b\0=B\0", "ba=BA", "c=C"), drain(store.range(bytes("b"), bytes("c"))));
    assertEquals(
        List.of("c=C", "ba=BA", "b\0=B\0", "b=B"),
        drain(store.reverseRange(bytes("b"), bytes("c"))));
    assertEquals(List.of("b=B"), drain(store.range(bytes("b"), bytes("b"))));
    assertEquals(List.of("a=A", "b=B"), drain(store.range(null, bytes("b"))));
    assertEquals(List.of("d=D", "c=C"), drain(store.reverseRange(bytes("c"), null)));
    assertEquals(List.of(), drain(store.range(bytes("x"), null)));
    assertEquals(List.of(), drain(store.range(bytes("c"), bytes("b"))));
    assertEquals(6, drain(store.all()).size());
    assertEquals("d=D", drain(store.reverseAll()).get(0));
  }

  @Test
  void prefixScanStopsAtTheEndOfThePrefix() {
    put("p", "pa", "pb", "q");
    assertEquals(
        List.of("p=P", "pa=PA", "pb=PB"), drain(store.prefixScan("p", new StringSerializer())));
    store.put(Bytes.wrap(new byte[] {-1, -1}), utf8("last"));
    assertEquals(1, drain(store.prefixScan(new byte[] {-1}, new ByteArraySerializer())).size());
  }

  @Test
  void anIteratorShowsTheEntriesAsOfItsBeginning() {
    put("a", "c");
    try (KeyValueIterator<Bytes, byte[]> all = store.all()) {
      put("b");
      store.delete(bytes("c"));
      assertEquals("a", text(all.next().key.get()));
      assertEquals("c", text(all.next().key.get()));
      assertFalse(all.hasNext());
    }
  }

  @Test
  void theStoreClosesItsIterators() {
    put("a", "b");
    KeyValueIterator<Bytes, byte[]> started = store.all();
    started.next();
    KeyValueIterator<Bytes, byte[]> fresh = store.reverseAll();
    store.close();
    for (KeyValueIterator<Bytes, byte[]> iterator : List.of(started, fresh)) {
      assertThrows(InvalidStateStoreException.class, iterator::hasNext);
      assertThrows(InvalidStateStoreException.class, iterator::next);
      assertThrows(InvalidStateStoreException.class, iterator::peekNextKey);
      iterator.close();
      iterator.close();
    }
    assertThrows(InvalidStateStoreException.class, () -> store.get(bytes("a")));
    assertThrows(InvalidStateStoreException.class, () -> store.put(bytes("a"), utf8("A")));
    assertThrows(InvalidStateStoreException.class, store::all);
    assertThrows(InvalidStateStoreException.class, store::approximateNumEntries);
    assertFalse(store.isOpen());
    store.close();
  }

  @Test
  void aClosedIteratorThrows() {
    put("a");
    KeyValueIterator<Bytes, byte[]> all = store.all();
    all.close();
    all.close();
    assertThrows(InvalidStateStoreException.class, all::hasNext);
  }

  @Test
  @SuppressWarnings("deprecation")
  void offsetsAreCommittedAndFoundAgain() {
    assertTrue(store.managesOffsets());
    assertNull(store.committedOffset(CHANGELOG));
    store.commit(Map.of(CHANGELOG, 41L, OTHER, 7L));
    store.commit(Map.of(CHANGELOG, 42L));
    assertEquals(42, store.committedOffset(CHANGELOG));
    reopen();
    assertEquals(42, store.committedOffset(CHANGELOG));
    assertEquals(7, store.committedOffset(OTHER));

    store.commit(Fixture.mapOf(CHANGELOG, null));
    assertNull(store.committedOffset(CHANGELOG));
    reopen();
    assertNull(store.committedOffset(CHANGELOG));
    assertEquals(7, store.committedOffset(OTHER));

    store.commit(Map.of());
    assertNull(store.committedOffset(OTHER));
    reopen();
    assertNull(store.committedOffset(OTHER));
  }

  @Test
  void thePositionIsPartOfACommit() {
    Fixture.at(context, "words", 3);
    put("a");
    Fixture.at(context, "words", 4);
    store.putAll(List.of(KeyValue.pair(bytes("b"), utf8("B")), KeyValue.pair(bytes("a"), null)));
    assertEquals(Position.fromMap(Map.of("words", Map.of(0, 4L))), store.getPosition());
    store.commit(Map.of());
    reopen();
    assertEquals(Position.fromMap(Map.of("words", Map.of(0, 4L))), store.getPosition());
    assertEquals(List.of("b=B"), drain(store.all()));
  }

  @Test
  void anExactlyOnceTaskRefusesWhatACrashLeft() throws Exception {
    reopen(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
    put("a");
    Path copy = directory.resolve("copy");
    copyDirectory(directory.resolve("mergedb"), copy.resolve("mergedb"));
    InternalMockProcessorContext<?, ?> exactlyOnce =
        Fixture.context(
            copy, StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
    assertThrows(TaskCorruptedException.class, () -> open(exactlyOnce));
    KeyValueStore<Bytes, byte[]> atLeastOnce = open(Fixture.context(copy));
    assertEquals("A", text(atLeastOnce.get(bytes("a"))));
    atLeastOnce.close();
    KeyValueStore<Bytes, byte[]> closedBefore = open(exactlyOnce);
    assertEquals("A", text(closedBefore.get(bytes("a"))));
    closedBefore.close();
  }

  /** Without a log too: a batch that is larger than a memtable is logged nevertheless. */
  @Test
  void anExactlyOnceTaskWithoutALogRefusesWhatACrashLeft() throws Exception {
    Object[] settings = {
      StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2,
      "mergedb.durability", "no-wal"
    };
    reopen(settings);
    Path copy = directory.resolve("copy");
    copyDirectory(directory.resolve("mergedb"), copy.resolve("mergedb"));
    assertThrows(TaskCorruptedException.class, () -> open(Fixture.context(copy, settings)));
    put("a");
    reopen(settings);
    assertEquals("A", text(store.get(bytes("a"))), "a close leaves nothing to refuse");
  }

  /**
   * What a kill -9 would leave: the log is in files that are mapped, and the lock is not copied.
   */
  private static void copyDirectory(Path from, Path to) throws Exception {
    try (var files = Files.walk(from)) {
      for (Path file : (Iterable<Path>) files::iterator) {
        Path target = to.resolve(from.relativize(file).toString());
        if (Files.isDirectory(file)) {
          Files.createDirectories(target);
        } else if (!file.getFileName().toString().equals("LOCK")) {
          Files.copy(file, target);
        }
      }
    }
  }

  @Test
  void anotherLayoutIsRefused() {
    put("a");
    store.close();
    KeyValueStore<Bytes, byte[]> timestamped =
        new MergedbKeyValueBytesStoreSupplier("counts", DslStoreFormat.TIMESTAMPED).get();
    ProcessorStateException e =
        assertThrows(ProcessorStateException.class, () -> timestamped.init(context, timestamped));
    assertTrue(e.getMessage().contains("key-value PLAIN"), e.getMessage());
    assertTrue(e.getMessage().contains("key-value TIMESTAMPED"), e.getMessage());
    assertFalse(timestamped.isOpen());
    reopen();
    assertEquals("A", text(store.get(bytes("a"))));
  }

  @Test
  void aDirectoryInUseIsNamed() {
    KeyValueStore<Bytes, byte[]> second = MergedbStores.keyValueStore("counts").get();
    ProcessorStateException e =
        assertThrows(ProcessorStateException.class, () -> second.init(context, second));
    assertTrue(
        e.getMessage().contains(directory.resolve("mergedb/counts").toString()), e.getMessage());
  }

  @Test
  void restoringPutsAndDeletesInOrder() {
    put("gone");
    context.restore(
        "counts",
        List.of(
            KeyValue.pair(utf8("a"), utf8("1")),
            KeyValue.pair(utf8("b"), utf8("2")),
            KeyValue.pair(utf8("a"), utf8("3")),
            KeyValue.pair(utf8("gone"), null)));
    assertEquals(List.of("a=3", "b=2"), drain(store.all()));
  }

  @Test
  void entriesAreCountedAndEstimated() {
    assertEquals(0, store.approximateNumEntries());
    put("a", "b", "c");
    store.delete(bytes("b"));
    assertEquals(2, store.approximateNumEntries());
    List<KeyValue<Bytes, byte[]>> many = new ArrayList<>();
    for (int i = 0; i < 60_000; ++i) many.add(KeyValue.pair(bytes("key" + i), utf8("value" + i)));
    store.putAll(many);
    long estimate = store.approximateNumEntries();
    assertTrue(estimate > 20_000 && estimate < 180_000, "60,002 entries, estimated " + estimate);
  }

  @Test
  void queriesRespectPositions() {
    Fixture.at(context, "words", 5);
    put("a", "b");
    QueryConfig config = new QueryConfig(false);
    QueryResult<byte[]> found =
        store.query(KeyQuery.withKey(bytes("a")), PositionBound.unbounded(), config);
    assertEquals("A", text(found.getResult()));
    assertEquals(5, found.getPosition().getPartitionPositions("words").get(0));
    QueryResult<KeyValueIterator<Bytes, byte[]>> range =
        store.query(
            RangeQuery.<Bytes, byte[]>withRange(bytes("a"), bytes("b")).withDescendingKeys(),
            PositionBound.unbounded(),
            config);
    assertEquals(List.of("b=B", "a=A"), drain(range.getResult()));
    QueryResult<byte[]> early =
        store.query(
            KeyQuery.withKey(bytes("a")),
            PositionBound.at(Position.fromMap(Map.of("words", Map.of(0, 6L)))),
            config);
    assertEquals(FailureReason.NOT_UP_TO_BOUND, early.getFailureReason());
  }

  @Test
  void settingsAreCheckedByName() {
    store.close();
    for (String[] bad :
        new String[][] {
          {"mergedb.memory.byte", "1"},
          {MergedbConfig.MEMORY_BYTES, "much"},
          {MergedbConfig.MEMORY_BYTES, "-5"},
          {MergedbConfig.DURABILITY, "maybe"},
          {MergedbConfig.COMPRESSION, "zip"},
          {MergedbConfig.OPTIONS_SETTER, "no.such.Setter"},
          {MergedbConfig.OPTIONS_SETTER, "java.lang.String"}
        }) {
      ConfigException e =
          assertThrows(
              ConfigException.class, () -> open(Fixture.context(directory, bad[0], bad[1])));
      assertTrue(e.getMessage().contains(bad[0]), e.getMessage());
    }
    // The engine refuses what it cannot do, and the store says where.
    ProcessorStateException e =
        assertThrows(
            ProcessorStateException.class,
            () -> open(Fixture.context(directory, MergedbConfig.WRITE_BUFFER_BYTES, "1")));
    assertTrue(e.getMessage().contains("counts"), e.getMessage());
  }

  public static final class Setter implements MergedbOptionsSetter {
    static final AtomicInteger CALLS = new AtomicInteger();

    @Override
    public void setOptions(String storeName, Options options, Map<String, ?> configs) {
      assertEquals("counts", storeName);
      assertEquals("8388608", configs.get(MergedbConfig.MEMORY_BYTES));
      options.bloomBitsPerKey(12);
      CALLS.incrementAndGet();
    }
  }

  @Test
  void settingsAndSetterAreUsed() {
    for (String durability : List.of("process-crash", "no-wal", "SYNCED")) {
      int calls = Setter.CALLS.get();
      reopen(
          MergedbConfig.MEMORY_BYTES,
          "8388608",
          MergedbConfig.WRITE_BUFFER_BYTES,
          1 << 20,
          MergedbConfig.BLOCK_BYTES,
          8192L,
          MergedbConfig.COMPRESSION,
          "lz4",
          MergedbConfig.OPEN_TABLES_MAX,
          64,
          MergedbConfig.DURABILITY,
          durability,
          MergedbConfig.OPTIONS_SETTER,
          Setter.class.getName());
      assertEquals(calls + 1, Setter.CALLS.get());
      put(durability);
    }
    reopen();
    assertEquals(3, drain(store.all()).size());
  }

  @Test
  void aDamagedDirectoryIsNamedWithTheNextStep() throws Exception {
    put("a");
    store.close();
    Files.writeString(directory.resolve("mergedb/counts/CURRENT"), "nonsense\n");
    ProcessorStateException e = assertThrows(ProcessorStateException.class, () -> open(context));
    assertTrue(e.getMessage().contains("delete this directory"), e.getMessage());
    Database.destroy(directory.resolve("mergedb/counts"));
  }

  @Test
  void randomCallsDoAsTheInMemoryStoreDoes() {
    Random random = Fixture.random("KeyValueStoreTest");
    KeyValueStore<Bytes, byte[]> model = Stores.inMemoryKeyValueStore("model").get();
    model.init(context, model);
    for (int i = 0; i < 4_000; ++i) {
      Bytes key = key(random);
      Bytes to = key(random);
      byte[] value = random.nextInt(4) == 0 ? null : utf8("v" + i);
      switch (random.nextInt(12)) {
        case 0:
          assertEquals(text(model.delete(key)), text(store.delete(key)));
          break;
        case 1:
          assertEquals(text(model.putIfAbsent(key, value)), text(store.putIfAbsent(key, value)));
          break;
        case 2:
          List<KeyValue<Bytes, byte[]>> batch =
              List.of(KeyValue.pair(key, value), KeyValue.pair(to, utf8("batch" + i)));
          model.putAll(batch);
          store.putAll(batch);
          break;
        case 3:
          assertEquals(drain(model.range(key, to)), drain(store.range(key, to)));
          break;
        case 4:
          assertEquals(drain(model.reverseRange(key, to)), drain(store.reverseRange(key, to)));
          break;
        case 5:
          assertEquals(drain(model.all()), drain(store.all()));
          assertEquals(drain(model.reverseAll()), drain(store.reverseAll()));
          break;
        case 6:
          if (random.nextInt(20) == 0) reopen();
          break;
        default:
          model.put(key, value);
          store.put(key, value);
          assertEquals(text(model.get(to)), text(store.get(to)));
      }
    }
    assertEquals(drain(model.all()), drain(store.all()));
    model.close();
  }

  private static Bytes key(Random random) {
    byte[] key = new byte[1 + random.nextInt(3)];
    for (int i = 0; i < key.length; ++i) key[i] = (byte) random.nextInt(4);
    return Bytes.wrap(key);
  }
}
