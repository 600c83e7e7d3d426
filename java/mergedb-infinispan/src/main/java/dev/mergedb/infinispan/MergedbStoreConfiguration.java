package dev.mergedb.infinispan;

import org.infinispan.commons.configuration.BuiltBy;
import org.infinispan.commons.configuration.ConfigurationFor;
import org.infinispan.commons.configuration.attributes.AttributeDefinition;
import org.infinispan.commons.configuration.attributes.AttributeSet;
import org.infinispan.configuration.cache.AbstractStoreConfiguration;
import org.infinispan.configuration.cache.AsyncStoreConfiguration;
import org.infinispan.configuration.serializing.SerializedWith;

/** The configuration of a {@link MergedbStore}. Immutable; made by {@link MergedbStoreConfigurationBuilder}. */
@ConfigurationFor(MergedbStore.class)
@BuiltBy(MergedbStoreConfigurationBuilder.class)
@SerializedWith(MergedbStoreConfigurationSerializer.class)
public class MergedbStoreConfiguration extends AbstractStoreConfiguration<MergedbStoreConfiguration> {
  static final AttributeDefinition<String> PATH =
      AttributeDefinition.builder(MergedbStoreAttribute.PATH, null, String.class).immutable().build();
  static final AttributeDefinition<Long> MEMORY_BYTES =
      AttributeDefinition.builder(MergedbStoreAttribute.MEMORY_BYTES, null, Long.class).immutable().build();
  static final AttributeDefinition<Long> WRITE_BUFFER_BYTES =
      AttributeDefinition.builder(MergedbStoreAttribute.WRITE_BUFFER_BYTES, null, Long.class).immutable().build();
  static final AttributeDefinition<StoreCompression> COMPRESSION =
      AttributeDefinition.builder(MergedbStoreAttribute.COMPRESSION, null, StoreCompression.class).immutable().build();
  static final AttributeDefinition<StoreDurability> DURABILITY =
      AttributeDefinition.builder(MergedbStoreAttribute.DURABILITY, StoreDurability.PROCESS_CRASH).immutable().build();

  MergedbStoreConfiguration(AttributeSet attributes, AsyncStoreConfiguration async) {
    super(MergedbStoreElement.MERGEDB_STORE, attributes, async);
  }

  /** The attributes of this store, those of every store among them. */
  public static AttributeSet attributeDefinitionSet() {
    return new AttributeSet(MergedbStoreConfiguration.class, AbstractStoreConfiguration.attributeDefinitionSet(), PATH,
        MEMORY_BYTES,
        WRITE_BUFFER_BYTES, COMPRESSION, DURABILITY);
  }

  /**
   * The directory under which each cache has a directory of its own. Relative: below the global persistent location.
   * Null: the global persistent location itself.
   */
  public String path() {
    return attributes.attribute(PATH).get();
  }

  /**
   * The memory of the store's database for unflushed writes and cached blocks, in bytes. Null: the engine's default.
   */
  public Long memoryBytes() {
    return attributes.attribute(MEMORY_BYTES).get();
  }

  /** The size of a memtable, in bytes. Null: the engine's default. */
  public Long writeBufferBytes() {
    return attributes.attribute(WRITE_BUFFER_BYTES).get();
  }

  /** The compression of every table. Null: the engine's defaults, which differ by level. */
  public StoreCompression compression() {
    return attributes.attribute(COMPRESSION).get();
  }

  /** What a write survives. Never null. */
  public StoreDurability durability() {
    return attributes.attribute(DURABILITY).get();
  }
}
