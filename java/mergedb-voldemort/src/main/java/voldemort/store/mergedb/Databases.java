package voldemort.store.mergedb;

import dev.mergedb.Database;
import dev.mergedb.Options;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/**
 * The open databases of this process, by directory: the configurations of types `mergedb` and `leveldb` share the database of their node. Thread-safe.
 */
final class Databases {
  private static final class Shared {
    final Database database;
    int users;

    Shared(Database database) {
      this.database = database;
    }
  }

  private static final Map<Path, Shared> OPEN = new HashMap<>();

  private Databases() {}

  /** Opens the database, or adds a user to the open one. The options are those of its first user. */
  static synchronized Database open(Path directory, Options options) {
    Path key = directory.toAbsolutePath().normalize();
    Shared shared = OPEN.get(key);
    if (shared == null) {
      shared = new Shared(Database.open(directory, options));
      OPEN.put(key, shared);
    }
    ++shared.users;
    return shared.database;
  }

  static synchronized boolean isOpen(Path directory) {
    return OPEN.containsKey(directory.toAbsolutePath().normalize());
  }

  /** Ends one use; the last one closes the database. */
  static synchronized void close(Path directory) {
    Path key = directory.toAbsolutePath().normalize();
    Shared shared = OPEN.get(key);
    if (shared != null && --shared.users == 0) {
      OPEN.remove(key);
      shared.database.close();
    }
  }
}
