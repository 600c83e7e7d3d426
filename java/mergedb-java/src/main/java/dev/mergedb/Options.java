package dev.mergedb;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.Consumer;

/**
 * How a database is opened. A setting that is not made has its default. Fluent and mutable; for one thread at a time.
 * {@link Database#open} copies what it needs.
 */
public final class Options {
  /** What must be there, and what may be done with it. */
  public enum Mode {
    /** Opens the database, or creates it. */
    CREATE_IF_MISSING,
    /** Refuses if there is no database. */
    MUST_EXIST,
    /** Refuses if there is a database. */
    MUST_NOT_EXIST,
    /** Opens for reading: takes no lock and changes no byte. */
    READ_ONLY
  }

  /** How background compactions arrange the data. */
  public enum Style {
    /** The library chooses. */
    DEFAULT,
    /** Few compactions: for programs that write much more than they read. */
    LAZY,
    /** Levels: for programs that read much. */
    CASCADE
  }

  private final Map<String, Long> numbers = new TreeMap<>(); // by their names in C; one that is not here has its default
  KeyComparator comparator;
  Consumer<String> logger;
  Consumer<Event> listener;

  /** All defaults. */
  public Options() {}

  private Options set(String name, long value) {
    numbers.put(name, value);
    return this;
  }

  /** The options that are set, as native code reads them: lines of NAME=VALUE. */
  byte[] lines() {
    StringBuilder text = new StringBuilder();
    numbers.forEach((name, value) -> text.append(name).append('=').append(value).append('\n'));
    return text.toString().getBytes(StandardCharsets.US_ASCII);
  }

  // options: begin setters (scripts/options.toml)
  /**
   * What an open does if there is a database, or none.
   *
   * @param value the choice; default CREATE_IF_MISSING
   * @return this
   */
  public Options mode(Mode value) {
    return set("mode", Objects.requireNonNull(value, "mode").ordinal());
  }

  /**
   * The memory for write buffers and the block cache together.
   *
   * @param value bytes; 0: the default, 256 MiB
   * @return this
   * @throws IllegalArgumentException if negative
   */
  public Options memoryBytes(long value) {
    return set("memory_bytes", Limits.notNegative(value, "memoryBytes"));
  }

  /**
   * Unflushed writes may take twice this many bytes of memory_bytes, standby memtable included.
   *
   * @param value bytes; 0: the default, an eighth of memory_bytes
   * @return this
   * @throws IllegalArgumentException if negative
   */
  public Options writeBufferBytes(long value) {
    return set("write_buffer_bytes", Limits.notNegative(value, "writeBufferBytes"));
  }

  /**
   * How background compactions arrange the data.
   *
   * @param value the choice; default LAZY
   * @return this
   */
  public Options style(Style value) {
    return set("style", Objects.requireNonNull(value, "style").ordinal());
  }

  /**
   * The codec of new upper tables, which are rewritten soon.
   *
   * @param value the choice; default LZ4
   * @return this
   */
  public Options upperCompression(Compression value) {
    return set("compression_upper", Objects.requireNonNull(value, "upperCompression").ordinal());
  }

  /**
   * The codec of new bottommost tables, which stay.
   *
   * @param value the choice; default LZ4
   * @return this
   */
  public Options bottomCompression(Compression value) {
    return set("compression_bottom", Objects.requireNonNull(value, "bottomCompression").ordinal());
  }

  /**
   * Bits per key of the tables' bloom filters.
   *
   * @param value bits; 0: the default, 10; -1: no filters
   * @return this
   */
  public Options bloomBitsPerKey(int value) {
    return set("bloom_bits_per_key", value);
  }

  /**
   * The target size of a table's blocks before compression.
   *
   * @param value bytes; 0: the default, 4,096
   * @return this
   * @throws IllegalArgumentException if negative
   */
  public Options blockBytes(long value) {
    return set("block_bytes", Limits.notNegative(value, "blockBytes"));
  }

