package dev.mergedb.kafka.streams.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.LongDeserializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;

/**
 * Real brokers and applications, killed with -9. Its name does not end in Test: it needs minutes
 * and 2 GB, and runs by name, {@code ./dev test kafka}.
 */
class KafkaCrashes {
  private static final int KEYS = 500;
  private static final int PARTITIONS = 4;

  @TempDir(cleanup = CleanupMode.ON_SUCCESS)
  Path directory;

  private final Map<String, Long> produced = new TreeMap<>();
  private final Random random = new Random(seed());
  private final List<Child> applications = new ArrayList<>();
  private LocalCluster cluster;
  private long started = System.nanoTime();

  private static long seed() {
    String given = System.getProperty("mergedb.seed", "");
    long seed = given.isEmpty() ? System.nanoTime() : Long.parseLong(given);
    System.out.println("KafkaCrashes: -Dmergedb.seed=" + seed);
    return seed;
  }

  private void say(String text) {
    System.out.printf("%6.1f s  %s%n", (System.nanoTime() - started) / 1e9, text);
  }

  @AfterEach
  void endProcesses() {
    applications.forEach(Child::close);
    if (cluster != null) cluster.close();
  }

  private Child application(int number, String guarantee) throws Exception {
    Child application =
        new Child(
            "application " + number,
            directory.resolve("application" + number + ".log"),
            List.of("-Xmx256m"),
            CountingApplication.class,
            cluster.bootstrap(),
            directory.resolve("state" + number).toString(),
            guarantee);
    applications.add(application);
    return application;
  }

  private void produce(int records) throws Exception {
    Properties properties = new Properties();
    properties.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, cluster.bootstrap());
    properties.put(ProducerConfig.ACKS_CONFIG, "all");
    properties.put(ProducerConfig.LINGER_MS_CONFIG, 5);
    List<Future<RecordMetadata>> sent = new ArrayList<>();
    try (Producer<String, String> producer =
        new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer())) {
      for (int i = 0; i < records; ++i) {
        String key = "key" + random.nextInt(KEYS);
        sent.add(producer.send(new ProducerRecord<>("in", key, "x")));
        produced.merge(key, 1L, Long::sum);
      }
      producer.flush();
    }
    for (Future<RecordMetadata> one : sent) one.get();
  }

  /** The last count of each key that was committed to topic out. */
  private Map<String, Long> committedCounts() {
    Properties properties = new Properties();
    properties.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, cluster.bootstrap());
    properties.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
    Map<String, Long> counts = new TreeMap<>();
    try (Consumer<String, Long> consumer =
        new KafkaConsumer<>(properties, new StringDeserializer(), new LongDeserializer())) {
      List<TopicPartition> partitions = new ArrayList<>();
      for (int i = 0; i < PARTITIONS; ++i) partitions.add(new TopicPartition("out", i));
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
      Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
      long deadline = System.nanoTime() + Duration.ofSeconds(20).toNanos();
      while (System.nanoTime() < deadline
          && partitions.stream().anyMatch(one -> consumer.position(one) < ends.get(one))) {
        for (ConsumerRecord<String, Long> record : consumer.poll(Duration.ofMillis(200)))
          counts.put(record.key(), record.value());
      }
    }
    return counts;
  }

  private static long sum(Map<String, Long> counts) {
    return counts.values().stream().mapToLong(Long::longValue).sum();
  }

  private void awaitCounts() throws Exception {
    long deadline = System.nanoTime() + Duration.ofSeconds(300).toNanos();
    Map<String, Long> counts = committedCounts();
    while (!counts.equals(produced) && System.nanoTime() < deadline) {
      Thread.sleep(1_000);
      counts = committedCounts();
    }
    say(
        "produced "
            + sum(produced)
            + " records of "
            + produced.size()
            + " keys; counted "
            + sum(counts)
            + " of "
            + counts.size());
    assertEquals(produced, counts);
  }

  /** The entries of the active stores of all applications that live. */
  private Map<String, Long> storedCounts() throws Exception {
    Map<String, Long> stored = new TreeMap<>();
    for (Child application : applications) {
      if (!application.isAlive()) continue;
      application.say("dump");
      String last;
      do {
        last = application.readUntil("", 120).get(0);
        if (last.startsWith("ENTRY ")) {
          String[] words = last.split(" ");
          stored.put(words[1], Long.parseLong(words[2]));
        }
      } while (!last.equals("END") && !last.startsWith("NOT_READY"));
    }
    return stored;
  }

  private void awaitStores() throws Exception {
    long deadline = System.nanoTime() + Duration.ofSeconds(300).toNanos();
    Map<String, Long> stored = storedCounts();
    while (!stored.equals(produced) && System.nanoTime() < deadline) {
      Thread.sleep(1_000);
      stored = storedCounts();
    }
    say("the stores of the applications hold " + sum(stored) + " of " + stored.size() + " keys");
    assertEquals(produced, stored);
  }

  private long restored(Child application) throws Exception {
    application.say("restored");
    List<String> lines = application.readUntil("RESTORED ", 120);
    return Long.parseLong(lines.get(lines.size() - 1).split(" ")[1]);
  }

  @Test
  void exactlyOnceCountsAreExactAfterKills() throws Exception {
    cluster = new LocalCluster(Files.createDirectories(directory.resolve("brokers")), 3);
    cluster.createTopic("in", PARTITIONS);
    cluster.createTopic("out", PARTITIONS);
    say("3 brokers serve");
    Child first = application(1, "exactly_once_v2");
    application(2, "exactly_once_v2");
    produce(10_000);
    awaitCounts();

    produce(2_000);
    first.kill();
    cluster.kill(0);
    say("killed application 1 and broker 1 with -9");
    produce(8_000);
    awaitCounts();
    cluster.start(0);
    application(1, "exactly_once_v2");
    produce(2_000);
    awaitCounts();
    awaitStores();

    produce(2_000);
    for (Child application : applications) application.kill();
    for (int i = 0; i < 3; ++i) cluster.kill(i);
    say("killed all applications and all brokers with -9");
    for (int i = 0; i < 3; ++i) cluster.start(i);
    cluster.awaitBrokers(3);
    applications.clear();
    application(1, "exactly_once_v2");
    application(2, "exactly_once_v2");
    produce(2_000);
    awaitCounts();
    awaitStores();
  }

  @Test
  void atLeastOnceStateSurvivesAKill() throws Exception {
    cluster = new LocalCluster(Files.createDirectories(directory.resolve("brokers")), 1);
    cluster.createTopic("in", PARTITIONS);
    cluster.createTopic("out", PARTITIONS);
    say("1 broker serves");
    Child first = application(1, "at_least_once");
    produce(20_000);
    awaitCounts();
    awaitStores();
    Thread.sleep(1_500); // more than a commit interval: the offsets of all of it are committed
    first.kill();
    say("killed the application with -9");
    Child second = application(1, "at_least_once");
    awaitStores();
    long records = restored(second);
    say("restored " + records + " records from the changelog");
    // Everything was committed, and the stores survive the kill, so there is nothing to restore.
    // RocksDB's would lose what was
    // not flushed.
    assertTrue(records < 100, records + " records were restored; the store should have had them");
    produce(1_000);
    awaitCounts();
  }
}
