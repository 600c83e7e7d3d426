package voldemort.store.mergedb;

import dev.mergedb.Compression;
import dev.mergedb.Options;
import dev.mergedb.versions.StoreOptions;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.log4j.Logger;
import voldemort.utils.ConfigurationException;

/**
 * The settings of the engine in server.properties. Of the four names of setting KEY of store STORE the first one that is there counts:
 * mergedb.STORE.KEY, leveldb.STORE.KEY, mergedb.KEY, leveldb.KEY; else the default does. docs/voldemort.md has the table. Thread-safe.
 */
final class Settings {
  static final String POOL_SIZE = "poolsize";
  static final String ITERATORS = "iterators";
  static final String STRIPES = "stripes";
  static final String CREATE_IF_MISSING = "createifmissing";
  static final String ERROR_IF_EXISTS = "errorifexists";
  static final String PARANOID_CHECKS = "paranoidchecks";
  static final String WRITE_BUFFER_MB = "writebuffer.size";
  static final String OPEN_FILES_MAX = "maxopenfile";
  static final String BLOCK_CACHE_MB = "lrublockcache";
  static final String BLOCK_SIZE = "blocksize";
  static final String RESTART_INTERVAL = "blockrestartinterval";
  static final String COMPRESSION = "compressiontype";
  static final String FILL_CACHE = "read.fillcache";
  static final String VERIFY_CHECKSUMS = "read.verifychecksums";
  static final String WRITE_SYNC = "write.sync";

  /** Ours alone: LevelDB's engine had no such settings. */
  static final String ONE_DATABASE = "one.database";
  static final String DATA_DIR = "data.dir";
  static final String PREFIX_KEYS = "prefix.keys.with.partitionid";
  static final String READ_POOL_SIZE = "read.poolsize";
  static final String WRITE_POOL_SIZE = "write.poolsize";
  static final String POOL_THREADS = "pool.threads";

  static final Map<String, String> DEFAULTS =
      Map.ofEntries(
          Map.entry(POOL_SIZE, "4"),
          Map.entry(ITERATORS, "true"),
          Map.entry(STRIPES, "100"),
          Map.entry(CREATE_IF_MISSING, "true"),
          Map.entry(ERROR_IF_EXISTS, "false"),
          Map.entry(PARANOID_CHECKS, "false"),
          Map.entry(WRITE_BUFFER_MB, "20"),
          Map.entry(OPEN_FILES_MAX, "1024"),
          Map.entry(BLOCK_CACHE_MB, "100"),
          Map.entry(BLOCK_SIZE, "4096"),
          Map.entry(RESTART_INTERVAL, "16"),
          Map.entry(COMPRESSION, "1"),
          Map.entry(FILL_CACHE, "true"),
          Map.entry(VERIFY_CHECKSUMS, "false"),
          Map.entry(WRITE_SYNC, "false"),
          Map.entry(ONE_DATABASE, "true"),
          Map.entry(DATA_DIR, ""),
          Map.entry(PREFIX_KEYS, "true"),
          Map.entry(READ_POOL_SIZE, ""),
          Map.entry(WRITE_POOL_SIZE, ""),
          Map.entry(POOL_THREADS, "false"));

  /** Settings of LevelDB that nothing in mergedb answers to. */
  private static final Map<String, String> WITHOUT_MEANING =
      Map.of(
          ITERATORS, "reads use the get call, which is the fastest way to read a key",
          RESTART_INTERVAL, "tables of mergedb choose their restart points themselves");

  /** Settings of a database: with one database for all stores the store's own value is not used. */
  private static final Set<String> OF_THE_DATABASE =
      Set.of(WRITE_BUFFER_MB, OPEN_FILES_MAX, BLOCK_CACHE_MB, BLOCK_SIZE, COMPRESSION);

  private static final Compression[] COMPRESSIONS = {Compression.NONE, Compression.SNAPPY, Compression.ZSTD, Compression.LZ4};
  private static final List<String> SPELLINGS = List.of("mergedb.", "leveldb.");
  private static final long MB = 1 << 20;
  private static final Logger LOGGER = Logger.getLogger(Settings.class);

  /** What was logged: each notice comes once in the life of the process. */
  private static final Set<String> LOGGED = ConcurrentHashMap.newKeySet();

  private final Map<String, String> properties;

  /** Takes what concerns this engine out of all properties of a node, some of which have null values. */
  Settings(Map<String, String> all) {
    TreeMap<String, String> ours = new TreeMap<>();
    all.forEach(
        (name, value) -> {
          if (value != null && SPELLINGS.stream().anyMatch(name::startsWith)) {
            ours.put(name, value);
          }
        });
    properties = ours;
    properties.keySet().forEach(name -> checkName(name, name.substring(name.indexOf('.') + 1)));
  }

