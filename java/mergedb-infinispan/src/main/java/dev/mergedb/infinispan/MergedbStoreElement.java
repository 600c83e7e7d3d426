package dev.mergedb.infinispan;

/** The element of this store in a configuration. */
enum MergedbStoreElement {
  MERGEDB_STORE("mergedb-store");

  private final String localName;

  MergedbStoreElement(String localName) {
    this.localName = localName;
  }

  @Override
  public String toString() {
    return localName;
  }
}
