package dev.mergedb;

import java.util.Objects;
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

  Mode mode = Mode.CREATE_IF_MISSING;
  Style style = Style.DEFAULT;
  long memoryBytes;
  long writeBufferBytes;
  Compression upperCompression = Compression.DEFAULT;
  Compression bottomCompression = Compression.DEFAULT;
  int bloomBitsPerKey;
  int openTablesMax;
  long blockBytes;
  long writeDelayMicrosMax;
  long walSyncIntervalMillis;
  int finishCompactionsOnClose;
  int useMappedWalBuffer;
  long blobValueBytesMin;
  long mappedReadBytesMax;
  KeyComparator comparator;
  Consumer<String> logger;

  /** All defaults. */
  public Options() {}

  /** In the order that native code expects. */
  long[] numbers() {
    return new long[] {
      mode.ordinal(),
      style.ordinal(),
      memoryBytes,
      writeBufferBytes,
      upperCompression.ordinal(),
      bottomCompression.ordinal(),
      bloomBitsPerKey,
      openTablesMax,
      blockBytes,
      writeDelayMicrosMax,
      finishCompactionsOnClose,
      useMappedWalBuffer,
      blobValueBytesMin,
      walSyncIntervalMillis,
      mappedReadBytesMax
    };
  }

  /**
   * What must be there.
   *
   * @param value the mode; default CREATE_IF_MISSING
   * @return this
   */
  public Options mode(Mode value) {
    mode = Objects.requireNonNull(value, "mode");
    return this;
  }

  /**
   * How compactions arrange the data.
   *
   * @param value the style
   * @return this
   */
  public Options style(Style value) {
    style = Objects.requireNonNull(value, "style");
    return this;
  }

  /**
   * The memory that the database may take in all.
   *
   * @param value bytes; 0: the default, 256 MiB
   * @return this
   * @throws IllegalArgumentException if negative
   */
  public Options memoryBytes(long value) {
    memoryBytes = Limits.notNegative(value, "memoryBytes");
    return this;
  }

  /**
   * The size of one write buffer (memtable).
   *
   * @param value bytes; 0: the default, an eighth of memoryBytes
   * @return this
   * @throws IllegalArgumentException if negative
   */
  public Options writeBufferBytes(long value) {
    writeBufferBytes = Limits.notNegative(value, "writeBufferBytes");
    return this;
  }

  /**
   * How the upper, short-lived runs are compressed.
   *
   * @param value the codec
   * @return this
   */
  public Options upperCompression(Compression value) {
    upperCompression = Objects.requireNonNull(value, "upperCompression");
    return this;
  }

  /**
   * How the bottom run is compressed.
   *
   * @param value the codec
   * @return this
   */
  public Options bottomCompression(Compression value) {
    bottomCompression = Objects.requireNonNull(value, "bottomCompression");
    return this;
  }

  /**
   * The size of bloom filters.
   *
   * @param value bits a key; 0: the default, 10; -1: no filters
   * @return this
   */
  public Options bloomBitsPerKey(int value) {
    bloomBitsPerKey = value;
    return this;
  }

  /**
   * How many tables may be open at once.
   *
   * @param value tables; 0: the default, 1,000
   * @return this
   */
  public Options openTablesMax(int value) {
    openTablesMax = (int) Limits.notNegative(value, "openTablesMax");
    return this;
  }

  /**
   * The size of a block of a table before compression.
   *
   * @param value bytes; 0: the default, 4,096
   * @return this
   * @throws IllegalArgumentException if negative
   */
  public Options blockBytes(long value) {
    blockBytes = Limits.notNegative(value, "blockBytes");
    return this;
  }

  /**
   * The longest delay of one write when compactions fall behind.
   *
   * @param value microseconds; 0: the default, 10,000
   * @return this
   * @throws IllegalArgumentException if negative
   */
  public Options writeDelayMicrosMax(long value) {
    writeDelayMicrosMax = Limits.notNegative(value, "writeDelayMicrosMax");
    return this;
  }

  /**
   * An unsynced write survives a power loss at most this long after it.
   *
   * @param value milliseconds; 0: the default, 5,000; -1: no limit in time
   * @return this
   * @throws IllegalArgumentException if less than -1
   */
  public Options walSyncIntervalMillis(long value) {
    if (value < -1) throw new IllegalArgumentException("walSyncIntervalMillis: " + value + ", expected -1 or more");
    walSyncIntervalMillis = value;
    return this;
  }

  /**
   * Whether close waits for compactions.
   *
   * @param value true: close waits until no compaction is owed
   * @return this
   */
  public Options finishCompactionsOnClose(boolean value) {
    finishCompactionsOnClose = value ? 1 : -1;
    return this;
  }

  /**
   * Whether the WAL is written through a mapped buffer.
   *
   * @param value false: one system call a commit group
   * @return this
   */
  public Options useMappedWalBuffer(boolean value) {
    useMappedWalBuffer = value ? 1 : -1;
    return this;
  }

  /**
   * From which size on values go to blob files.
   *
   * @param value bytes; 0: the default, 768; -1: never
   * @return this
   */
  public Options blobValueBytesMin(long value) {
    blobValueBytesMin = value;
    return this;
  }

  /**
   * How many bytes of tables and blob files are mapped and read in place. A read of mapped bytes that are in memory needs no
   * system call; an I/O error of the disk then kills the process.
   *
   * @param value bytes; 0, the default: no file is mapped
   * @return this
   */
  public Options mappedReadBytesMax(long value) {
    if (value < 0) throw new IllegalArgumentException("mappedReadBytesMax: " + value + ", expected 0 or more");
    mappedReadBytesMax = value;
    return this;
  }

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
}