  private static void checkName(String name, String key) {
    for (Map.Entry<String, String> setting : WITHOUT_MEANING.entrySet()) {
      if (isKey(key, setting.getKey())) {
        log(name, "setting " + name + " has no effect: " + setting.getValue());
      }
    }
    if (DEFAULTS.keySet().stream().noneMatch(known -> isKey(key, known))) {
      log(name, "setting " + name + " is not known and has no effect; docs/voldemort.md lists the settings");
    }
  }

  /** KEY or STORE.KEY. */
  private static boolean isKey(String key, String known) {
    return key.equals(known) || key.endsWith("." + known);
  }

  private static void log(String about, String text) {
    if (LOGGED.add(about)) {
      LOGGER.warn(text);
    }
  }

  /** A setting as it was written; store null: the one of all stores. */
  private Found find(String store, String key) {
    for (String prefix : store == null ? List.of("") : List.of(store + ".", "")) {
      for (String spelling : SPELLINGS) {
        String name = spelling + prefix + key;
        String value = properties.get(name);
        if (value != null) {
          return new Found(name, value.trim());
        }
      }
    }
    return new Found("default of mergedb." + key, DEFAULTS.get(key));
  }

  private record Found(String name, String value) {}

  private static ConfigurationException refused(Found found, String expected) {
    return new ConfigurationException(
        "server.properties: " + found.name + " = \"" + found.value + "\"; expected " + expected);
  }

  String text(String store, String key) {
    return find(store, key).value;
  }

  int number(String store, String key, int least, int most) {
    Found found = find(store, key);
    String expected = "a whole number from " + least + " to " + most;
    try {
      int value = Integer.parseInt(found.value);
      if (value < least || value > most) {
        throw refused(found, expected);
      }
      return value;
    } catch (NumberFormatException e) {
      throw refused(found, expected);
    }
  }

  boolean flag(String store, String key) {
    Found found = find(store, key);
    if (found.value.equalsIgnoreCase("true")) {
      return true;
    }
    if (found.value.equalsIgnoreCase("false")) {
      return false;
    }
    throw refused(found, "true or false");
  }

  /** The options of a database; store null: of the one database of all stores. */
  Options database(String store, Options.Mode mode) {
    long buffer = number(store, WRITE_BUFFER_MB, 1, 32_768) * MB;
    long cache = number(store, BLOCK_CACHE_MB, 0, 1 << 20) * MB;
    Compression compression = COMPRESSIONS[number(store, COMPRESSION, 0, COMPRESSIONS.length - 1)];
    return new Options()
        .mode(mode)
        .writeBufferBytes(buffer)
        .memoryBytes(cache + 2 * buffer + buffer / 2)  // two write buffers, and what indexes and filters take besides
        .openTablesMax(number(store, OPEN_FILES_MAX, 16, Integer.MAX_VALUE))
        .blockBytes(number(store, BLOCK_SIZE, 256, 1 << 30))
        .upperCompression(compression)
        .bottomCompression(compression)
        .logger(line -> LOGGER.info("mergedb: " + line));
  }

  /** The options of a store, without its partitioner. */
  StoreOptions store(String store) {
    if (isOneDatabase(store)) {
      for (String key : OF_THE_DATABASE) {
        for (String spelling : SPELLINGS) {
          String name = spelling + store + "." + key;
          if (properties.containsKey(name)) {
            log(name, "setting " + name + " has no effect: all stores share one database; set mergedb." + key + ", or mergedb." + store + "."
                + ONE_DATABASE + " = false");
          }
        }
      }
    }
    return new StoreOptions()
        .name(store)
        .lockStripes(number(store, STRIPES, 1, 1 << 20))
        .readPool(pool(store, READ_POOL_SIZE))
        .writePool(pool(store, WRITE_POOL_SIZE))
        .poolThreads(flag(store, POOL_THREADS))
        .synced(flag(store, WRITE_SYNC))
        .fillCache(flag(store, FILL_CACHE))
        .verifyChecksums(flag(store, VERIFY_CHECKSUMS) || flag(store, PARANOID_CHECKS));
  }

  private int pool(String store, String key) {
    return number(store, text(store, key).isEmpty() ? POOL_SIZE : key, 0, 10_000);
  }

  boolean isOneDatabase(String store) {
    return flag(store, ONE_DATABASE);
  }
}
