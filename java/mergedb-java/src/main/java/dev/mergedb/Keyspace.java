package dev.mergedb;

/**
 * One of the ordered maps of a database (RocksDB: column family, LMDB: named database). A value: it needs no closing
 * and may be kept. Its number is never given to another keyspace in the life of the database. Thread-safe.
 */
public final class Keyspace {
  /** The keyspace that every database has. */
  public static final Keyspace DEFAULT = new Keyspace(0);

  private final int id;

  Keyspace(int id) {
    this.id = id;
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
    return other instanceof Keyspace keyspace && keyspace.id == id;
  }

  @Override
  public int hashCode() {
    return Integer.hashCode(id);
  }

  @Override
  public String toString() {
    return id == 0 ? "Keyspace(default)" : "Keyspace(" + Integer.toUnsignedString(id) + ")";
  }
}
