package voldemort.store.mergedb;

import dev.mergedb.Database;
import dev.mergedb.Keyspace;
import dev.mergedb.MergedbException;
import dev.mergedb.Options;
import dev.mergedb.versions.Scan;
import dev.mergedb.versions.SeedImport;
import dev.mergedb.versions.StoreOptions;
import dev.mergedb.versions.VersionFormatException;
import dev.mergedb.versions.VersionedStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.apache.log4j.Logger;
import voldemort.routing.RoutingStrategy;
import voldemort.server.VoldemortConfig;
import voldemort.store.StorageConfiguration;
import voldemort.store.StorageEngine;
import voldemort.store.StorageInitializationException;
import voldemort.store.StoreDefinition;
import voldemort.utils.ByteArray;

/**
 * The stores of type `mergedb`. Voldemort makes it from its name in `storage.configs`. All stores of a node are keyspaces of one database,
 * DATA/mergedb/shared; a store with `one.database = false` has its own, DATA/mergedb/stores/STORE. A directory of the LevelDB engine,
 * DATA/leveldb/STORE, is imported when its store is opened for the first time, and renamed to STORE.imported. Thread-safe.
 */
public class MergedbStorageConfiguration implements StorageConfiguration {
  /** The type of stores in stores.xml. */
  public static final String TYPE_NAME = "mergedb";

  private static final Logger LOGGER = Logger.getLogger(MergedbStorageConfiguration.class);

  /** A store with what it needs to be opened again. */
  private record Opened(Path directory, StoreOptions options, MergedbStorageEngine engine, boolean isShared) {}

  private final Settings settings;
  private final Path dataDirectory;
  private final Path levelDbDirectory;
  private final Map<String, Opened> stores = new HashMap<>();

  /**
   * Called by Voldemort.
   *
   * @param config the configuration of the node
   */
  public MergedbStorageConfiguration(VoldemortConfig config) {
    settings = new Settings(config.getAllProps());
    String given = settings.text(null, Settings.DATA_DIR);
    dataDirectory = given.isEmpty() ? Path.of(config.getDataDirectory(), "mergedb") : Path.of(given);
    levelDbDirectory = Path.of(config.getDataDirectory(), "leveldb");
  }

  @Override
  public String getType() {
    return TYPE_NAME;
  }

  /**
   * Makes an engine of this configuration.
   *
   * @param store its store
   * @return the engine
   */
  protected MergedbStorageEngine engine(VersionedStore store) {
    return new MergedbStorageEngine(store);
  }

  @Override
  public synchronized StorageEngine<ByteArray, byte[], byte[]> getStore(StoreDefinition definition, RoutingStrategy strategy) {
    String name = definition.getName();
    Opened opened = stores.get(name);
    if (opened == null) {
      try {
        opened = open(name, strategy);
      } catch (MergedbException | VersionFormatException | IOException e) {
        throw new StorageInitializationException("store " + name + " of type " + getType() + ": " + e.getMessage(), e);
      }
      stores.put(name, opened);
    }
    return opened.engine;
  }

  private Opened open(String name, RoutingStrategy strategy) throws IOException {
    boolean isShared = settings.isOneDatabase(name);
    StoreOptions options = settings.store(name);
    if (strategy != null && settings.flag(name, Settings.PREFIX_KEYS)) {
      options.partitioner(strategy::getMasterPartition);
    }
    Path directory = isShared ? sharedDirectory() : ownDirectory(name);
    checkOtherPlace(name, isShared);
    boolean mayCreate = settings.flag(name, Settings.CREATE_IF_MISSING);
    if (mayCreate) {
      Files.createDirectories(directory.getParent());
    }
    Database database =
        Databases.open(
            directory, settings.database(isShared ? null : name, mayCreate ? Options.Mode.CREATE_IF_MISSING : Options.Mode.MUST_EXIST));
    boolean isOpened = false;
    try {
      VersionedStore store = VersionedStore.open(database, prepare(name, database, options, mayCreate), options);
      isOpened = true;
      return new Opened(directory, options, engine(store), isShared);
    } finally {
      if (!isOpened) {
        Databases.close(directory);
      }
    }
  }

  private Path sharedDirectory() {
    return dataDirectory.resolve("shared");
  }

  private Path ownDirectory(String store) {
    return dataDirectory.resolve("stores").resolve(store);
  }

