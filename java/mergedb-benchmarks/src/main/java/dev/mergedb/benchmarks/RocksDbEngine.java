package dev.mergedb.benchmarks;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.List;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.CompressionType;
import org.rocksdb.FlushOptions;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.UInt64AddOperator;
import org.rocksdb.WriteOptions;

final class RocksDbEngine extends Engine {
  static {
    RocksDB.loadLibrary(); // the fields below are native objects
  }

  private final LRUCache cache = new LRUCache(CACHE_BYTES);
  private final BloomFilter filter = new BloomFilter(10);
  private final UInt64AddOperator operator = new UInt64AddOperator();
  private final Options options = new Options();
  private final WriteOptions writeOptions = new WriteOptions();
  private final ReadOptions readOptions = new ReadOptions();
  private final ByteBuffer operand = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN);
  private final RocksDB db;

  RocksDbEngine(Path directory) throws RocksDBException {
    options
        .setCreateIfMissing(true)
        .setWriteBufferSize(WRITE_BUFFER_BYTES)
        .setMaxWriteBufferNumber(2)
        .setCompressionType(CompressionType.NO_COMPRESSION)
        .setMergeOperator(operator)
        .setTableFormatConfig(new BlockBasedTableConfig().setBlockCache(cache).setFilterPolicy(filter));
    db = RocksDB.open(options, directory.toString());
  }

  @Override
  void put(byte[] key, byte[] value) throws RocksDBException {
    db.put(writeOptions, key, value);
  }

  @Override
  void put(ByteBuffer key, ByteBuffer value) throws RocksDBException {
    db.put(writeOptions, key, value);
  }

  @Override
  byte[] get(byte[] key) throws RocksDBException {
    return db.get(readOptions, key);
  }

  @Override
  int get(ByteBuffer key, ByteBuffer value) throws RocksDBException {
    return db.get(readOptions, key, value);
  }

  @Override
  List<byte[]> multiGet(List<byte[]> keys) throws RocksDBException {
    return db.multiGetAsList(readOptions, keys);
  }

  @Override
  void add(byte[] key, long delta) throws RocksDBException {
    operand.putLong(0, delta);
    db.merge(writeOptions, key, operand.array());
  }

  @Override
  long scan() {
    long bytes = 0;
    try (RocksIterator it = db.newIterator(readOptions)) {
      for (it.seekToFirst(); it.isValid(); it.next()) {
        bytes += it.key().length + it.value().length;
      }
    }
    return bytes;
  }

  @Override
  void compact() throws RocksDBException {
    try (FlushOptions flush = new FlushOptions().setWaitForFlush(true)) {
      db.flush(flush);
    }
    db.compactRange();
  }

  @Override
  public void close() {
    db.close();
    readOptions.close();
    writeOptions.close();
    options.close();
    operator.close();
    filter.close();
    cache.close();
  }
}
