package dev.mergedb.kafka.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.LongDeserializer;
import org.apache.kafka.common.serialization.LongSerializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.internals.CachedStateStore;
import org.apache.kafka.streams.test.TestRecord;
import org.apache.kafka.test.InternalMockProcessorContext;
import org.apache.kafka.test.MockRecordCollector;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MergeStoreTest {
  @TempDir Path directory;

  private static final class Counting extends ContextualProcessor<String, Long, Void, Void> {
    private MergedbMergeStore<String, Long> counts;

    @Override
    public void init(ProcessorContext<Void, Void> context) {
      super.init(context);
      counts = context.getStateStore("counts");
    }

    @Override
    public void process(Record<String, Long> record) {
      if (record.value() == null) {
        counts.delete(record.key());
      } else {
        counts.merge(record.key(), record.value());
      }
    }
  }

  private static Topology counting(MergedbMergeStoreBuilder<String, Long> builder) {
    Topology topology = new Topology();
    topology.addSource("source", new StringDeserializer(), new LongDeserializer(), "in");
    topology.addProcessor(
        "count", () -> (Processor<String, Long, Void, Void>) new Counting(), "source");
    topology.addStateStore(builder, "count");
    return topology;
  }

  private Properties properties() {
    Properties properties = new Properties();
    properties.put(StreamsConfig.APPLICATION_ID_CONFIG, "app");
    properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "127.0.0.1:1");
    properties.put(StreamsConfig.STATE_DIR_CONFIG, directory.resolve("topology").toString());
    return properties;
  }

  private static Map<String, Long> drain(KeyValueIterator<String, Long> entries) {
    Map<String, Long> result = new HashMap<>();
    try (entries) {
      while (entries.hasNext()) {
        String peeked = entries.peekNextKey();
        KeyValue<String, Long> entry = entries.next();
        assertEquals(peeked, entry.key);
        result.put(entry.key, entry.value);
      }
    }
    return result;
  }

  @Test
  void theChangelogHoldsWholeCounts() {
    Random random = Fixture.random("MergeStoreTest");
    Map<String, Long> expected = new HashMap<>();
    List<KeyValue<byte[], byte[]>> changelog = new ArrayList<>();
    MergedbMergeStoreBuilder<String, Long> builder =
        MergedbStores.mergeStoreBuilder("counts", Serdes.String(), MergedbAggregators.count());
    try (TopologyTestDriver driver = new TopologyTestDriver(counting(builder), properties())) {
      TestInputTopic<String, Long> in =
          driver.createInputTopic("in", new StringSerializer(), new LongSerializer());
      for (int i = 0; i < 1_000; ++i) {
        String key = "k" + random.nextInt(30);
        if (random.nextInt(20) == 0) {
          in.pipeInput(key, null, i);
          expected.remove(key);
        } else {
          long delta = random.nextInt(10) - 3;
          in.pipeInput(key, delta, i);
          expected.merge(key, delta, Long::sum);
        }
      }
      MergedbMergeStore<String, Long> counts = store(driver);
      assertEquals(expected, drain(counts.all()));
      assertEquals(expected, drain(counts.reverseAll()));
      assertEquals(expected.size(), counts.approximateNumEntries());
      Map<String, Long> logged = new HashMap<>();
      for (TestRecord<byte[], byte[]> record :
          driver
              .createOutputTopic(
                  "app-counts-changelog", new ByteArrayDeserializer(), new ByteArrayDeserializer())
              .readRecordsToList()) {
        changelog.add(KeyValue.pair(record.key(), record.value()));
        String key = Fixture.text(record.key());
        if (record.value() == null) {
          logged.remove(key);
        } else {
          logged.put(key, new LongDeserializer().deserialize("", record.value()));
        }
      }
      assertEquals(expected, logged);
    }
    InternalMockProcessorContext<?, ?> context = Fixture.context(directory.resolve("restored"));
    MergedbMergeStore<String, Long> restored = builder.build();
    restored.init(context, restored);
    context.restore("counts", changelog);
    assertEquals(expected, drain(restored.all()));
    restored.close();
  }

  @SuppressWarnings("unchecked")
  private static MergedbMergeStore<String, Long> store(TopologyTestDriver driver) {
    return (MergedbMergeStore<String, Long>) driver.getAllStateStores().get("counts");
  }

  @Test
  void aKeyIsLoggedOnceACommit() {
    MockRecordCollector collector = new MockRecordCollector();
    InternalMockProcessorContext<?, ?> context = Fixture.context(directory, collector);
    context.addChangelogForStore("counts", "app-counts-changelog");
    MergedbMergeStore<String, Long> counts =
        MergedbStores.mergeStoreBuilder("counts", Serdes.String(), MergedbAggregators.count())
            .build();
    counts.init(context, counts);
    for (int i = 0; i < 100; ++i) counts.merge("k" + i % 2, 1L);
    assertTrue(collector.collected().isEmpty());
    ((CachedStateStore<?, ?>) counts).flushCache();
    assertEquals(2, collector.collected().size());
    assertEquals(
        50L, new LongDeserializer().deserialize("", (byte[]) collector.collected().get(0).value()));
    ((CachedStateStore<?, ?>) counts).flushCache();
    assertEquals(2, collector.collected().size());
    counts.close();
  }

  @Test
  void anUnloggedStoreLogsNothing() {
    MockRecordCollector collector = new MockRecordCollector();
    InternalMockProcessorContext<?, ?> context = Fixture.context(directory, collector);
    MergedbMergeStoreBuilder<String, Long> builder =
        MergedbStores.mergeStoreBuilder("counts", Serdes.String(), MergedbAggregators.count())
            .withLoggingDisabled();
    assertFalse(builder.loggingEnabled());
    MergedbMergeStore<String, Long> counts = builder.build();
    counts.init(context, counts);
    counts.merge("k", 2L);
    counts.merge("k", 3L);
    ((CachedStateStore<?, ?>) counts).flushCache();
    assertTrue(collector.collected().isEmpty());
    assertEquals(5L, counts.get("k"));
    counts.close();
  }

  @Test
  void aggregatorsAggregate() {
    check(MergedbAggregators.sumLong(), 12L, List.of(5L, 10L, -3L), Serdes.Long().getClass());
    List<Long> tooMuch = List.of(Long.MAX_VALUE, 2L, -1L);
    check(MergedbAggregators.sumLong(), Long.MIN_VALUE, tooMuch, Serdes.Long().getClass());
    List<Long> tooLittle = List.of(Long.MIN_VALUE, -1L);
    check(MergedbAggregators.count(), Long.MAX_VALUE, tooLittle, Serdes.Long().getClass());
    check(MergedbAggregators.maxLong(), 10L, List.of(5L, 10L, -3L), Serdes.Long().getClass());
    check(MergedbAggregators.minLong(), -3L, List.of(5L, 10L, -3L), Serdes.Long().getClass());
    check(MergedbAggregators.sumDouble(), 1.75, List.of(1.5, 0.25), Serdes.Double().getClass());
    check(
        MergedbAggregators.concatenate(", "),
        "a, b, ü",
        List.of("a", "b", "ü"),
        Serdes.String().getClass());
  }

  private <V> void check(
      MergedbAggregator<V> aggregator, V expected, List<V> values, Class<?> serde) {
    assertEquals(serde, aggregator.changelogSerde().getClass());
    InternalMockProcessorContext<?, ?> context = Fixture.context(directory);
    MergedbMergeStore<String, V> store =
        MergedbStores.mergeStoreBuilder("store", Serdes.String(), aggregator)
            .withLoggingDisabled()
            .build();
    store.init(context, store);
    for (V value : values) store.merge("k", value);
    assertEquals(expected, store.get("k"));
    store.put("k", values.get(0));
    assertEquals(values.get(0), store.get("k"));
    store.delete("k");
    assertNull(store.get("k"));
    store.merge("k", values.get(1));
    store.commit(Map.of(new TopicPartition("t", 0), 3L));
    store.close();
    store.init(context, store);
    assertEquals(values.get(1), store.get("k"));
    assertEquals(3L, store.committedOffset(new TopicPartition("t", 0)));
    store.delete("k");
    store.close();
    assertThrows(InvalidStateStoreException.class, () -> store.get("k"));
    assertThrows(InvalidStateStoreException.class, () -> store.merge("k", values.get(0)));
    assertThrows(NullPointerException.class, () -> store.merge("k", null));
    assertThrows(NullPointerException.class, () -> store.merge(null, values.get(0)));
  }

  @Test
  void rangesAreDecoded() {
    InternalMockProcessorContext<?, ?> context = Fixture.context(directory);
    MergedbMergeStore<String, Long> counts =
        MergedbStores.mergeStoreBuilder("counts", Serdes.String(), MergedbAggregators.count())
            .withLoggingDisabled()
            .build();
    counts.init(context, counts);
    for (String key : List.of("a", "b", "ba", "c")) counts.merge(key, 1L);
    assertEquals(Map.of("b", 1L, "ba", 1L), drain(counts.range("b", "ba")));
    assertEquals(Map.of("b", 1L, "ba", 1L), drain(counts.prefixScan("b", new StringSerializer())));
    assertEquals(Map.of(), drain(counts.reverseRange("c", "b")));
    assertEquals(4, drain(counts.range(null, null)).size());
    counts.close();
  }
}
