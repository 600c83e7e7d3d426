package dev.mergedb.infinispan;

import java.nio.file.Path;
import org.infinispan.commons.util.Util;
import org.infinispan.configuration.cache.Configuration;
import org.infinispan.configuration.cache.ConfigurationBuilder;
import org.infinispan.persistence.BaseNonBlockingStoreTest;
import org.infinispan.persistence.spi.NonBlockingStore;
import org.testng.annotations.AfterClass;
import org.testng.annotations.Test;

/** Infinispan's published tests of a store. */
@Test(groups = "unit", testName = "dev.mergedb.infinispan.MergedbStoreTest")
public class MergedbStoreTest extends BaseNonBlockingStoreTest {
  private final Path directory = TestDirectories.make("store");

  @AfterClass(alwaysRun = true)
  void removeDirectory() {
    Util.recursiveFileRemove(directory.toFile());
  }

  @Override
  protected NonBlockingStore<Object, Object> createStore() {
    return new MergedbStore<>();
  }

  @Override
  protected Configuration buildConfig(ConfigurationBuilder builder) {
    return builder.persistence().addStore(MergedbStoreConfigurationBuilder.class).path(directory.toString()).build();
  }
}
