package dev.mergedb.benchmarks.seed;

import com.sleepycat.je.Database;
import com.sleepycat.je.DatabaseConfig;
import com.sleepycat.je.DatabaseEntry;
import com.sleepycat.je.Durability;
import com.sleepycat.je.Environment;
import com.sleepycat.je.EnvironmentConfig;
import com.sleepycat.je.LockMode;
import com.sleepycat.je.OperationStatus;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Berkeley DB Java Edition as Voldemort's default configuration opens it: commits stay in the JVM until BDB writes them, so kill -9 loses commits; nodes
 * of 512 entries. Its cache is on the heap.
 */
final class BdbVersions extends RecordVersions {
  private final Environment environment;
  private final Database database;

  BdbVersions(Path directory, long cacheBytes) throws IOException {
    Files.createDirectories(directory);
    EnvironmentConfig options = new EnvironmentConfig();
    options.setAllowCreate(true).setTransactional(true).setCacheSize(cacheBytes).setDurability(Durability.COMMIT_NO_SYNC);
    environment = new Environment(directory.toFile(), options);
    DatabaseConfig databaseOptions = new DatabaseConfig();
    databaseOptions.setAllowCreate(true).setTransactional(true).setNodeMaxEntries(512);
    database = environment.openDatabase(null, "seed", databaseOptions);
  }

  @Override
  byte[] read(byte[] key) {
    DatabaseEntry record = new DatabaseEntry();
    boolean isFound = database.get(null, new DatabaseEntry(key), record, LockMode.READ_UNCOMMITTED) == OperationStatus.SUCCESS;
    return isFound ? record.getData() : null;
  }

  @Override
  void write(byte[] key, byte[] record) {
    database.put(null, new DatabaseEntry(key), new DatabaseEntry(record));
  }

  @Override
  public void close() {
    database.close();
    environment.close();
  }
}
