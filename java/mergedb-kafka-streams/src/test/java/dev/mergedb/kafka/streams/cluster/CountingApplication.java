package dev.mergedb.kafka.streams.cluster;

import dev.mergedb.kafka.streams.MergedbConfig;
import dev.mergedb.kafka.streams.MergedbDslStoreSuppliers;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StoreQueryParameters;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.processor.StateRestoreListener;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.QueryableStoreTypes;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;

/**
 * An application that counts the records of topic {@code in} by key, in a store on mergedb, and
 * sends the counts to topic {@code out}. Arguments: brokers, state directory, processing guarantee.
 * It answers lines on its standard input:
 *
 * <pre>
 *   state      STATE RUNNING, ...
 *   dump       ENTRY KEY COUNT for each entry of its active stores, then END; or NOT_READY
 *   restored   RESTORED N: records that it read from changelogs into active stores
 *   close      closes and ends
 * </pre>
 */
public final class CountingApplication {
  private CountingApplication() {}

  public static void main(String[] arguments) throws Exception {
    Properties properties = new Properties();
    properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[0]);
    properties.put(StreamsConfig.STATE_DIR_CONFIG, arguments[1]);
    properties.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, arguments[2]);
    properties.put(StreamsConfig.APPLICATION_ID_CONFIG, "counting-" + arguments[2]);
    properties.put(
        StreamsConfig.DSL_STORE_SUPPLIERS_CLASS_CONFIG, MergedbDslStoreSuppliers.class.getName());
    properties.put(MergedbConfig.MEMORY_BYTES, 16 << 20);
    properties.put(
        StreamsConfig.REPLICATION_FACTOR_CONFIG, arguments[0].split(",").length >= 3 ? 3 : 1);
    properties.put(StreamsConfig.NUM_STANDBY_REPLICAS_CONFIG, 1);
    properties.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 500);
    properties.put(StreamsConfig.consumerPrefix(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG), 6_000);
    properties.put(
        StreamsConfig.consumerPrefix(ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG), 1_000);
    properties.put(
        StreamsConfig.consumerPrefix(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG), "earliest");
    properties.put(StreamsConfig.producerPrefix(ProducerConfig.TRANSACTION_TIMEOUT_CONFIG), 10_000);

    StreamsBuilder builder = new StreamsBuilder();
    builder.stream("in", Consumed.with(Serdes.String(), Serdes.String()))
        .groupByKey(Grouped.with(Serdes.String(), Serdes.String()))
        .count(Materialized.as("counts"))
        .toStream()
        .to("out", Produced.with(Serdes.String(), Serdes.Long()));

    AtomicLong restored = new AtomicLong();
    try (KafkaStreams streams = new KafkaStreams(builder.build(properties), properties)) {
      streams.setUncaughtExceptionHandler(
          e -> StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse.REPLACE_THREAD);
      streams.setGlobalStateRestoreListener(new Counting(restored));
      streams.start();
      BufferedReader input =
          new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
      for (String line = input.readLine();
          line != null && !line.equals("close");
          line = input.readLine()) answer(line, streams, restored);
      streams.close(Duration.ofSeconds(30));
    }
  }

  private static void answer(String line, KafkaStreams streams, AtomicLong restored) {
    switch (line) {
      case "state":
        System.out.println("STATE " + streams.state());
        break;
      case "restored":
        System.out.println("RESTORED " + restored.get());
        break;
      case "dump":
        try {
          ReadOnlyKeyValueStore<String, Long> counts =
              streams.store(
                  StoreQueryParameters.fromNameAndType(
                      "counts", QueryableStoreTypes.keyValueStore()));
          try (KeyValueIterator<String, Long> all = counts.all()) {
            all.forEachRemaining(
                entry -> System.out.println("ENTRY " + entry.key + " " + entry.value));
          }
          System.out.println("END");
        } catch (RuntimeException e) {
          System.out.println("NOT_READY " + e);
        }
        break;
      default:
        System.out.println("? " + line);
    }
  }

  private static final class Counting implements StateRestoreListener {
    private final AtomicLong restored;

    Counting(AtomicLong restored) {
      this.restored = restored;
    }

    @Override
    public void onRestoreStart(TopicPartition partition, String store, long from, long to) {}

    @Override
    public void onBatchRestored(TopicPartition partition, String store, long end, long count) {
      restored.addAndGet(count);
    }

    @Override
    public void onRestoreEnd(TopicPartition partition, String store, long total) {}
  }
}
