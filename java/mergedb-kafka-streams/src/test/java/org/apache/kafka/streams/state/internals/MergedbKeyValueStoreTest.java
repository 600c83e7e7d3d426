package org.apache.kafka.streams.state.internals;

import dev.mergedb.kafka.streams.ExpectedTests;
import dev.mergedb.kafka.streams.MergedbStores;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * The published tests of key-value stores on ours, with a changelog. In this package, as its
 * helpers are.
 */
class MergedbKeyValueStoreTest extends AbstractKeyValueStoreTest {
  @RegisterExtension static final ExpectedTests EXPECTED = new ExpectedTests(34);

  @Override
  @SuppressWarnings("unchecked")
  protected <K, V> KeyValueStore<K, V> createKeyValueStore(StateStoreContext context) {
    KeyValueStore<K, V> store =
        Stores.keyValueStoreBuilder(
                MergedbStores.keyValueStore("my-store"),
                (Serde<K>) context.keySerde(),
                (Serde<V>) context.valueSerde())
            .build();
    store.init(context, store);
    return store;
  }
}
