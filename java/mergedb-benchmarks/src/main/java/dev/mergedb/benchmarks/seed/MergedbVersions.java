package dev.mergedb.benchmarks.seed;

import dev.mergedb.Compression;
import dev.mergedb.Database;
import dev.mergedb.Options;
import dev.mergedb.versions.ObsoleteVersionException;
import dev.mergedb.versions.StoreOptions;
import dev.mergedb.versions.Versioned;
import dev.mergedb.versions.VersionedStore;
import java.nio.file.Path;
import java.util.List;

/** The store of mergedb-versions, with the settings of the Voldemort engine. */
final class MergedbVersions extends VersionedEngine {
  private final Database database;
  private final VersionedStore store;

  MergedbVersions(Path directory, long cacheBytes) {
    database =
        Database.open(
            directory,
            new Options()
                .writeBufferBytes(WRITE_BUFFER_BYTES)
                .memoryBytes(cacheBytes + 5 * WRITE_BUFFER_BYTES / 2)
                .upperCompression(Compression.SNAPPY)
                .bottomCompression(Compression.SNAPPY));
    store = VersionedStore.open(database, database.keyspace("seed"), new StoreOptions());
  }

  @Override
  List<Versioned> get(byte[] key) {
    return store.get(key);
  }

  @Override
  boolean put(byte[] key, Versioned version) {
    try {
      store.put(key, version);
      return true;
    } catch (ObsoleteVersionException e) {
      return false;
    }
  }

  @Override
  public void close() {
    store.close();
    database.close();
  }
}
