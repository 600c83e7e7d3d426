package org.apache.kafka.streams.state.internals;

import dev.mergedb.kafka.streams.ExpectedTests;
import dev.mergedb.kafka.streams.MergedbStores;
import java.time.Duration;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.Stores;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * The published tests of session stores on ours. In this package, since their abstract methods are
 * its own.
 */
class MergedbSessionStoreTest extends AbstractSessionBytesStoreTest {
  @RegisterExtension static final ExpectedTests EXPECTED = new ExpectedTests(34);

  private int stores;

  /**
   * Each has a name of its own: some tests open a second one beside the first, and a directory is
   * one store's.
   */
  @Override
  <K, V> SessionStore<K, V> buildSessionStore(
      long retentionPeriod, Serde<K> keySerde, Serde<V> valueSerde) {
    return Stores.sessionStoreBuilder(
            MergedbStores.sessionStore(
                "session-store-" + ++stores, Duration.ofMillis(retentionPeriod)),
            keySerde,
            valueSerde)
        .build();
  }

  /** Like the in-memory store, ours expires sessions one by one and finds them by time. */
  @Override
  StoreType storeType() {
    return StoreType.InMemoryStore;
  }
}
