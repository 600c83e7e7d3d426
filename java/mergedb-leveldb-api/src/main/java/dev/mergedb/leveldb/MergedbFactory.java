package dev.mergedb.leveldb;

import dev.mergedb.Database;
import dev.mergedb.MergedbException;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.iq80.leveldb.DB;
import org.iq80.leveldb.DBFactory;
import org.iq80.leveldb.Options;

/**
 * Opens databases of mergedb behind the Java interface of LevelDB. A directory that LevelDB wrote is converted in place by its first
 * open; {@code mergedb export-leveldb} converts it back.
 *
 * <p>Any number of threads may call any method. Objects of the interface never crash the JVM: a use after close is a {@link
 * org.iq80.leveldb.DBException}, a null argument an {@link IllegalArgumentException}.
 */
public final class MergedbFactory implements DBFactory {
  /** The factory. It has no state. */
  public static final MergedbFactory factory = new MergedbFactory();

  /** A factory like {@link #factory}. */
  public MergedbFactory() {}

  private static Path pathOf(File path) throws IOException {
    return Errors.checkNotNull(path, "path").getCanonicalFile().toPath();
  }

  private static boolean isDatabase(Path path) {
    return Files.exists(path.resolve("CURRENT"));
  }

  /** Whether CURRENT is as LevelDB writes it: a name of a MANIFEST and a newline. */
  private static boolean isLevelDb(Path path) {
    try {
      String current = Files.readString(path.resolve("CURRENT"), StandardCharsets.ISO_8859_1);
      return current.startsWith("MANIFEST-") && current.endsWith("\n");
    } catch (IOException e) {
      return false;
    }
  }

  /**
   * Opens a database, or creates it.
   *
   * @param path the directory; its parent must be there
   * @param options how; docs/api/java-leveldb.md says what each one does
   * @return the database, to be closed
   * @throws LevelDbException it is not there and must be, is there and must not be, is open already, is damaged, is ordered by
   *     another comparator, or the operating system refused
   */
  @Override
  public DB open(File path, Options options) throws IOException {
    Path directory = pathOf(path);
    Errors.checkNotNull(options, "options");
    if (!options.createIfMissing() && options.errorIfExists()) {
      throw isDatabase(directory) ? Errors.exists(directory, null) : Errors.doesNotExist(directory, null);
    }
    try {
      return new Store(
          Database.open(directory, Settings.of(options)), Settings.order(options.comparator()), directory);
    } catch (MergedbException e) {
      throw Errors.ofDirectory(e, directory, options.createIfMissing());
    }
  }

  /**
   * Removes the files of a database, of mergedb or of LevelDB, and the directory if that leaves it empty. Nothing happens if there is
   * no database.
   *
   * @param path the directory
   * @param options not used
   * @throws LevelDbException it is open, or the operating system refused
   */
  @Override
  public void destroy(File path, Options options) throws IOException {
    Path directory = pathOf(path);
    Errors.checkNotNull(options, "options");
    try {
      Database.destroy(directory);
    } catch (MergedbException e) {
      if (e.code() != MergedbException.Code.NOT_FOUND) {
        throw Errors.ofDirectory(e, directory, true);
      }
    }
  }

  /**
   * Makes a damaged database open again; what is damaged is moved to the folder {@code lost} of the directory. Makes an empty database
   * if there is none. A directory of LevelDB is converted, if it is whole.
   *
   * @param path the directory
   * @param options with the comparator of the database
   * @throws LevelDbException it is open, is ordered by another comparator, or the operating system refused; a damaged directory of
   *     LevelDB is refused and left as it is: {@code mergedb convert DIR --salvage} converts all intact entries
   */
  @Override
  public void repair(File path, Options options) throws IOException {
    Path directory = pathOf(path);
    Errors.checkNotNull(options, "options");
    dev.mergedb.Options core = Settings.of(options).mode(dev.mergedb.Options.Mode.CREATE_IF_MISSING);
    boolean wasLevelDb = isLevelDb(directory);
    try {
      if (wasLevelDb || !isDatabase(directory)) {
        Database.open(directory, core).close();
      } else {
        Database.repair(directory, core, false);
      }
    } catch (MergedbException e) {
      if (wasLevelDb && e.code() == MergedbException.Code.CORRUPTION) {
        throw new LevelDbException(
            "Corruption: "
                + e.getMessage()
                + "; nothing was changed; run `mergedb convert "
                + directory
                + " --salvage` to convert all intact entries",
            false,
            e);
      }
      throw Errors.ofDirectory(e, directory, true);
    }
  }

  /**
   * The database behind one that this factory opened, for calls that LevelDB does not have: merge operands, keyspaces, transactions, checkpoints.
   * Closing one closes the other.
   *
   * @param db a database of this factory
   * @return the same database
   * @throws IllegalArgumentException another factory opened it
   */
  public static Database unwrap(DB db) {
    if (Errors.checkNotNull(db, "db") instanceof Store store) {
      return store.database();
    }
    throw new IllegalArgumentException("the database is a " + db.getClass().getName() + "; expected one of MergedbFactory");
  }

  @Override
  public String toString() {
    return "mergedb version " + Database.version();
  }
}
