package dev.mergedb.benchmarks.seed;

import dev.mergedb.versions.VectorClock;
import dev.mergedb.versions.Versioned;
import java.nio.file.Path;
import java.util.List;

/**
 * A storage engine under the version logic of a distributed store: a put refuses obsolete versions, replaces the versions that it supersedes and keeps
 * concurrent ones. Thread-safe.
 *
 * <p>Every engine has the given cache, a write buffer of {@link #WRITE_BUFFER_BYTES}, Snappy compression where it compresses, bloom filters where it has them,
 * and writes that are not synced.
 */
abstract class VersionedEngine implements AutoCloseable {
  static final long WRITE_BUFFER_BYTES = 20L << 20; // the seed's default
  static final List<String> NAMES = List.of("mergedb", "bdb", "rocksdb");

  static VersionedEngine open(String name, Path directory, long cacheBytes) throws Exception {
    return switch (name) {
      case "mergedb" -> new MergedbVersions(directory, cacheBytes);
      case "bdb" -> new BdbVersions(directory, cacheBytes);
      case "rocksdb" -> new RocksDbVersions(directory, cacheBytes);
      default -> throw new IllegalArgumentException("expected an engine of " + NAMES + ", found " + name);
    };
  }

  /** The versions of a key; empty: the key is not there. */
  abstract List<Versioned> get(byte[] key) throws Exception;

  /** Adds a version. False: it is obsolete, and nothing changed. */
  abstract boolean put(byte[] key, Versioned version) throws Exception;

  /** Adds a version that supersedes all that the key has, written by node 1: what a client does that read the key before. */
  final void update(byte[] key, byte[] value, long time) throws Exception {
    VectorClock clock = VectorClock.empty(time);
    for (Versioned stored : get(key)) {
      clock = clock.merged(stored.clock(), time);
    }
    if (!put(key, new Versioned(value, clock.incremented(1, time)))) {
      throw new IllegalStateException("expected the version to be the newest, found it obsolete");
    }
  }

  @Override
  public abstract void close() throws Exception;
}
