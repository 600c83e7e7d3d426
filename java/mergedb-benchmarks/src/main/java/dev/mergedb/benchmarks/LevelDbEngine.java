package dev.mergedb.benchmarks;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import org.fusesource.leveldbjni.JniDBFactory;
import org.iq80.leveldb.CompressionType;
import org.iq80.leveldb.DB;
import org.iq80.leveldb.DBIterator;
import org.iq80.leveldb.Options;

/** leveldbjni 1.8: no buffers, no multiGet, no merge. */
final class LevelDbEngine extends Engine {
  private final DB db;

  LevelDbEngine(Path directory) throws IOException {
    db =
        JniDBFactory.factory.open(
            directory.toFile(),
            new Options()
                .createIfMissing(true)
                .writeBufferSize((int) WRITE_BUFFER_BYTES)
                .cacheSize(CACHE_BYTES)
                .compressionType(CompressionType.NONE));
  }

  @Override
  void put(byte[] key, byte[] value) {
    db.put(key, value);
  }

  @Override
  byte[] get(byte[] key) {
    return db.get(key);
  }

  @Override
  long scan() throws IOException {
    long bytes = 0;
    try (DBIterator it = db.iterator()) {
      for (it.seekToFirst(); it.hasNext(); ) {
        Map.Entry<byte[], byte[]> entry = it.next();
        bytes += entry.getKey().length + entry.getValue().length;
      }
    }
    return bytes;
  }

  @Override
  void compact() {
    db.compactRange(null, null);
  }

  @Override
  public void close() throws IOException {
    db.close();
  }
}
