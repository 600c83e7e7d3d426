package dev.mergedb.infinispan;

import static org.testng.Assert.assertEquals;
import static org.testng.Assert.assertNull;
import static org.testng.Assert.assertTrue;
import static org.testng.Assert.expectThrows;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import javax.xml.XMLConstants;
import javax.xml.transform.stream.StreamSource;
import javax.xml.validation.Schema;
import javax.xml.validation.SchemaFactory;
import org.infinispan.commons.CacheConfigurationException;
import org.infinispan.commons.configuration.io.ConfigurationWriter;
import org.infinispan.commons.dataconversion.MediaType;
import org.infinispan.configuration.cache.Configuration;
import org.infinispan.configuration.cache.ConfigurationBuilder;
import org.infinispan.configuration.cache.StoreConfiguration;
import org.infinispan.configuration.parsing.ConfigurationBuilderHolder;
import org.infinispan.configuration.parsing.ParserRegistry;
import org.infinispan.test.AbstractInfinispanTest;
import org.testng.annotations.Test;
import org.xml.sax.SAXException;

/** The configuration as XML, as Java, and back. */
@Test(groups = "unit", testName = "dev.mergedb.infinispan.StoreConfigurationTest")
public class StoreConfigurationTest extends AbstractInfinispanTest {
  private static final String EVERY_ATTRIBUTE =
      "path='data' memory-bytes='1048576' write-buffer-bytes='65536' compression='zstd' durability='synced'"
          + " purge='true' segmented='false' max-batch-size='17'";

  public void everyAttributeIsRead() {
    MergedbStoreConfiguration configuration =
        storeOf(parse(EVERY_ATTRIBUTE, "<write-behind modification-queue-size='99'/>"));
    assertEquals(configuration.path(), "data");
    assertEquals((long) configuration.memoryBytes(), 1 << 20);
    assertEquals((long) configuration.writeBufferBytes(), 1 << 16);
    assertEquals(configuration.compression(), StoreCompression.ZSTD);
    assertEquals(configuration.durability(), StoreDurability.SYNCED);
    assertTrue(configuration.purgeOnStartup());
    assertEquals(configuration.segmented(), false);
    assertEquals(configuration.maxBatchSize(), 17);
    assertTrue(configuration.async().enabled());
    assertEquals(configuration.async().modificationQueueSize(), 99);
  }

  public void withoutAttributesTheEngineChooses() {
    MergedbStoreConfiguration configuration = storeOf(parse("", ""));
    assertNull(configuration.path());
    assertNull(configuration.memoryBytes());
    assertNull(configuration.writeBufferBytes());
    assertNull(configuration.compression());
    assertEquals(configuration.durability(), StoreDurability.PROCESS_CRASH);
    assertTrue(configuration.segmented());
    assertTrue(!configuration.purgeOnStartup());
  }

  public void whatIsWrittenIsReadAgain() {
    for (String attributes : List.of("", "path='x'", EVERY_ATTRIBUTE, "compression='none'",
        "compression='snappy' path='a/b'", "compression='lz4'")) {
      Configuration first = parse(attributes, "");
      String written = write(first);
      Configuration second = new ParserRegistry().parse(written, MediaType.APPLICATION_XML)
          .getNamedConfigurationBuilders().get("cache").build();
      assertEquals(storeOf(second), storeOf(first), written);
      assertTrue(written.contains("<mergedb-store xmlns=\"urn:infinispan:config:store:mergedb:15.2\""), written);
    }
  }

  public void aBuilderReadsAConfiguration() {
    MergedbStoreConfiguration first = storeOf(parse(EVERY_ATTRIBUTE, ""));
    ConfigurationBuilder builder = new ConfigurationBuilder();
    builder.persistence().addStore(MergedbStoreConfigurationBuilder.class)
        .read(first, org.infinispan.commons.configuration.Combine.DEFAULT);
    assertEquals(storeOf(builder.build()), first);
  }

