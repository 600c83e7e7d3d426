package dev.mergedb;

import java.util.Objects;

/**
 * One of the ordered maps of a database (RocksDB: column family, LMDB: named database). A value: it needs no closing
 * and may be kept, also until its database is opened again. A call of another database (another directory), of its
 * transactions, or of a batch with changes of another database refuses it with INVALID_ARGUMENT. Its number is never
 * given to another keyspace in the life of the database. Thread-safe.
 */
public final class Keyspace {
  /** The keyspace that every database has. It is of every database. */
  public static final Keyspace DEFAULT = new Keyspace(null, 0);

  private final Object database; // Database.identity; null: of all
  private final int id;

  Keyspace(Object database, int id) {
    this.database = database;
    this.id = id;
  }

  static Keyspace of(Object database, int id) {
    return id == 0 ? DEFAULT : new Keyspace(database, id);
  }

  /** The number for a call of the database with this identity. */
  int idIn(Object callee) {
    require(database, callee);
    return id;
  }

  /** The database of a batch that had changes of `other` and gets one of this keyspace; null: of none yet. */
  Object joined(Object other) {
    require(database, other);
    return database == null ? other : database;
  }

  /** Refuses the identities of two databases that are not the same. Null is all of them. */
  static void require(Object database, Object other) {
    if (database != other && database != null && other != null && !database.equals(other)) {
      throw new MergedbException(MergedbException.Code.INVALID_ARGUMENT, "the keyspace is of another database");
    }
  }

  /**
   * The number that mergedb gave it; 0 for the default one.
   *
   * @return the number, to be read as unsigned
   */
  public int id() {
    return id;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Keyspace keyspace && keyspace.id == id && Objects.equals(keyspace.database, database);
  }

  @Override
  public int hashCode() {
    return 31 * Objects.hashCode(database) + id;
  }

  @Override
  public String toString() {
    return id == 0 ? "Keyspace(default)" : "Keyspace(" + Integer.toUnsignedString(id) + ")";
  }
}
