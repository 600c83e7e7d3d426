package dev.mergedb;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Each numeric option at its edges: no value is cut, or taken for another one, on its way to the engine. */
class OptionEdgesTest {
  private static final long HOUR_MILLIS = 3_600_000;

  @TempDir Path folder;

  @Test
  void openTakesTheEdges() {
    Map<String, Options> good = new TreeMap<>();
    good.put("bloom none", Testing.small().bloomBitsPerKey(-1));
    good.put("bloom most", Testing.small().bloomBitsPerKey(64));
    good.put("tables least", Testing.small().openTablesMax(16));
    good.put("tables most", Testing.small().openTablesMax(Integer.MAX_VALUE));
    good.put("sync never", Testing.small().walSyncIntervalMillis(-1));
    good.put("sync least", Testing.small().walSyncIntervalMillis(1));
    good.put("sync most", Testing.small().walSyncIntervalMillis(HOUR_MILLIS));
    good.put("delay least", Testing.small().writeDelayMicrosMax(1));
    good.put("delay most", Testing.small().writeDelayMicrosMax(1000 * HOUR_MILLIS));
    good.put("blob none", Testing.small().blobValueBytesMin(-1));
    good.put("blob most", Testing.small().blobValueBytesMin(Long.MAX_VALUE));
    good.put("block least", Testing.small().blockBytes(256));
    good.put("log least", Testing.small().logBytesMax(16 << 10));
    good.put("log most", Testing.small().logBytesMax(1 << 30));
    good.put("slow least", Testing.small().slowCallMicros(1));
    good.put("slow most", Testing.small().slowCallMicros(1000 * HOUR_MILLIS));
    good.put("mapped none", Testing.small().mappedReadBytesMax(-1));
    good.put("mapped most", Testing.small().mappedReadBytesMax(Long.MAX_VALUE));
    good.forEach((name, options) -> Database.open(folder.resolve(name), options).close());
  }

  @Test
  void openRefusesWhatIsBeyondThem() {
    Map<String, Options> bad = new TreeMap<>();
    bad.put("bloom_bits_per_key is -2", Testing.small().bloomBitsPerKey(-2));
    bad.put("bloom_bits_per_key is 65", Testing.small().bloomBitsPerKey(65));
    bad.put("bloom_bits_per_key is " + Integer.MIN_VALUE, Testing.small().bloomBitsPerKey(Integer.MIN_VALUE));
    bad.put("open_tables_max is 15", Testing.small().openTablesMax(15));
    bad.put("wal_sync_interval_ms is 3600001", Testing.small().walSyncIntervalMillis(HOUR_MILLIS + 1));
    bad.put("wal_sync_interval_ms is " + Long.MAX_VALUE, Testing.small().walSyncIntervalMillis(Long.MAX_VALUE));
    bad.put("write_delay_us_max is 3600000001", Testing.small().writeDelayMicrosMax(1000 * HOUR_MILLIS + 1));
    bad.put("log_bytes_max is 16383", Testing.small().logBytesMax((16 << 10) - 1));
    bad.put("log_bytes_max is 1073741825", Testing.small().logBytesMax((1 << 30) + 1));
    bad.put("slow_call_us is 3600000001", Testing.small().slowCallMicros(1000 * HOUR_MILLIS + 1));
    bad.put("blob_value_bytes_min is -2", Testing.small().blobValueBytesMin(-2));
    bad.put("blob_value_bytes_min is " + Long.MIN_VALUE, Testing.small().blobValueBytesMin(Long.MIN_VALUE));
    bad.put("mapped_read_bytes_max is -2", Testing.small().mappedReadBytesMax(-2));
    bad.put("block_bytes is 255", Testing.small().blockBytes(255));
    bad.put("block_bytes is " + Long.MAX_VALUE, Testing.small().blockBytes(Long.MAX_VALUE));
    bad.put("memory_bytes is " + Long.MAX_VALUE, Testing.small().memoryBytes(Long.MAX_VALUE));
    bad.put("write_buffer_bytes is " + Long.MAX_VALUE, Testing.small().writeBufferBytes(Long.MAX_VALUE));
    bad.forEach((name, options) -> {
      MergedbException e =
          Testing.fails(
              MergedbException.Code.INVALID_ARGUMENT, () -> Database.open(folder.resolve("bad"), options).close());
      assertTrue(e.getMessage().contains(name), () -> name + ": " + e.getMessage());
    });
    for (Supplier<Object> setter :
        Map.<String, Supplier<Object>>of(
                "memory", () -> new Options().memoryBytes(-1),
                "buffer", () -> new Options().writeBufferBytes(-1),
                "tables", () -> new Options().openTablesMax(-1),
                "block", () -> new Options().blockBytes(-1),
                "delay", () -> new Options().writeDelayMicrosMax(-1),
                "sync", () -> new Options().walSyncIntervalMillis(-2),
                "log", () -> new Options().logBytesMax(-1),
                "bytes", () -> TransactionOptions.DEFAULT.bytesMax(-1),
                "wait", () -> TransactionOptions.DEFAULT.waitMicrosMax(-1))
            .values()) {
      assertThrows(IllegalArgumentException.class, setter::get);
    }
  }
}
