package dev.mergedb.kafka.streams;

import dev.mergedb.Compression;
import dev.mergedb.Durability;
import dev.mergedb.Options;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.common.config.ConfigException;

/**
 * The settings of the stores, as entries of the application's streams configuration. A store reads
 * them when it opens.
 *
 * <p>Every store is a database of its own, and a process may hold hundreds of them, so the defaults
 * are small. Sizes are in bytes and apply to each store. A value may be a number or its decimal
 * text.
 *
 * <p>An unknown name that begins with {@code mergedb.}, and a value out of its range, make the
 * store's {@code init} fail with {@link ConfigException}.
 */
public final class MergedbConfig {
  /** The prefix of every name. */
  public static final String PREFIX = "mergedb.";

  /**
   * Memory of one store for write buffers, block cache, indexes and filters, in bytes. Default 32
   * MiB.
   */
  public static final String MEMORY_BYTES = "mergedb.memory.bytes";

  /**
   * Write buffer of one store, in bytes; it may be held twice. Default 0: an eighth of {@link
   * #MEMORY_BYTES}.
   */
  public static final String WRITE_BUFFER_BYTES = "mergedb.write.buffer.bytes";

  /** Uncompressed size of a table block, in bytes. Default 4,096. */
  public static final String BLOCK_BYTES = "mergedb.block.bytes";

  /** Bloom filter size, in bits per key; -1 makes no filters. Default 10. */
  public static final String BLOOM_BITS_PER_KEY = "mergedb.bloom.bits.per.key";

  /**
   * Compression of all tables: {@code none}, {@code snappy}, {@code lz4} or {@code zstd}. Default:
   * the engine's.
   */
  public static final String COMPRESSION = "mergedb.compression";

  /** Table files that one store holds open. Default 256. */
  public static final String OPEN_TABLES_MAX = "mergedb.open.tables.max";

  /**
   * What a write survives: {@code process-crash} (default: kill -9), {@code no-wal} (nothing until
   * the next flush of the write buffer, as in the RocksDB stores of Kafka Streams) or {@code
   * synced} (power loss). The changelog makes each of them safe; they differ in how much is
   * restored from it after a crash.
   */
  public static final String DURABILITY = "mergedb.durability";

  /**
   * A class name or class that implements {@link MergedbOptionsSetter}, for settings a store at a
   * time. Default: none.
   */
  public static final String OPTIONS_SETTER = "mergedb.options.setter.class";

  private static final Set<String> NAMES =
      Set.of(
          MEMORY_BYTES,
          WRITE_BUFFER_BYTES,
          BLOCK_BYTES,
          BLOOM_BITS_PER_KEY,
          COMPRESSION,
          OPEN_TABLES_MAX,
          DURABILITY,
          OPTIONS_SETTER);

  private static final long MEMORY_BYTES_DEFAULT = 32L << 20;
  private static final int OPEN_TABLES_MAX_DEFAULT = 256;

  private final Map<String, ?> entries;

  private MergedbConfig(Map<String, ?> entries) {
    this.entries = entries;
    for (String name : entries.keySet()) {
      if (name.startsWith(PREFIX) && !NAMES.contains(name)) {
        throw new ConfigException(
            name, entries.get(name), "no such setting; there are " + new TreeSet<>(NAMES));
      }
    }
  }

  static MergedbConfig of(Map<String, ?> entries) {
    return new MergedbConfig(entries);
  }

  /** The options for the database of store `storeName`. */
  Options options(String storeName) {
    Options options =
        new Options()
            .memoryBytes(number(MEMORY_BYTES, MEMORY_BYTES_DEFAULT))
            .openTablesMax(
                (int)
                    Math.min(Integer.MAX_VALUE, number(OPEN_TABLES_MAX, OPEN_TABLES_MAX_DEFAULT)));
    if (entries.containsKey(WRITE_BUFFER_BYTES))
      options.writeBufferBytes(number(WRITE_BUFFER_BYTES, 0));
    if (entries.containsKey(BLOCK_BYTES)) options.blockBytes(number(BLOCK_BYTES, 0));
    if (entries.containsKey(BLOOM_BITS_PER_KEY))
      options.bloomBitsPerKey((int) number(BLOOM_BITS_PER_KEY, 0));
    if (entries.containsKey(COMPRESSION)) {
      Compression compression = constant(COMPRESSION, Compression.class, null);
      options.upperCompression(compression).bottomCompression(compression);
    }
    MergedbOptionsSetter setter = setter();
    if (setter != null) setter.setOptions(storeName, options, entries);
    return options;
  }

  Durability durability() {
    return constant(DURABILITY, Durability.class, Durability.PROCESS_CRASH);
  }

  private MergedbOptionsSetter setter() {
    Object value = entries.get(OPTIONS_SETTER);
    if (value == null) return null;
    try {
      Class<?> type =
          value instanceof Class<?>
              ? (Class<?>) value
              : Class.forName(
                  value.toString(), true, Thread.currentThread().getContextClassLoader());
      return type.asSubclass(MergedbOptionsSetter.class).getDeclaredConstructor().newInstance();
    } catch (ReflectiveOperationException | ClassCastException e) {
      throw new ConfigException(
          OPTIONS_SETTER,
          value,
          "expected a class with a public constructor without parameters that implements "
              + MergedbOptionsSetter.class.getName()
              + ": "
              + e);
    }
  }

  private long number(String name, long otherwise) {
    Object value = entries.get(name);
    if (value == null) return otherwise;
    try {
      long number =
          value instanceof Number
              ? ((Number) value).longValue()
              : Long.parseLong(value.toString().trim());
      if (number < 0 && !(number == -1 && name.equals(BLOOM_BITS_PER_KEY))) {
        throw new ConfigException(name, value, "expected a number from 0 on");
      }
      return number;
    } catch (NumberFormatException e) {
      throw new ConfigException(name, value, "expected a whole number in decimal digits");
    }
  }

  private <E extends Enum<E>> E constant(String name, Class<E> type, E otherwise) {
    Object value = entries.get(name);
    if (value == null) return otherwise;
    String text = value.toString().trim().toUpperCase(Locale.ROOT).replace('-', '_');
    for (E constant : type.getEnumConstants()) {
      if (constant.name().equals(text)) return constant;
    }
    Set<String> known = new TreeSet<>();
    for (E constant : type.getEnumConstants())
      known.add(constant.name().toLowerCase(Locale.ROOT).replace('_', '-'));
    throw new ConfigException(name, value, "expected one of " + known);
  }
}
