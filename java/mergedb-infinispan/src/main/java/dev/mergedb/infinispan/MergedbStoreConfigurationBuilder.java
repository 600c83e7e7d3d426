package dev.mergedb.infinispan;

import static dev.mergedb.infinispan.MergedbStoreConfiguration.COMPRESSION;
import static dev.mergedb.infinispan.MergedbStoreConfiguration.DURABILITY;
import static dev.mergedb.infinispan.MergedbStoreConfiguration.MEMORY_BYTES;
import static dev.mergedb.infinispan.MergedbStoreConfiguration.PATH;
import static dev.mergedb.infinispan.MergedbStoreConfiguration.WRITE_BUFFER_BYTES;

import java.util.Objects;
import org.infinispan.commons.CacheConfigurationException;
import org.infinispan.commons.configuration.attributes.AttributeDefinition;
import org.infinispan.configuration.cache.AbstractStoreConfigurationBuilder;
import org.infinispan.configuration.cache.PersistenceConfigurationBuilder;
import org.infinispan.configuration.global.GlobalConfiguration;
import org.infinispan.persistence.PersistenceUtil;

/**
 * Builds the configuration of a {@link MergedbStore}:
 *
 * <pre>{@code
 * builder.persistence().addStore(MergedbStoreConfigurationBuilder.class)
 *     .path("data").durability(StoreDurability.SYNCED);
 * }</pre>
 *
 * Not thread-safe, as every builder of Infinispan.
 */
public class MergedbStoreConfigurationBuilder
    extends AbstractStoreConfigurationBuilder<MergedbStoreConfiguration, MergedbStoreConfigurationBuilder> {
  public MergedbStoreConfigurationBuilder(PersistenceConfigurationBuilder builder) {
    super(builder, MergedbStoreConfiguration.attributeDefinitionSet());
  }

  /** The directory under which each cache gets a directory of its own; relative to the global persistent location. */
  public MergedbStoreConfigurationBuilder path(String path) {
    attributes.attribute(PATH).set(Objects.requireNonNull(path, "path"));
    return this;
  }

  /** The memory of the database for unflushed writes and cached blocks, in bytes; more than 0. */
  public MergedbStoreConfigurationBuilder memoryBytes(long memoryBytes) {
    attributes.attribute(MEMORY_BYTES).set(memoryBytes);
    return this;
  }

  /** The size of a memtable, in bytes; more than 0. */
  public MergedbStoreConfigurationBuilder writeBufferBytes(long writeBufferBytes) {
    attributes.attribute(WRITE_BUFFER_BYTES).set(writeBufferBytes);
    return this;
  }

  /** The compression of every table. */
  public MergedbStoreConfigurationBuilder compression(StoreCompression compression) {
    attributes.attribute(COMPRESSION).set(Objects.requireNonNull(compression, "compression"));
    return this;
  }

  /** What a write survives. */
  public MergedbStoreConfigurationBuilder durability(StoreDurability durability) {
    attributes.attribute(DURABILITY).set(Objects.requireNonNull(durability, "durability"));
    return this;
  }

  /**
   * Checks the values.
   *
   * @throws CacheConfigurationException if a size is not above 0
   */
  @Override
  public void validate() {
    super.validate();
    checkPositive(MEMORY_BYTES);
    checkPositive(WRITE_BUFFER_BYTES);
  }

  /**
   * Checks that there is a place for the store.
   *
   * @throws CacheConfigurationException if there is neither a path nor a global state
   */
  @Override
  public void validate(GlobalConfiguration global) {
    PersistenceUtil.validateGlobalStateStoreLocation(global, MergedbStore.class.getSimpleName(),
        attributes.attribute(PATH));
    super.validate(global);
  }

  @Override
  public MergedbStoreConfiguration create() {
    return new MergedbStoreConfiguration(attributes.protect(), async.create());
  }

  @Override
  public MergedbStoreConfigurationBuilder self() {
    return this;
  }

  private void checkPositive(AttributeDefinition<Long> definition) {
    Long value = attributes.attribute(definition).get();
    if (value != null && value <= 0) {
      throw new CacheConfigurationException("mergedb-store: " + definition.name()
          + ": expected a number of bytes above 0, found " + value
          + "; leave the attribute out for the default");
    }
  }
}
