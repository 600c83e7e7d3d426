package dev.mergedb.leveldb;

import dev.mergedb.MergedbException;
import org.iq80.leveldb.WriteBatch;

/** A batch. For one thread at a time: a call that finds another thread inside throws. */
final class Batch implements WriteBatch {
  private final dev.mergedb.WriteBatch batch = new dev.mergedb.WriteBatch();

  dev.mergedb.WriteBatch batch() {
    return batch;
  }

  @Override
  public WriteBatch put(byte[] key, byte[] value) {
    Errors.checkNotNull(key, "key");
    Errors.checkNotNull(value, "value");
    try {
      batch.put(key, value);
      return this;
    } catch (MergedbException e) {
      throw Errors.of(e);
    }
  }

  @Override
  public WriteBatch delete(byte[] key) {
    Errors.checkNotNull(key, "key");
    try {
      batch.delete(key);
      return this;
    } catch (MergedbException e) {
      throw Errors.of(e);
    }
  }

  @Override
  public void close() {
    batch.close();
  }
}
