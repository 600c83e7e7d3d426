package dev.mergedb.kafka.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.TestOutputTopic;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.SlidingWindows;
import org.apache.kafka.streams.kstream.StreamJoined;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.state.BuiltInDslStoreSuppliers;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.ValueAndTimestamp;
import org.apache.kafka.streams.test.TestRecord;
import org.apache.kafka.test.InternalMockProcessorContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Whole topologies without a broker. One line of configuration puts their stores on mergedb; what
 * they send is what they send with the built-in stores.
 */
class TopologyTest {
  @TempDir Path directory;

  private static Properties properties(
      Path stateDirectory, Class<?> suppliers, Object... settings) {
    Properties properties = new Properties();
    properties.put(StreamsConfig.APPLICATION_ID_CONFIG, "app");
    properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "127.0.0.1:1");
    properties.put(StreamsConfig.STATE_DIR_CONFIG, stateDirectory.toString());
    properties.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
    properties.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
    properties.put(StreamsConfig.DSL_STORE_SUPPLIERS_CLASS_CONFIG, suppliers.getName());
    properties.put(MergedbConfig.MEMORY_BYTES, 8 << 20);
    for (int i = 0; i < settings.length; i += 2) properties.put(settings[i], settings[i + 1]);
    return properties;
  }

  private static KGroupedStream<String, String> words(StreamsBuilder builder) {
    return builder.stream("in", Consumed.with(Serdes.String(), Serdes.String()))
        .flatMapValues(line -> Arrays.asList(line.toLowerCase(Locale.ROOT).split(" ")))
        .groupBy((key, word) -> word, Grouped.with(Serdes.String(), Serdes.String()));
  }

  private static final Consumer<StreamsBuilder> WORD_COUNT =
      builder ->
          words(builder)
              .count(Materialized.as("counts"))
              .toStream()
              .mapValues(String::valueOf)
              .to("out");

  private static <K> void send(KStream<K, ?> stream) {
    stream
        .map((key, value) -> KeyValue.pair(String.valueOf(key), String.valueOf(value)))
        .to("out", Produced.with(Serdes.String(), Serdes.String()));
  }

  private static Consumer<StreamsBuilder> topology(String name) {
    Duration minute = Duration.ofMinutes(1);
    TimeWindows tumbling = TimeWindows.ofSizeAndGrace(minute, minute);
    switch (name) {
      case "word count":
        return WORD_COUNT;
      case "reduce":
        return builder ->
            send(
                words(builder)
                    .reduce((a, b) -> a.length() > 40 ? b : a + b, Materialized.as("reduced"))
                    .toStream());
      case "tumbling":
        return builder ->
            send(words(builder).windowedBy(tumbling).count(Materialized.as("windows")).toStream());
      case "hopping":
        return builder ->
            send(
                words(builder)
                    .windowedBy(tumbling.advanceBy(Duration.ofSeconds(20)))
                    .count(Materialized.as("windows"))
                    .toStream());
      case "tumbling, final":
        return builder ->
            send(
                words(builder)
                    .windowedBy(tumbling)
                    .emitStrategy(EmitStrategy.onWindowClose())
                    .count(Materialized.as("windows"))
                    .toStream());
      case "sliding":
        return builder ->
            send(
                words(builder)
                    .windowedBy(SlidingWindows.ofTimeDifferenceAndGrace(minute, minute))
                    .count(Materialized.as("windows"))
                    .toStream());
      case "session":
        return builder ->
            send(
                words(builder)
                    .windowedBy(
                        SessionWindows.ofInactivityGapAndGrace(Duration.ofSeconds(20), minute))
                    .count(Materialized.as("sessions"))
                    .toStream());
      case "session, final":
        return builder ->
            send(
                words(builder)
                    .windowedBy(
                        SessionWindows.ofInactivityGapAndGrace(Duration.ofSeconds(20), minute))
                    .emitStrategy(EmitStrategy.onWindowClose())
                    .count(Materialized.as("sessions"))
                    .toStream());
      case "stream join":
        return builder -> {
          KStream<String, String> left = builder.stream("in");
          KStream<String, String> right = left.filter((key, line) -> line.length() % 2 == 0);
          send(
              left.leftJoin(
                  right,
                  (a, b) -> a + "|" + b,
                  JoinWindows.ofTimeDifferenceAndGrace(Duration.ofSeconds(30), minute),
                  StreamJoined.<String, String, String>as("join").withName("join")));
        };
      case "table join":
        return builder -> {
          KTable<String, String> table = builder.table("in", Materialized.as("table"));
          KTable<String, Long> lengths =
              table
                  .groupBy((key, line) -> KeyValue.pair(line.substring(0, 1), line))
                  .aggregate(
                      () -> 0L,
                      (key, line, sum) -> sum + line.length(),
                      (key, line, sum) -> sum - line.length(),
                      Materialized.with(Serdes.String(), Serdes.Long()));
          send(
              table
                  .mapValues(line -> line.substring(0, 1))
                  .leftJoin(lengths, String::valueOf, (a, b) -> a + b)
                  .toStream());
        };
      default:
        throw new IllegalArgumentException(name);
    }
  }

  private List<String> run(
      String topology, Path stateDirectory, Class<?> suppliers, long seed, Object... settings) {
    StreamsBuilder builder = new StreamsBuilder();
    Properties properties = properties(stateDirectory, suppliers, settings);
    topology(topology).accept(builder);
    List<String> result = new ArrayList<>();
    Random random = new Random(seed);
    try (TopologyTestDriver driver =
        new TopologyTestDriver(builder.build(properties), properties, Instant.ofEpochMilli(0))) {
      TestInputTopic<String, String> in =
          driver.createInputTopic("in", new StringSerializer(), new StringSerializer());
      long now = 1_700_000_000_000L;
      for (int i = 0; i < 250; ++i) {
        now += random.nextInt(20) == 0 ? random.nextInt(90_000) : random.nextInt(3_000);
        StringBuilder line = new StringBuilder();
        for (int words = 1 + random.nextInt(3); words > 0; --words)
          line.append("w").append(random.nextInt(12)).append(' ');
        in.pipeInput("k" + random.nextInt(5), line.toString().trim(), now - random.nextInt(60_000));
        if (random.nextInt(50) == 0) driver.advanceWallClockTime(Duration.ofSeconds(2));
      }
      TestOutputTopic<String, String> out =
          driver.createOutputTopic("out", new StringDeserializer(), new StringDeserializer());
      for (TestRecord<String, String> record : out.readRecordsToList()) {
        result.add(record.key() + "=" + record.value() + " at " + record.timestamp());
      }
    }
    return result;
  }

  private static boolean holds(Path stateDirectory, String folder) throws IOException {
    try (Stream<Path> files = Files.walk(stateDirectory)) {
      return files.anyMatch(
          path -> Files.isDirectory(path) && path.getFileName().toString().equals(folder));
    }
  }

  private void compare(String topology, Class<?> builtIn, Object... settings) {
    String with = topology + " with " + Arrays.toString(settings);
    long seed = Fixture.random("TopologyTest " + with).nextLong();
    List<String> expected = run(topology, directory.resolve("built-in"), builtIn, seed, settings);
    List<String> found =
        run(topology, directory.resolve("ours"), MergedbDslStoreSuppliers.class, seed, settings);
    // Without a cache, Kafka Streams emits no window that closes, in any store, as long as the test
    // driver runs it.
    assertTrue(!expected.isEmpty() || settings.length > 0, with);
    if (topology.endsWith("final")) {
      // Windows that close together are sent in the order of their segments and keys, not of their
      // ends.
      expected.sort(null);
      found.sort(null);
    }
    for (int i = 0; i < Math.min(expected.size(), found.size()); ++i)
      assertEquals(expected.get(i), found.get(i), with + ", " + i);
    assertEquals(expected.size(), found.size(), with);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "word count",
        "reduce",
        "tumbling",
        "hopping",
        "tumbling, final",
        "sliding",
        "session",
        "stream join",
        "table join"
      })
  void sendsWhatItSendsWithTheBuiltInStores(String topology) {
    Class<?> builtIn = BuiltInDslStoreSuppliers.InMemoryDslStoreSuppliers.class;
    compare(topology, builtIn);
    compare(topology, builtIn, StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
    compare(topology, builtIn, StreamsConfig.DSL_STORE_FORMAT_CONFIG, "headers");
  }

  /**
   * The in-memory store removes sessions before they are emitted, so this one is compared with the
   * RocksDB store.
   */
  @Test
  void sendsSessionsThatCloseAsTheRocksDbStoreDoes() {
    compare("session, final", BuiltInDslStoreSuppliers.RocksDBDslStoreSuppliers.class);
  }

  @Test
  void aGlobalTableIsJoined() throws IOException {
    StreamsBuilder builder = new StreamsBuilder();
    Properties properties = properties(directory, MergedbDslStoreSuppliers.class);
    var names = builder.<String, String>globalTable("names", Materialized.as("names"));
    send(
        builder.<String, String>stream("in")
            .join(names, (key, line) -> line, (line, name) -> line + " " + name));
    try (TopologyTestDriver driver =
        new TopologyTestDriver(builder.build(properties), properties)) {
      driver
          .createInputTopic("names", new StringSerializer(), new StringSerializer())
          .pipeInput("a", "apple");
      driver
          .createInputTopic("in", new StringSerializer(), new StringSerializer())
          .pipeInput("k", "a");
      assertEquals(
          List.of(KeyValue.pair("k", "a apple")),
          driver
              .createOutputTopic("out", new StringDeserializer(), new StringDeserializer())
              .readKeyValuesToList());
      assertTrue(holds(directory, "mergedb"));
    }
  }

  @Test
  void oneLineMovesEveryStore() throws IOException {
    StreamsBuilder builder = new StreamsBuilder();
    Properties properties = properties(directory, MergedbDslStoreSuppliers.class);
    WORD_COUNT.accept(builder);
    try (TopologyTestDriver driver =
        new TopologyTestDriver(builder.build(properties), properties)) {
      driver
          .createInputTopic("in", new StringSerializer(), new StringSerializer())
          .pipeInput("k", "a b a");
      assertTrue(holds(directory, "mergedb"));
      assertFalse(holds(directory, "rocksdb"));
      KeyValueStore<String, ValueAndTimestamp<Long>> counts =
          driver.getTimestampedKeyValueStore("counts");
      assertEquals(2, counts.get("a").value());
    }
  }

  /**
   * What the topology wrote to its changelog, restored into an empty store, is what its store held.
   */
  @Test
  void aStoreIsRestoredFromItsChangelog() {
    StreamsBuilder builder = new StreamsBuilder();
    Properties properties = properties(directory.resolve("first"), MergedbDslStoreSuppliers.class);
    WORD_COUNT.accept(builder);
    Map<String, Long> held = new TreeMap<>();
    List<KeyValue<byte[], byte[]>> changelog = new ArrayList<>();
    try (TopologyTestDriver driver =
        new TopologyTestDriver(builder.build(properties), properties)) {
      TestInputTopic<String, String> in =
          driver.createInputTopic("in", new StringSerializer(), new StringSerializer());
      for (int i = 0; i < 500; ++i) in.pipeInput("k", "w" + i % 37 + " w" + i % 5, 1_000 + i);
      try (var all = driver.<String, Long>getTimestampedKeyValueStore("counts").all()) {
        all.forEachRemaining(entry -> held.put(entry.key, entry.value.value()));
      }
      var records =
          driver
              .createOutputTopic(
                  "app-counts-changelog", new ByteArrayDeserializer(), new ByteArrayDeserializer())
              .readRecordsToList();
      for (TestRecord<byte[], byte[]> record : records)
        changelog.add(KeyValue.pair(record.key(), record.value()));
    }
    assertEquals(37, held.size());
    InternalMockProcessorContext<?, ?> context = Fixture.context(directory.resolve("second"));
    KeyValueStore<Bytes, byte[]> store = MergedbStores.keyValueStore("counts").get();
    store.init(context, store);
    context.restore("counts", changelog);
    Map<String, Long> restored = new TreeMap<>();
    try (var all = store.all()) {
      all.forEachRemaining(
          entry ->
              restored.put(
                  Fixture.text(entry.key.get()),
                  Serdes.Long().deserializer().deserialize("", entry.value)));
    }
    store.close();
    assertEquals(held, restored);
  }
}
