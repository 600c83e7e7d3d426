package dev.mergedb.infinispan;

import java.nio.ByteBuffer;
import org.infinispan.commons.io.ByteBufferFactory;
import org.infinispan.persistence.spi.MarshallableEntry;
import org.infinispan.persistence.spi.MarshallableEntryFactory;
import org.infinispan.persistence.spi.PersistenceException;

/**
 * A cache entry as the bytes of a value in the database. The times stand in front, so that the store knows whether an
 * entry is expired without unmarshalling it.
 *
 * <pre>
 * FORMAT:
 *   byte 0              format: 1
 *   byte 1              parts: 1 times, 2 metadata, 4 internal metadata, 8 value
 *   times               int64 expiry, int64 created, int64 last used: milliseconds since 1970, -1 for none
 *   metadata            int32 size
 *   internal metadata   int32 size
 *   then the bytes of the metadata, of the internal metadata and of the value, as Infinispan marshals them
 * Numbers are big-endian. A part that is absent takes no bytes.
 * </pre>
 */
final class StoredEntry {
  private static final byte FORMAT = 1;
  private static final int TIMES = 1;
  private static final int METADATA = 2;
  private static final int INTERNAL_METADATA = 4;
  private static final int VALUE = 8;
  private static final int PARTS = TIMES | METADATA | INTERNAL_METADATA | VALUE;
  private static final int HEADER_BYTES = 2;
  private static final int TIMES_BYTES = 3 * Long.BYTES;

  /** The expiry of an entry that does not expire. */
  static final long NEVER = -1;

  private final ByteBuffer bytes;  // position: behind the header
  private final int parts;

  /**
   * Looks at the bytes without copying them.
   *
   * @throws PersistenceException if they are not of this format
   */
  StoredEntry(byte[] bytes) {
    this.bytes = ByteBuffer.wrap(bytes);
    if (bytes.length < HEADER_BYTES) throw malformed("expected at least " + HEADER_BYTES + " bytes");
    if (this.bytes.get() != FORMAT) throw malformed("expected format " + FORMAT + ", found " + bytes[0]);
    parts = this.bytes.get();
    if ((parts & ~PARTS) != 0) throw malformed("unknown parts: " + parts);
    if (has(TIMES) && this.bytes.remaining() < TIMES_BYTES) throw malformed("the times are cut off");
  }

  /** The bytes of an entry. */
  static byte[] encode(MarshallableEntry<?, ?> entry) {
    org.infinispan.commons.io.ByteBuffer value = entry.getValueBytes();
    org.infinispan.commons.io.ByteBuffer metadata = entry.getMetadataBytes();
    org.infinispan.commons.io.ByteBuffer internalMetadata = entry.getInternalMetadataBytes();
    long expiry = entry.expiryTime();
    boolean hasTimes = expiry != NEVER || entry.created() != -1 || entry.lastUsed() != -1;
    int parts = (hasTimes ? TIMES : 0) | (metadata != null ? METADATA : 0)
        | (internalMetadata != null ? INTERNAL_METADATA : 0)
        | (value != null ? VALUE : 0);
    ByteBuffer bytes = ByteBuffer.allocate(HEADER_BYTES + (hasTimes ? TIMES_BYTES : 0) + partBytes(metadata)
        + partBytes(internalMetadata) + (value != null ? value.getLength() : 0));
    bytes.put(FORMAT).put((byte) parts);
    if (hasTimes) bytes.putLong(expiry).putLong(entry.created()).putLong(entry.lastUsed());
    if (metadata != null) bytes.putInt(metadata.getLength());
    if (internalMetadata != null) bytes.putInt(internalMetadata.getLength());
    put(bytes, metadata);
    put(bytes, internalMetadata);
    put(bytes, value);
    return bytes.array();
  }

  /** When the entry expires, in milliseconds since 1970; {@link #NEVER} if it does not. */
  long expiry() {
    return has(TIMES) ? bytes.getLong(HEADER_BYTES) : NEVER;
  }

  /** Whether the entry is expired at a time, in milliseconds since 1970. */
  boolean isExpired(long now) {
    long expiry = expiry();
    return expiry > 0 && expiry <= now;
  }

  /**
   * The entry, which shares the bytes.
   *
   * @param key the key as an object, or its marshalled bytes as Infinispan's ByteBuffer
   * @throws PersistenceException if the sizes in the bytes are wrong
   */
  <K, V> MarshallableEntry<K, V> decode(Object key, MarshallableEntryFactory<K, V> entries, ByteBufferFactory buffers,
      boolean withValue) {
    ByteBuffer rest = bytes.duplicate();
    rest.position(HEADER_BYTES);
    long created = -1;
    long lastUsed = -1;
    if (has(TIMES)) {
      rest.getLong();
      created = rest.getLong();
      lastUsed = rest.getLong();
    }
    int sizeBytes = (has(METADATA) ? Integer.BYTES : 0) + (has(INTERNAL_METADATA) ? Integer.BYTES : 0);
    if (rest.remaining() < sizeBytes) throw malformed("the sizes are cut off");
    int metadataBytes = has(METADATA) ? rest.getInt() : 0;
    int internalMetadataBytes = has(INTERNAL_METADATA) ? rest.getInt() : 0;
    org.infinispan.commons.io.ByteBuffer metadata = has(METADATA) ? take(rest, metadataBytes, buffers) : null;
    org.infinispan.commons.io.ByteBuffer internalMetadata = has(INTERNAL_METADATA)
        ? take(rest, internalMetadataBytes, buffers) : null;
    org.infinispan.commons.io.ByteBuffer value = withValue && has(VALUE) ? take(rest, rest.remaining(), buffers) : null;
    return key instanceof org.infinispan.commons.io.ByteBuffer keyBytes
        ? entries.create(keyBytes, value, metadata, internalMetadata, created, lastUsed)
        : entries.create(key, value, metadata, internalMetadata, created, lastUsed);
  }

  private boolean has(int part) {
    return (parts & part) != 0;
  }

  private org.infinispan.commons.io.ByteBuffer take(ByteBuffer from, int size, ByteBufferFactory buffers) {
    if (size < 0 || size > from.remaining()) {
      throw malformed("a part has size " + size + ", of " + from.remaining() + " bytes left");
    }
    int offset = from.position();
    from.position(offset + size);
    return buffers.newByteBuffer(from.array(), offset, size);
  }

  private PersistenceException malformed(String what) {
    return new PersistenceException("a stored entry of " + bytes.capacity()
        + " bytes is damaged or was not written by this store: " + what
        + "; check the database with 'mergedb verify'");
  }

  private static int partBytes(org.infinispan.commons.io.ByteBuffer part) {
    return part != null ? Integer.BYTES + part.getLength() : 0;
  }

  private static void put(ByteBuffer to, org.infinispan.commons.io.ByteBuffer part) {
    if (part != null) to.put(part.getBuf(), part.getOffset(), part.getLength());
  }
}
