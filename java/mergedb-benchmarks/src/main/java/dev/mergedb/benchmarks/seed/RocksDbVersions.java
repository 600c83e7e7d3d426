package dev.mergedb.benchmarks.seed;

import java.nio.file.Path;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.CompressionType;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.WriteOptions;

final class RocksDbVersions extends RecordVersions {
  static {
    RocksDB.loadLibrary(); // the fields below are native objects
  }

  private final LRUCache cache;
  private final BloomFilter filter = new BloomFilter(10);
  private final Options options = new Options();
  private final ReadOptions readOptions = new ReadOptions();
  private final WriteOptions writeOptions = new WriteOptions();
  private final RocksDB database;

  RocksDbVersions(Path directory, long cacheBytes) throws RocksDBException {
    cache = new LRUCache(cacheBytes);
    options
        .setCreateIfMissing(true)
        .setWriteBufferSize(WRITE_BUFFER_BYTES)
        .setCompressionType(CompressionType.SNAPPY_COMPRESSION)
        .setTableFormatConfig(new BlockBasedTableConfig().setBlockCache(cache).setFilterPolicy(filter));
    database = RocksDB.open(options, directory.toString());
  }

  @Override
  byte[] read(byte[] key) throws RocksDBException {
    return database.get(readOptions, key);
  }

  @Override
  void write(byte[] key, byte[] record) throws RocksDBException {
    database.put(writeOptions, key, record);
  }

  @Override
  public void close() {
    database.close();
    writeOptions.close();
    readOptions.close();
    options.close();
    filter.close();
    cache.close();
  }
}
