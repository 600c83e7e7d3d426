package dev.mergedb.kafka.streams.bench;

import dev.mergedb.kafka.streams.MergedbAggregators;
import dev.mergedb.kafka.streams.MergedbDslStoreSuppliers;
import dev.mergedb.kafka.streams.MergedbMergeStore;
import dev.mergedb.kafka.streams.MergedbStores;
import dev.mergedb.kafka.streams.cluster.Child;
import dev.mergedb.kafka.streams.cluster.LocalCluster;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.BuiltInDslStoreSuppliers;
import org.apache.kafka.streams.state.WindowStore;

/**
 * Words a second of a word count topology on a real broker, with the changelog on, in our store and
 * in the RocksDB store of Kafka Streams. The words are records of one partition, keyed by the word;
 * each run is a JVM of its own that reads them from the beginning. The time is from the first word
 * to the end of the commit that follows the last one. The CPU time of the stream thread is from the
 * first word to the last; on a machine with other work it is the steadier figure.
 *
 * <pre>
 *   WordCountBenchmark [--words N] [--keys K] [--rounds R] [--cache BYTES] [--commit-millis N] [--guarantee NAME]
 *                      [--stores rocksdb,mergedb,merge,merge-unlogged] [--window]
 * </pre>
 *
 * {@code merge} is the store for processors that counts by merge operands; {@code merge-unlogged}
 * is the same without a changelog. {@code --window} counts in windows of a minute, over stream time
 * that moves by a millisecond a word.
 */
public final class WordCountBenchmark {
  private WordCountBenchmark() {}

  private static String option(List<String> arguments, String name, String otherwise) {
    int at = arguments.indexOf(name);
    return at < 0 ? otherwise : arguments.get(at + 1);
  }

  public static void main(String[] given) throws Exception {
    List<String> arguments = new ArrayList<>(Arrays.asList(given));
    if (arguments.contains("--child")) {
      runChild(arguments);
      return;
    }
    int words = Integer.parseInt(option(arguments, "--words", "1000000"));
    int keys = Integer.parseInt(option(arguments, "--keys", "500000"));
    int rounds = Integer.parseInt(option(arguments, "--rounds", "3"));
    String[] stores = option(arguments, "--stores", "rocksdb,mergedb").split(",");
    Path directory =
        Files.createTempDirectory(Path.of(option(arguments, "--directory", "/tmp")), "word-count-");
    try (LocalCluster cluster =
        new LocalCluster(Files.createDirectories(directory.resolve("brokers")), 1)) {
      cluster.createTopic("words", 1);
      produce(cluster, words, keys);
      System.out.printf(
          "%,d words of %,d, in topic words; cache %s, commit %s ms, %s%n",
          words,
          keys,
          option(arguments, "--cache", "10485760"),
          option(arguments, "--commit-millis", "30000"),
          option(arguments, "--guarantee", "at_least_once"));
      double[][] rates = new double[stores.length][rounds];
      double[][] threadNanos = new double[stores.length][rounds];
      for (int round = 0; round < rounds; ++round) {
        for (int i = 0; i < stores.length; ++i) {
          Run run = measure(cluster, directory, stores[i], round, arguments, words);
          rates[i][round] = run.wordsPerSecond();
          threadNanos[i][round] = run.streamThreadNanosPerWord();
        }
      }
      for (int i = 0; i < stores.length; ++i) {
        Arrays.sort(rates[i]);
        Arrays.sort(threadNanos[i]);
        System.out.printf(
            "%-16s median %,12.0f words/s   min %,12.0f   max %,12.0f   x %.2f of %s; stream thread"
                + " %,.0f ns a word, x %.2f%n",
            stores[i],
            rates[i][rounds / 2],
            rates[i][0],
            rates[i][rounds - 1],
            rates[i][rounds / 2] / rates[0][rounds / 2],
            stores[0],
            threadNanos[i][rounds / 2],
            threadNanos[0][rounds / 2] / threadNanos[i][rounds / 2]);
      }
    } finally {
      delete(directory);
    }
  }

