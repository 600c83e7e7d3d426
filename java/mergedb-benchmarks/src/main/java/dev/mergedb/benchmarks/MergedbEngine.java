package dev.mergedb.benchmarks;

import dev.mergedb.Compression;
import dev.mergedb.Database;
import dev.mergedb.EntryIterator;
import dev.mergedb.Options;
import dev.mergedb.ReadOptions;
import dev.mergedb.WriteOptions;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;

final class MergedbEngine extends Engine {
  private final Database db;

  MergedbEngine(Path directory) {
    db =
        Database.open(
            directory,
            new Options()
                .writeBufferBytes(WRITE_BUFFER_BYTES)
                .memoryBytes(2 * WRITE_BUFFER_BYTES + CACHE_BYTES)
                .upperCompression(Compression.NONE)
                .bottomCompression(Compression.NONE));
  }

  @Override
  void put(byte[] key, byte[] value) {
    db.put(key, value);
  }

  @Override
  void put(ByteBuffer key, ByteBuffer value) {
    db.put(WriteOptions.DEFAULT, key, value);
  }

  @Override
  byte[] get(byte[] key) {
    return db.get(key);
  }

  @Override
  int get(ByteBuffer key, ByteBuffer value) {
    return db.get(ReadOptions.DEFAULT, key, value);
  }

  @Override
  List<byte[]> multiGet(List<byte[]> keys) {
    return db.multiGet(ReadOptions.DEFAULT, keys);
  }

  @Override
  void add(byte[] key, long delta) {
    db.addU64(key, delta);
  }

  @Override
  long scan() {
    long bytes = 0;
    try (EntryIterator it = db.iterator()) {
      for (boolean more = it.seekToFirst(); more; more = it.next()) {
        bytes += it.key().length + it.value().length;
      }
    }
    return bytes;
  }

  @Override
  void compact() {
    db.compactRange(null, null);
    db.waitForCompactions();
  }

  @Override
  public void close() {
    db.close();
  }
}
