package dev.mergedb.infinispan;

import java.nio.file.Path;
import org.infinispan.commons.util.Util;
import org.infinispan.configuration.cache.PersistenceConfigurationBuilder;
import org.infinispan.persistence.BaseStoreFunctionalTest;
import org.testng.annotations.AfterClass;
import org.testng.annotations.Test;

/** Infinispan's published tests of a cache with a store. */
@Test(groups = "unit", testName = "dev.mergedb.infinispan.MergedbStoreFunctionalTest")
public class MergedbStoreFunctionalTest extends BaseStoreFunctionalTest {
  // Without a global state the path is relative to the working directory, so it is absolute.
  private final Path directory = TestDirectories.make("functional");

  @AfterClass(alwaysRun = true)
  void removeDirectory() {
    Util.recursiveFileRemove(directory.toFile());
  }

  @Override
  protected PersistenceConfigurationBuilder createCacheStoreConfig(PersistenceConfigurationBuilder persistence,
      String cacheName,
      boolean preload) {
    persistence.addStore(MergedbStoreConfigurationBuilder.class).preload(preload)
        .path(directory.resolve(cacheName).toString());
    return persistence;
  }
}
