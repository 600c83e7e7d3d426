package dev.mergedb.benchmarks;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;

/**
 * One store under the benchmarks. All of them: 64 MiB write buffers, two of them; a block cache of {@link #CACHE_BYTES}; no compression; a
 * log that is not synced; bloom filters of 10 bits a key where the library has them (leveldbjni has none).
 */
abstract class Engine implements AutoCloseable {
  static final long WRITE_BUFFER_BYTES = 64L << 20;
  static final long CACHE_BYTES = 256L << 20;

  /** mergedb, rocksdbjni or leveldbjni, opened in an empty directory. */
  static Engine open(String name, Path directory) throws Exception {
    return switch (name) {
      case "mergedb" -> new MergedbEngine(directory);
      case "rocksdbjni" -> new RocksDbEngine(directory);
      case "leveldbjni" -> new LevelDbEngine(directory);
      default -> throw new IllegalArgumentException("engine " + name + "; one of mergedb, rocksdbjni, leveldbjni");
    };
  }

  abstract void put(byte[] key, byte[] value) throws Exception;

  /** With direct buffers, from position to limit. */
  void put(ByteBuffer key, ByteBuffer value) throws Exception {
    throw new UnsupportedOperationException(getClass().getSimpleName() + " has no put of buffers");
  }

  /** Null: not there. */
  abstract byte[] get(byte[] key) throws Exception;

  /** The size of the value, which is put into a direct buffer, or -1. */
  int get(ByteBuffer key, ByteBuffer value) throws Exception {
    throw new UnsupportedOperationException(getClass().getSimpleName() + " has no get of buffers");
  }

  List<byte[]> multiGet(List<byte[]> keys) throws Exception {
    throw new UnsupportedOperationException(getClass().getSimpleName() + " has no multiGet");
  }

  /** Adds to a counter without reading it. */
  void add(byte[] key, long delta) throws Exception {
    throw new UnsupportedOperationException(getClass().getSimpleName() + " has no merge");
  }

  /** Reads every entry in order, key and value, and returns the sum of their sizes. */
  abstract long scan() throws Exception;

  /** Writes all entries to tables and compacts them. */
  abstract void compact() throws Exception;

  @Override
  public abstract void close() throws IOException;
}