  /** Refuses a store whose data is where the setting one.database does not look. */
  private void checkOtherPlace(String name, boolean isShared) {
    Path shared = sharedDirectory();
    boolean isElsewhere;
    if (isShared) {
      isElsewhere = Files.exists(ownDirectory(name));
    } else if (Files.exists(ownDirectory(name)) || !Files.exists(shared)) {
      isElsewhere = false;
    } else if (Databases.isOpen(shared)) {
      isElsewhere = Databases.open(shared, new Options()).findKeyspace(name) != null;
      Databases.close(shared);
    } else {
      try (Database database = Database.open(shared, new Options().mode(Options.Mode.READ_ONLY))) {
        isElsewhere = database.findKeyspace(name) != null;
      }
    }
    if (isElsewhere) {
      throw new MergedbException(
          MergedbException.Code.INVALID_ARGUMENT,
          "its data is in "
              + (isShared ? ownDirectory(name) : shared)
              + ", but mergedb.one.database is "
              + isShared
              + ": set mergedb."
              + name
              + ".one.database = "
              + !isShared);
    }
  }

  /** The keyspace of a store, with the data of a LevelDB directory if there is one. */
  private Keyspace prepare(String name, Database database, StoreOptions options, boolean mayCreate) throws IOException {
    Path levelDb = levelDbDirectory.resolve(name);
    boolean hasLevelDb = Files.exists(levelDb.resolve("CURRENT"));
    Keyspace keyspace = database.findKeyspace(name);
    boolean takesImport = keyspace == null || SeedImport.takesImport(database, keyspace, options);
    if (keyspace != null && settings.flag(name, Settings.ERROR_IF_EXISTS)) {
      throw new MergedbException(
          MergedbException.Code.INVALID_ARGUMENT, "it exists, and errorifexists is true: set mergedb.errorifexists = false");
    }
    if (keyspace == null && !hasLevelDb && !mayCreate) {
      throw new MergedbException(
          MergedbException.Code.NOT_FOUND, "it does not exist, and createifmissing is false: set mergedb.createifmissing = true");
    }
    if (keyspace == null) {
      keyspace = database.keyspace(name);
    } else if (hasLevelDb && !takesImport) {
      LOGGER.warn("store " + name + " has data, so the LevelDB directory " + levelDb + " is not imported: move it away");
      return keyspace;
    }
    if (hasLevelDb) {
      LOGGER.info("store " + name + ": importing the LevelDB directory " + levelDb);
      long keys = SeedImport.run(levelDb, database, keyspace, options);
      Path target = levelDbDirectory.resolve(name + ".imported");
      Files.move(levelDb, target);
      LOGGER.info("store " + name + ": imported " + keys + " keys; the old directory is " + target);
    }
    return keyspace;
  }

  /** Nothing in a store definition changes how its data is stored. */
  @Override
  public void update(StoreDefinition definition) {}

  /** Closes the store. If it has no keys, since Voldemort truncates what it deletes, its keyspace or its own database goes. */
  @Override
  public synchronized void removeStorageEngine(StorageEngine<ByteArray, byte[], byte[]> engine) {
    String name = engine.getName();
    Opened opened = stores.remove(name);
    if (opened == null) {
      return;
    }
    opened.engine.close();
    Translation.call(
        () -> {
          remove(name, opened);
          return null;
        });
  }

  private static void remove(String name, Opened opened) {
    boolean isEmpty;
    Database database = Databases.open(opened.directory, new Options());
    try {
      Keyspace keyspace = database.findKeyspace(name);
      try (VersionedStore store = VersionedStore.open(database, keyspace, opened.options);
          Scan<byte[]> keys = store.keys()) {
        isEmpty = !keys.hasNext();
      }
      if (isEmpty) {
        database.dropKeyspace(keyspace);
      }
    } finally {
      Databases.close(opened.directory);
      Databases.close(opened.directory);
    }
    if (isEmpty && !opened.isShared) {
      Database.destroy(opened.directory);
    }
  }

  /** Closes every store and database. Idempotent. */
  @Override
  public synchronized void close() {
    for (Opened opened : stores.values()) {
      opened.engine.close();
      Translation.call(
          () -> {
            Databases.close(opened.directory);
            return null;
          });
    }
    stores.clear();
  }
}
