package dev.mergedb.versions;

import dev.mergedb.Database;
import dev.mergedb.EntryIterator;
import dev.mergedb.IteratorOptions;
import dev.mergedb.Keyspace;
import dev.mergedb.MergedbException;
import dev.mergedb.Options;
import dev.mergedb.ReadOptions;
import dev.mergedb.WriteBatch;
import dev.mergedb.WriteOptions;
import dev.mergedb.versions.VersionRecord.Sibling;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Brings the data of a Voldemort LevelDB engine into a versioned store: keys as they are, values in {@link SeedEncoding}. Opening the directory
 * converts LevelDB's files to mergedb's, in place; {@code mergedb export-leveldb} converts them back.
 */
public final class SeedImport {
  private static final long BATCH_BYTES = 4 << 20;

  private SeedImport() {}

  /**
   * Whether {@link #run} takes this keyspace: it is empty, and no store was opened on it, or an import into it was interrupted. An interrupted
   * import is to be run again; until then {@link VersionedStore#open} refuses the keyspace.
   *
   * @param database the target's database
   * @param keyspace the target
   * @param options of the target
   * @return false: the keyspace is a store
   */
  public static boolean takesImport(Database database, Keyspace keyspace, StoreOptions options) {
    StoreMark mark = StoreMark.read(database, keyspace, options.name);
    return mark == null || mark.isImporting();
  }

  /**
   * Copies every key of the directory. An interrupted import is begun anew. When the call returns, the copy survives power loss, and
   * {@link VersionedStore#open} opens it.
   *
   * @param directory a database of the LevelDB engine that nobody has open
   * @param database the target's database
   * @param keyspace the target: empty, or an unfinished import
   * @param options with which the store is opened then
   * @return the number of keys
   * @throws MergedbException NOT_FOUND if there is no database; INVALID_ARGUMENT if the target holds other data; what opening and writing throw
   * @throws VersionFormatException if a value is not in the encoding; the target is then an unfinished import
   */
  public static long run(Path directory, Database database, Keyspace keyspace, StoreOptions options) {
    StoreMark mark = StoreMark.read(database, keyspace, options.name);
    if (mark != null && !mark.isImporting()) {
      throw new MergedbException(
          MergedbException.Code.INVALID_ARGUMENT,
          "store " + options.name + ": expected an empty target for the import of " + directory + ", found a store; choose another keyspace");
    }
    KeyLayout layout = new KeyLayout(options.partitioner);
    long keys = 0;
    try (Database source = Database.open(directory, new Options().mode(Options.Mode.MUST_EXIST));
        EntryIterator entries = source.iterator(IteratorOptions.DEFAULT.read(ReadOptions.DEFAULT.withFillCache(false)));
        WriteBatch batch = new WriteBatch()) {
      if (mark != null) {
        database.clearKeyspace(WriteOptions.DEFAULT, keyspace);
      }
      new StoreMark(layout.isPartitioned(), true).write(database, WriteOptions.DEFAULT.in(keyspace));
      for (boolean stands = entries.seekToFirst(); stands; stands = entries.next()) {
        List<Versioned> versions = decode(directory, entries.key(), entries.value());
        if (!versions.isEmpty()) {
          add(batch, keyspace, layout.headKey(entries.key()), versions);
          ++keys;
        }
        if (batch.bytes() >= BATCH_BYTES) {
          database.write(WriteOptions.DEFAULT, batch);
          batch.clear();
        }
      }
      database.write(WriteOptions.DEFAULT, batch);
    }
    new StoreMark(layout.isPartitioned(), false).write(database, WriteOptions.SYNCED.in(keyspace));
    return keys;
  }

  private static List<Versioned> decode(Path directory, byte[] key, byte[] value) {
    try {
      return SeedEncoding.decode(value);
    } catch (VersionFormatException e) {
      throw new VersionFormatException(
          directory + ", key " + Bytes.hex(key) + ": " + e.getMessage() + ": delete the key with mergedb delete and import again", e);
    }
  }

  private static void add(WriteBatch batch, Keyspace keyspace, byte[] headKey, List<Versioned> versions) {
    if (versions.size() > KeyLayout.SLOT_MAX + 1) {
      throw new VersionFormatException(
          "key " + Bytes.hex(headKey) + ": expected at most " + (KeyLayout.SLOT_MAX + 1) + " versions, found " + versions.size());
    }
    List<Sibling> siblings = new ArrayList<>(versions.size() - 1);
    for (int slot = 1; slot < versions.size(); ++slot) {
      siblings.add(new Sibling(slot, versions.get(slot).clock()));
      batch.put(keyspace, KeyLayout.siblingKey(headKey, slot), VersionRecord.siblingBytes(versions.get(slot)));
    }
    batch.put(keyspace, headKey, VersionRecord.headBytes(versions.get(0), siblings));
  }
}
