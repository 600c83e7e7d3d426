package dev.mergedb.infinispan;

import org.infinispan.configuration.cache.PersistenceConfigurationBuilder;
import org.infinispan.persistence.BaseStoreFunctionalTest;
import org.testng.annotations.Test;

/** Infinispan's published tests of a cache with a store. */
@Test(groups = "unit", testName = "dev.mergedb.infinispan.MergedbStoreFunctionalTest")
public class MergedbStoreFunctionalTest extends BaseStoreFunctionalTest {
  @Override
  protected PersistenceConfigurationBuilder createCacheStoreConfig(PersistenceConfigurationBuilder persistence, String cacheName,
      boolean preload) {
    persistence.addStore(MergedbStoreConfigurationBuilder.class).preload(preload).path(cacheName);
    return persistence;
  }
}
