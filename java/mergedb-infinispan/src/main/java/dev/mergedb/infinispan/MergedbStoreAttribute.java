package dev.mergedb.infinispan;

/** The attributes of the element {@code mergedb-store} that are this store's own. */
enum MergedbStoreAttribute {
  PATH("path"),
  RELATIVE_TO("relative-to"),
  MEMORY_BYTES("memory-bytes"),
  WRITE_BUFFER_BYTES("write-buffer-bytes"),
  COMPRESSION("compression"),
  DURABILITY("durability");

  private final String localName;

  MergedbStoreAttribute(String localName) {
    this.localName = localName;
  }

  /** Null if this store has no attribute of that name. */
  static MergedbStoreAttribute of(String localName) {
    for (MergedbStoreAttribute attribute : values()) {
      if (attribute.localName.equals(localName)) return attribute;
    }
    return null;
  }

  @Override
  public String toString() {
    return localName;
  }
}
