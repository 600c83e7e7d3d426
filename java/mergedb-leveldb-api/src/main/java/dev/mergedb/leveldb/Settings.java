package dev.mergedb.leveldb;

import dev.mergedb.Compression;
import dev.mergedb.KeyComparator;
import dev.mergedb.ReadOptions;
import dev.mergedb.WriteOptions;
import org.iq80.leveldb.CompressionType;
import org.iq80.leveldb.DBComparator;
import org.iq80.leveldb.Logger;
import org.iq80.leveldb.Options;

/** LevelDB's options as mergedb's, with the limits of the C++ LevelDB interface. */
final class Settings {
  private static final String LEVELDB_BYTEWISE = "leveldb.BytewiseComparator";
  private static final String MERGEDB_BYTEWISE = "mergedb.bytewise";
  private static final long CACHE_BYTES_DEFAULT = 8L << 20;
  private static final long CACHE_BYTES_MAX = 1L << 40;
  private static final int FILES_FOR_OTHER_USE = 10;

  private Settings() {}

  private static long clamp(long value, long least, long most) {
    return Math.max(least, Math.min(most, value));
  }

  /** The name by which LevelDB knows an order of mergedb. */
  static String levelDbName(String name) {
    return name.equals(MERGEDB_BYTEWISE) ? LEVELDB_BYTEWISE : name;
  }

  static dev.mergedb.Options.Mode mode(Options options) {
    if (!options.createIfMissing()) {
      return dev.mergedb.Options.Mode.MUST_EXIST;
    }
    return options.errorIfExists()
        ? dev.mergedb.Options.Mode.MUST_NOT_EXIST
        : dev.mergedb.Options.Mode.CREATE_IF_MISSING;
  }

  static dev.mergedb.Options of(Options options) {
    long writeBufferBytes = clamp(options.writeBufferSize(), 64L << 10, 1L << 30);
    long cacheBytes =
        options.cacheSize() <= 0 ? CACHE_BYTES_DEFAULT : Math.min(options.cacheSize(), CACHE_BYTES_MAX);
    Compression compression =
        options.compressionType() == CompressionType.NONE ? Compression.NONE : Compression.SNAPPY;
    dev.mergedb.Options result =
        new dev.mergedb.Options()
            .mode(mode(options))
            .writeBufferBytes(writeBufferBytes)
            .memoryBytes(2 * writeBufferBytes + cacheBytes)
            .openTablesMax((int) clamp(options.maxOpenFiles(), 74, 50_000) - FILES_FOR_OTHER_USE)
            .blockBytes(clamp(options.blockSize(), 1L << 10, 4L << 20))
            .upperCompression(compression)
            .bottomCompression(compression)
            .comparator(order(options.comparator()));
    Logger logger = options.logger();
    if (logger != null) {
      result.logger(logger::log);
    }
    return result;
  }

  /** Null: bytewise. LevelDB's own order by its name is the engine's own, which compares without Java. */
  static KeyComparator order(DBComparator comparator) {
    if (comparator == null || LEVELDB_BYTEWISE.equals(comparator.name())) {
      return null;
    }
    return new KeyComparator() {
      @Override
      public String name() {
        return comparator.name();
      }

      @Override
      public int compare(byte[] a, byte[] b) {
        return comparator.compare(a, b);
      }
    };
  }

  static WriteOptions of(org.iq80.leveldb.WriteOptions options) {
    return options.sync() ? WriteOptions.SYNCED : WriteOptions.DEFAULT;
  }

  /** Checksums are always verified. */
  static ReadOptions of(org.iq80.leveldb.ReadOptions options) {
    ReadOptions result = ReadOptions.DEFAULT;
    if (options.snapshot() != null) {
      if (!(options.snapshot() instanceof HeldSnapshot held)) {
        throw new IllegalArgumentException(
            "the snapshot is a " + options.snapshot().getClass().getName() + "; expected one of this database");
      }
      result = result.withSnapshot(held.snapshot());
    }
    return options.fillCache() ? result : result.withFillCache(false);
  }
}
