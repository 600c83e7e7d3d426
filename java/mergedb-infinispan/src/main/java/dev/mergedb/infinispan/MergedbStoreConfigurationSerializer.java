package dev.mergedb.infinispan;

import org.infinispan.commons.configuration.io.ConfigurationWriter;
import org.infinispan.commons.util.Version;
import org.infinispan.configuration.serializing.AbstractStoreSerializer;
import org.infinispan.configuration.serializing.ConfigurationSerializer;

/** Writes a {@link MergedbStoreConfiguration} as the element that {@link MergedbStoreConfigurationParser} reads. */
public class MergedbStoreConfigurationSerializer extends AbstractStoreSerializer
    implements ConfigurationSerializer<MergedbStoreConfiguration> {
  @Override
  public void serialize(ConfigurationWriter writer, MergedbStoreConfiguration configuration) {
    writer.writeStartElement(MergedbStoreElement.MERGEDB_STORE);
    writer.writeDefaultNamespace(MergedbStoreConfigurationParser.NAMESPACE + Version.getMajorMinor());
    configuration.attributes().write(writer);
    writeCommonStoreElements(writer, configuration);
    writer.writeEndElement();
  }
}
