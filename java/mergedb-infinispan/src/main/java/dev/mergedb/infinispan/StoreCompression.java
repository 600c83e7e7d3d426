package dev.mergedb.infinispan;

import dev.mergedb.Compression;
import java.util.Arrays;

/** How the store compresses its tables, as the attribute {@code compression} names it. */
public enum StoreCompression {
  NONE("none", Compression.NONE),
  SNAPPY("snappy", Compression.SNAPPY),
  LZ4("lz4", Compression.LZ4),
  ZSTD("zstd", Compression.ZSTD);

  private final String attributeValue;
  private final Compression compression;

  StoreCompression(String attributeValue, Compression compression) {
    this.attributeValue = attributeValue;
    this.compression = compression;
  }

  Compression compression() {
    return compression;
  }

  /**
   * The compression of an attribute's value.
   *
   * @throws IllegalArgumentException if there is none of that name
   */
  public static StoreCompression of(String attributeValue) {
    for (StoreCompression compression : values()) {
      if (compression.attributeValue.equals(attributeValue)) return compression;
    }
    throw new IllegalArgumentException("compression: expected one of " + Arrays.toString(values()) + ", found '"
        + attributeValue + "'");
  }

  /** The attribute's value. */
  @Override
  public String toString() {
    return attributeValue;
  }
}
