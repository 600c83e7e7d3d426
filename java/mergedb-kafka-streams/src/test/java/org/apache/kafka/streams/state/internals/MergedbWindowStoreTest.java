package org.apache.kafka.streams.state.internals;

import dev.mergedb.kafka.streams.ExpectedTests;
import dev.mergedb.kafka.streams.MergedbStores;
import java.time.Duration;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.WindowStore;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * The published tests of window stores on ours. In this package, since their abstract methods are
 * its own.
 */
class MergedbWindowStoreTest extends AbstractWindowBytesStoreTest {
  @RegisterExtension static final ExpectedTests EXPECTED = new ExpectedTests(28);

  private int stores;

  /**
   * Each has a name of its own: some tests open a second one beside the first, and a directory is
   * one store's.
   */
  @Override
  <K, V> WindowStore<K, V> buildWindowStore(
      long retentionPeriod,
      long windowSize,
      boolean retainDuplicates,
      Serde<K> keySerde,
      Serde<V> valueSerde) {
    return Stores.windowStoreBuilder(
            MergedbStores.windowStore(
                "window-store-" + ++stores,
                Duration.ofMillis(retentionPeriod),
                Duration.ofMillis(windowSize),
                retainDuplicates),
            keySerde,
            valueSerde)
        .build();
  }
}
