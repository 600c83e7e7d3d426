package dev.mergedb.kafka.streams;

import org.apache.kafka.streams.DslStoreFormat;
import org.apache.kafka.streams.state.DslKeyValueParams;
import org.apache.kafka.streams.state.DslSessionParams;
import org.apache.kafka.streams.state.DslStoreSuppliers;
import org.apache.kafka.streams.state.DslWindowParams;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.SessionBytesStoreSupplier;
import org.apache.kafka.streams.state.WindowBytesStoreSupplier;

/**
 * Moves every store of a topology's DSL to mergedb by one line of the streams configuration:
 *
 * <pre>
 *   dsl.store.suppliers.class=dev.mergedb.kafka.streams.MergedbDslStoreSuppliers
 * </pre>
 *
 * A changelog that another kind of store wrote is restored into these: the formats of the changelog
 * are the same. Not moved are versioned stores and the buffers of {@code suppress} and of join
 * grace periods, which Kafka Streams makes itself.
 *
 * <p>Stateless, for any number of threads.
 */
public final class MergedbDslStoreSuppliers implements DslStoreSuppliers {
  /** For the configuration; Kafka Streams makes one. */
  public MergedbDslStoreSuppliers() {}

  @Override
  public KeyValueBytesStoreSupplier keyValueStore(DslKeyValueParams params) {
    return new MergedbKeyValueBytesStoreSupplier(params.name(), params.dslStoreFormat());
  }

  @Override
  public WindowBytesStoreSupplier windowStore(DslWindowParams params) {
    DslStoreFormat format =
        params.dslStoreFormat() == null ? DslStoreFormat.TIMESTAMPED : params.dslStoreFormat();
    return new MergedbWindowBytesStoreSupplier(
        params.name(),
        params.retentionPeriod().toMillis(),
        params.windowSize().toMillis(),
        params.retainDuplicates(),
        format);
  }

  @Override
  public SessionBytesStoreSupplier sessionStore(DslSessionParams params) {
    DslStoreFormat format =
        params.storeFormat() == DslStoreFormat.HEADERS
            ? DslStoreFormat.HEADERS
            : DslStoreFormat.PLAIN;
    return new MergedbSessionBytesStoreSupplier(
        params.name(), params.retentionPeriod().toMillis(), format);
  }
}