  public void aWrongAttributeIsAnErrorThatNamesIt() {
    for (Map.Entry<String, String> wrong : Map.of(
        "durability='none'", "expected one of [process-crash, synced], found 'none'",
        "compression='gzip'", "expected one of [none, snappy, lz4, zstd], found 'gzip'",
        "memory-bytes='1 MiB'", "expected a number of bytes, found '1 MiB'",
        "write-buffer-bytes='-1'", "write-buffer-bytes: expected a number of bytes above 0, found -1",
        "expired-path='x'", "expired-path").entrySet()) {
      CacheConfigurationException error =
          expectThrows(CacheConfigurationException.class, () -> parse(wrong.getKey(), ""));
      String attribute = wrong.getKey().substring(0, wrong.getKey().indexOf('='));
      assertTrue(messages(error).contains(wrong.getValue()) && messages(error).contains(attribute), messages(error));
    }
  }

  public void theSchemaAgrees() throws Exception {
    SchemaFactory factory = SchemaFactory.newInstance(XMLConstants.W3C_XML_SCHEMA_NS_URI);
    try (InputStream host = resource("schema/infinispan-config-15.2.xsd");
        InputStream store = resource("schema/mergedb-store-config-15.2.xsd")) {
      // The locations of imports are addresses on the net. The schema of the host is in infinispan-core's jar; that of
      // JGroups is in none.
      String jgroupsSchema = "<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema' targetNamespace='urn:org:jgroups'>"
          + "<xs:complexType name='ConfigType'/></xs:schema>";
      Schema schema = factory.newSchema(new StreamSource[] {
          new StreamSource(new StringReader(jgroupsSchema)), withoutLocations(host), withoutLocations(store)});
      schema.newValidator().validate(new StreamSource(new StringReader(document(EVERY_ATTRIBUTE, ""))));
      SAXException error = expectThrows(SAXException.class,
          () -> schema.newValidator().validate(new StreamSource(new StringReader(document("durability='none'", "")))));
      assertTrue(error.getMessage().contains("[process-crash, synced]"), error.getMessage());
    }
  }

  // Infinispan's schema gives an attribute of type integer the default 4m, which no validator takes.
  private static StreamSource withoutLocations(InputStream schema) throws IOException {
    String text = new String(schema.readAllBytes(), StandardCharsets.UTF_8);
    return new StreamSource(new StringReader(text.replaceAll(" schemaLocation=\"[^\"]*\"", "")
        .replace(" default=\"4m\"", "")));
  }

  private static InputStream resource(String name) {
    return StoreConfigurationTest.class.getClassLoader().getResourceAsStream(name);
  }

  private static String document(String attributes, String elements) {
    return "<infinispan xmlns='urn:infinispan:config:15.2'><cache-container><global-state/>"
        + "<local-cache name='cache'><persistence>"
        + "<mergedb-store xmlns='urn:infinispan:config:store:mergedb:15.2' " + attributes + ">" + elements
        + "</mergedb-store>"
        + "</persistence></local-cache></cache-container></infinispan>";
  }

  private static Configuration parse(String attributes, String elements) {
    ConfigurationBuilderHolder holder = new ParserRegistry()
        .parse(document(attributes, elements), MediaType.APPLICATION_XML);
    return holder.getNamedConfigurationBuilders().get("cache").build();
  }

  private static MergedbStoreConfiguration storeOf(Configuration configuration) {
    StoreConfiguration store = configuration.persistence().stores().get(0);
    assertEquals(store.getClass(), MergedbStoreConfiguration.class);
    return (MergedbStoreConfiguration) store;
  }

  private static String write(Configuration configuration) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ConfigurationWriter writer = ConfigurationWriter.to(bytes).withType(MediaType.APPLICATION_XML).build()) {
      new ParserRegistry().serialize(writer, null, Map.of("cache", configuration));
    }
    return bytes.toString(StandardCharsets.UTF_8);
  }

  private static String messages(Throwable error) {
    StringBuilder text = new StringBuilder();
    for (Throwable cause = error; cause != null; cause = cause.getCause()) text.append(cause.getMessage()).append('\n');
    return text.toString();
  }
}
