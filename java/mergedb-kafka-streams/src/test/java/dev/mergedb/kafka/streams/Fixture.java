package dev.mergedb.kafka.streams;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.processor.internals.ProcessorRecordContext;
import org.apache.kafka.test.InternalMockProcessorContext;
import org.apache.kafka.test.MockRecordCollector;
import org.apache.kafka.test.StreamsTestUtils;

/** What the tests of stores share: a context without a broker, and shorthands for bytes. */
final class Fixture {
  private Fixture() {}

  /** A context over state directory `directory`; `settings` are pairs of names and values. */
  static InternalMockProcessorContext<?, ?> context(Path directory, Object... settings) {
    return context(directory, new MockRecordCollector(), settings);
  }

  static InternalMockProcessorContext<?, ?> context(
      Path directory, MockRecordCollector collector, Object... settings) {
    Properties properties = StreamsTestUtils.getStreamsConfig();
    for (int i = 0; i < settings.length; i += 2) properties.put(settings[i], settings[i + 1]);
    InternalMockProcessorContext<?, ?> context =
        new InternalMockProcessorContext<>(
            directory.toFile(), new StreamsConfig(properties), collector);
    context.setTime(1);
    return context;
  }

  /** Process as if the current record came from `topic`, partition 0, offset `offset`. */
  static void at(InternalMockProcessorContext<?, ?> context, String topic, long offset) {
    context.setRecordContext(new ProcessorRecordContext(1, offset, 0, topic, new RecordHeaders()));
  }

  static ConsumerRecord<byte[], byte[]> changelogRecord(byte[] key, byte[] value) {
    return new ConsumerRecord<>("changelog", 0, 0, key, value);
  }

  static Bytes bytes(String text) {
    return Bytes.wrap(utf8(text));
  }

  static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static String text(byte[] bytes) {
    return bytes == null ? null : new String(bytes, StandardCharsets.UTF_8);
  }

  /** A generator whose seed is printed, and taken from -Dmergedb.seed if it is there. */
  static Random random(String test) {
    String given = System.getProperty("mergedb.seed", "");
    long seed = given.isEmpty() ? System.nanoTime() : Long.parseLong(given);
    System.out.println(test + ": -Dmergedb.seed=" + seed);
    return new Random(seed);
  }

  static <K, V> Map<K, V> mapOf(K key, V value) {
    Map<K, V> map = new HashMap<>();
    map.put(key, value);
    return map;
  }
}
