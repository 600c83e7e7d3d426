package dev.mergedb.infinispan;

import static dev.mergedb.infinispan.MergedbStoreConfigurationParser.NAMESPACE;

import java.util.function.Function;
import org.infinispan.commons.CacheConfigurationException;
import org.infinispan.commons.configuration.io.ConfigurationReader;
import org.infinispan.configuration.parsing.CacheParser;
import org.infinispan.configuration.parsing.ConfigurationBuilderHolder;
import org.infinispan.configuration.parsing.ConfigurationParser;
import org.infinispan.configuration.parsing.Namespace;
import org.infinispan.configuration.parsing.ParseUtils;
import org.infinispan.configuration.parsing.Parser;

/**
 * Reads the element {@code mergedb-store} of the namespace {@code urn:infinispan:config:store:mergedb:15.2}. Infinispan
 * finds this class through {@link java.util.ServiceLoader}. The schema is in the jar:
 * schema/mergedb-store-config-15.2.xsd.
 */
@Namespace(root = "mergedb-store")
@Namespace(uri = NAMESPACE + "*", root = "mergedb-store", since = "15.2")
public class MergedbStoreConfigurationParser implements ConfigurationParser {
  static final String NAMESPACE = Parser.NAMESPACE + "store:mergedb:";

  @Override
  public Namespace[] getNamespaces() {
    return ParseUtils.getNamespaceAnnotations(getClass());
  }

  /**
   * Reads one element.
   *
   * @throws CacheConfigurationException if an attribute or its value is not known; the message has the line
   */
  @Override
  public void readElement(ConfigurationReader reader, ConfigurationBuilderHolder holder) {
    String element = reader.getLocalName();
    if (!MergedbStoreElement.MERGEDB_STORE.toString().equals(element)) throw ParseUtils.unexpectedElement(reader);
    MergedbStoreConfigurationBuilder builder =
        holder.getCurrentConfigurationBuilder().persistence().addStore(MergedbStoreConfigurationBuilder.class);
    readAttributes(reader, builder);
    while (reader.inTag()) CacheParser.parseStoreElement(reader, builder);
  }

  private static void readAttributes(ConfigurationReader reader, MergedbStoreConfigurationBuilder builder) {
    String path = null;
    String relativeTo = null;
    for (int i = 0; i < reader.getAttributeCount(); ++i) {
      ParseUtils.requireNoNamespaceAttribute(reader, i);
      MergedbStoreAttribute attribute = MergedbStoreAttribute.of(reader.getAttributeName(i));
      if (attribute == null) {
        CacheParser.parseStoreAttribute(reader, i, builder);
        continue;
      }
      switch (attribute) {
        case PATH -> path = reader.getAttributeValue(i);
        case RELATIVE_TO -> relativeTo = ParseUtils.requireAttributeProperty(reader, i);
        case MEMORY_BYTES -> builder.memoryBytes(read(reader, i, MergedbStoreConfigurationParser::bytesOf));
        case WRITE_BUFFER_BYTES -> builder.writeBufferBytes(read(reader, i, MergedbStoreConfigurationParser::bytesOf));
        case COMPRESSION -> builder.compression(read(reader, i, StoreCompression::of));
        case DURABILITY -> builder.durability(read(reader, i, StoreDurability::of));
      }
    }
    path = ParseUtils.resolvePath(path, relativeTo);
    if (path != null) builder.path(path);
  }

  private static <T> T read(ConfigurationReader reader, int index, Function<String, T> parser) {
    try {
      return parser.apply(reader.getAttributeValue(index));
    } catch (IllegalArgumentException e) {
      throw new CacheConfigurationException("mergedb-store: attribute " + reader.getAttributeName(index) + " at "
          + reader.getLocation()
          + ": " + e.getMessage(), e);
    }
  }

  private static long bytesOf(String text) {
    try {
      return Long.parseLong(text);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException("expected a number of bytes, found '" + text + "'", e);
    }
  }
}
