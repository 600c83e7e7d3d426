package dev.mergedb.infinispan;

import dev.mergedb.Database;
import dev.mergedb.Keyspace;
import dev.mergedb.ReadOptions;
import dev.mergedb.WriteOptions;
import java.nio.charset.StandardCharsets;
import org.infinispan.configuration.cache.Configuration;
import org.infinispan.configuration.cache.HashConfiguration;
import org.infinispan.persistence.spi.InitializationContext;
import org.infinispan.persistence.spi.PersistenceException;

/**
 * How keys are laid out in a store's database, kept in the database itself. A store that is opened with another number
 * of segments or another key partitioner would look for its keys in the wrong segments and not find them, so that is an
 * error.
 */
record StoreLayout(boolean isSegmented, int segmentCount, String partitioner) {
  private static final String KEYSPACE = "layout";
  private static final byte[] KEY = "layout".getBytes(StandardCharsets.US_ASCII);
  private static final String FORMAT = "1";

  /** The layout that the configuration of a cache asks for. */
  static StoreLayout of(InitializationContext context, boolean isSegmented) {
    if (!isSegmented) return new StoreLayout(false, 1, "none");
    Configuration configuration = context.getCache().getCacheConfiguration();
    HashConfiguration hash = configuration.clustering().hash();
    Class<?> partitioner = hash.keyPartitioner().getClass();
    return new StoreLayout(true, hash.numSegments(), partitioner.isHidden() ? "unnamed" : partitioner.getName());
  }

  /**
   * Compares with what the database says. A new database is told.
   *
   * @throws PersistenceException if they differ
   */
  void checkOrWrite(Database database) {
    Keyspace keyspace = database.keyspace(KEYSPACE);
    byte[] stored = database.get(ReadOptions.DEFAULT.in(keyspace), KEY);
    if (stored == null) {
      database.put(WriteOptions.DEFAULT.in(keyspace), KEY, text().getBytes(StandardCharsets.UTF_8));
      return;
    }
    String found = new String(stored, StandardCharsets.UTF_8);
    if (!found.equals(text())) {
      throw new PersistenceException("the store was written with another layout: expected [" + text() + "], found ["
          + found + "]; restore the settings of the cache (segments, key-partitioner, segmented), or start once with "
          + "purge=\"true\" to drop the data");
    }
  }

  private String text() {
    return "format=" + FORMAT + " segmented=" + isSegmented + " segments=" + segmentCount + " partitioner="
        + partitioner;
  }
}