  /**
   * Values of at least this many bytes are written once, to a blob file, and tables refer to them.
   *
   * @param value bytes; 0: the default, 768; -1: all values are stored in tables
   * @return this
   */
  public Options blobValueBytesMin(long value) {
    return set("blob_value_bytes_min", value);
  }

  /**
   * The maximum of open tables; half as many blob files may be open, too.
   *
   * @param value tables; 0: the default, 1,000
   * @return this
   * @throws IllegalArgumentException if negative
   */
  public Options openTablesMax(int value) {
    return set("open_tables_max", Limits.notNegative(value, "openTablesMax"));
  }

  /**
   * Tables and blob files up to this many bytes together are mapped into memory and read in place.
   *
   * @param value bytes; 0: the default, half of the machine's memory; -1: no file is mapped
   * @return this
   */
  public Options mappedReadBytesMax(long value) {
    return set("mapped_read_bytes_max", value);
  }

  /**
   * The maximum delay of a put while the disk keeps up with the writes.
   *
   * @param value microseconds; 0: the default, 10,000
   * @return this
   * @throws IllegalArgumentException if negative
   */
  public Options writeDelayMicrosMax(long value) {
    return set("write_delay_us_max", Limits.notNegative(value, "writeDelayMicrosMax"));
  }

  /**
   * Close waits for running compactions.
   *
   * @param value default: no
   * @return this
   */
  public Options finishCompactionsOnClose(boolean value) {
    return set("finish_compactions_on_close", value ? 1 : -1);
  }

  /**
   * The space that a busy database reuses stays allocated when it is at rest, for benchmarks of the steady state.
   *
   * @param value default: no
   * @return this
   */
  public Options keepSpaceAtRest(boolean value) {
    return set("keep_space_at_rest", value ? 1 : -1);
  }

  /**
   * Records go to a WAL buffer in a mapped file if the file system allows it, so a put needs no system call.
   *
   * @param value default: yes
   * @return this
   */
  public Options useMappedWalBuffer(boolean value) {
    return set("use_mapped_wal_buffer", value ? 1 : -1);
  }

  /**
   * An unsynced write is durable (it survives a power loss) at most this long after the call.
   *
   * @param value milliseconds; 0: the default, 5,000; -1: no limit in time
   * @return this
   * @throws IllegalArgumentException if less than -1
   */
  public Options walSyncIntervalMillis(long value) {
    return set("wal_sync_interval_ms", Limits.notBelow(-1, value, "walSyncIntervalMillis"));
  }

  /**
   * The files LOG and LOG.old of the directory hold the newest events as lines of JSON, at most this many bytes
   * together.
   *
   * @param value bytes; 0: the default, no LOG is written
   * @return this
   * @throws IllegalArgumentException if negative
   */
  public Options logBytesMax(long value) {
    return set("log_bytes_max", Limits.notNegative(value, "logBytesMax"));
  }

  /**
   * A call that takes at least this long becomes an event with its breakdown.
   *
   * @param value microseconds; 0: the default, calls are not measured
   * @return this
   * @throws IllegalArgumentException if negative
   */
  public Options slowCallMicros(long value) {
    return set("slow_call_us", Limits.notNegative(value, "slowCallMicros"));
  }

  // options: end

  /**
   * The order of keys.
   *
   * @param value the comparator, or null: bytewise
   * @return this
   */
  public Options comparator(KeyComparator value) {
    comparator = value;
    return this;
  }

  /**
   * What hears the messages of the database: failed background work, and what an open had to drop. Any thread may
   * call it, several at once. It must not call into mergedb. What it throws is dropped.
   *
   * @param value the listener, or null: messages are dropped
   * @return this
   */
  public Options logger(Consumer<String> value) {
    logger = value;
    return this;
  }

  /**
   * What gets the events of the database: docs/EVENTS.md. A thread of the database calls it, for one event at a time, in
   * order. It may block, and may call the database and even close it. What it throws ends at the call; the logger gets a
   * line.
   *
   * @param value the listener, or null: no listener
   * @return this
   */
  public Options listener(Consumer<Event> value) {
    listener = value;
    return this;
  }
}