  private static void produce(LocalCluster cluster, int words, int keys) {
    Properties properties = new Properties();
    properties.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, cluster.bootstrap());
    properties.put(ProducerConfig.LINGER_MS_CONFIG, 20);
    properties.put(ProducerConfig.BATCH_SIZE_CONFIG, 1 << 18);
    Random random = new Random(1);
    long begin = System.currentTimeMillis(); // the broker deletes records with old timestamps
    try (Producer<String, byte[]> producer =
        new KafkaProducer<>(properties, new StringSerializer(), new ByteArraySerializer())) {
      for (int i = 0; i < words; ++i) {
        // Half of the words are of a tenth of the keys.
        int key =
            random.nextBoolean() ? random.nextInt(keys) : random.nextInt(Math.max(1, keys / 10));
        producer.send(new ProducerRecord<>("words", 0, begin + i, "word-" + key, new byte[0]));
      }
    }
  }

  private record Run(double wordsPerSecond, double streamThreadNanosPerWord) {}

  private static Run measure(
      LocalCluster cluster,
      Path directory,
      String store,
      int round,
      List<String> arguments,
      int words)
      throws Exception {
    String application = store + "-" + round;
    List<String> child = new ArrayList<>(arguments);
    child.addAll(
        List.of(
            "--child",
            "--bootstrap",
            cluster.bootstrap(),
            "--store",
            store,
            "--application",
            application,
            "--state",
            directory.resolve(application).toString(),
            "--count",
            String.valueOf(words)));
    try (Child process =
        new Child(
            application,
            directory.resolve(application + ".log"),
            List.of("-Xmx512m"),
            WordCountBenchmark.class,
            child.toArray(new String[0]))) {
      List<String> lines = process.readUntil("SECONDS ", 1_200);
      process.waitFor(60);
      String[] fields = lines.get(lines.size() - 1).split(" ");
      double rate = words / Double.parseDouble(fields[1]);
      System.out.printf(
          "round %d  %-16s %,12.0f words/s   stream thread %.2f CPU s (%,.0f ns a word), process"
              + " %.2f CPU s, %.1f MB of state%n",
          round + 1,
          store,
          rate,
          Double.parseDouble(fields[2]),
          1e9 * Double.parseDouble(fields[2]) / words,
          Double.parseDouble(fields[3]),
          megabytes(directory.resolve(application)));
      return new Run(rate, 1e9 * Double.parseDouble(fields[2]) / words);
    } finally {
      delete(directory.resolve(application));
      try (Admin admin = cluster.admin()) {
        admin
            .deleteTopics(
                admin.listTopics().names().get().stream()
                    .filter(topic -> topic.startsWith(application))
                    .toList())
            .all()
            .get();
      }
    }
  }

  private static double megabytes(Path directory) throws IOException {
    long[] bytes = {0};
    Files.walkFileTree(
        directory,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
            bytes[0] += attributes.size();
            return FileVisitResult.CONTINUE;
          }
        });
    return bytes[0] / 1e6;
  }

  private static void delete(Path directory) throws IOException {
    if (!Files.exists(directory)) return;
    Files.walkFileTree(
        directory,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
              throws IOException {
            Files.delete(file);
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult postVisitDirectory(Path folder, IOException e) throws IOException {
            Files.delete(folder);
            return FileVisitResult.CONTINUE;
          }
        });
  }

  /** Counts down to the end of the input, and knows when the first word came. */
  private static final class Progress {
    private final CountDownLatch end = new CountDownLatch(1);
    private long left;
    private volatile long started;
    private volatile long streamCpuNanos;

    Progress(long words) {
      left = words;
    }

    void word() {
      if (started == 0) {
        started = System.nanoTime();
        streamCpuNanos = -ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
      }
      if (--left == 0) {
        streamCpuNanos += ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
        end.countDown();
      }
    }
  }

  private static void runChild(List<String> arguments) throws Exception {
    String store = option(arguments, "--store", "");
    Properties properties = new Properties();
    properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, option(arguments, "--bootstrap", ""));
    properties.put(StreamsConfig.APPLICATION_ID_CONFIG, option(arguments, "--application", ""));
    properties.put(StreamsConfig.STATE_DIR_CONFIG, option(arguments, "--state", ""));
    properties.put(
        StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, option(arguments, "--cache", "10485760"));
    properties.put(
        StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, option(arguments, "--commit-millis", "30000"));
    properties.put(
        StreamsConfig.PROCESSING_GUARANTEE_CONFIG,
        option(arguments, "--guarantee", "at_least_once"));
    properties.put(
        StreamsConfig.consumerPrefix(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG), "earliest");
    properties.put(
        StreamsConfig.DSL_STORE_SUPPLIERS_CLASS_CONFIG,
        store.equals("rocksdb")
            ? BuiltInDslStoreSuppliers.RocksDBDslStoreSuppliers.class.getName()
            : MergedbDslStoreSuppliers.class.getName());
    for (String argument : arguments) {
      if (argument.startsWith("mergedb."))
        properties.put(argument.split("=")[0], argument.split("=")[1]);
    }
    Progress progress = new Progress(Long.parseLong(option(arguments, "--count", "0")));
    Topology topology =
        store.startsWith("merge") && !store.equals("mergedb")
            ? merging(progress, store.endsWith("unlogged"))
            : arguments.contains("--window")
                ? windowing(progress, properties)
                : counting(progress, properties);
    try (KafkaStreams streams = new KafkaStreams(topology, properties)) {
      streams.start();
      if (!progress.end.await(1_100, TimeUnit.SECONDS))
        throw new IllegalStateException("not all words came within 1,100 s");
      streams.close(Duration.ofSeconds(60));
      long processCpuNanos =
          ProcessHandle.current().info().totalCpuDuration().orElse(Duration.ZERO).toNanos();
      System.out.println(
          "SECONDS "
              + (System.nanoTime() - progress.started) / 1e9
              + " "
              + progress.streamCpuNanos / 1e9
              + " "
              + processCpuNanos / 1e9);
    }
  }

  private static Topology counting(Progress progress, Properties properties) {
    StreamsBuilder builder = new StreamsBuilder();
    builder.stream("words", Consumed.with(Serdes.String(), Serdes.ByteArray()))
        .peek((word, nothing) -> progress.word())
        .groupByKey(Grouped.with(Serdes.String(), Serdes.ByteArray()))
        .count(Materialized.as("counts"));
    return builder.build(properties);
  }

  private static Topology windowing(Progress progress, Properties properties) {
    StreamsBuilder builder = new StreamsBuilder();
    builder.stream("words", Consumed.with(Serdes.String(), Serdes.ByteArray()))
        .peek((word, nothing) -> progress.word())
        .groupByKey(Grouped.with(Serdes.String(), Serdes.ByteArray()))
        .windowedBy(TimeWindows.ofSizeWithNoGrace(Duration.ofMinutes(1)))
        .count(
            Materialized.<String, Long, WindowStore<Bytes, byte[]>>as("counts")
                .withRetention(Duration.ofMinutes(4)));
    return builder.build(properties);
  }

  private static Topology merging(Progress progress, boolean isUnlogged) {
    var store =
        MergedbStores.mergeStoreBuilder("counts", Serdes.String(), MergedbAggregators.count());
    if (isUnlogged) store.withLoggingDisabled();
    Topology topology = new Topology();
    topology.addSource(
        "source", new StringDeserializer(), Serdes.ByteArray().deserializer(), "words");
    topology.addProcessor(
        "count", () -> (Processor<String, byte[], Void, Void>) new Merging(progress), "source");
    topology.addStateStore(store, "count");
    return topology;
  }

  private static final class Merging extends ContextualProcessor<String, byte[], Void, Void> {
    private final Progress progress;
    private MergedbMergeStore<String, Long> counts;

    Merging(Progress progress) {
      this.progress = progress;
    }

    @Override
    public void init(ProcessorContext<Void, Void> context) {
      super.init(context);
      counts = context.getStateStore("counts");
    }

    @Override
    public void process(Record<String, byte[]> record) {
      counts.merge(record.key(), 1L);
      progress.word();
    }
  }
}
