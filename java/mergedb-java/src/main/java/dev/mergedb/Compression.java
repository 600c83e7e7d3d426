package dev.mergedb;

/** How blocks of tables are compressed. */
public enum Compression {
  /** The library chooses. */
  DEFAULT,
  /** Blocks are stored as they are. */
  NONE,
  /** Snappy. */
  SNAPPY,
  /** Zstandard. */
  ZSTD,
  /** LZ4. */
  LZ4
}
