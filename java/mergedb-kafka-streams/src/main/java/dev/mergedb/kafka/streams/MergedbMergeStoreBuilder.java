package dev.mergedb.kafka.streams;

import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.streams.state.StoreBuilder;

/**
 * Builds {@link MergedbMergeStore}s, for {@code Topology.addStateStore}. Logging is on unless
 * {@link #withLoggingDisabled} is called. The store has no record cache: {@link
 * #withCachingEnabled} changes nothing, since a merge reads nothing that a cache could hold.
 *
 * <p>For one thread, until the topology is built.
 *
 * @param <K> type of the keys
 * @param <V> type of the values that are merged, and of the aggregate
 */
public final class MergedbMergeStoreBuilder<K, V> implements StoreBuilder<MergedbMergeStore<K, V>> {
  private final String name;
  private final Serde<K> keySerde;
  private final MergedbAggregator<V> aggregator;
  private final Map<String, String> logConfig = new HashMap<>();
  private boolean isLoggingEnabled = true;

  /**
   * @param name name of the store and of its directory
   * @param keySerde serde of the keys
   * @param aggregator what the store aggregates
   * @throws NullPointerException if an argument is null
   */
  public MergedbMergeStoreBuilder(String name, Serde<K> keySerde, MergedbAggregator<V> aggregator) {
    this.name = Objects.requireNonNull(name, "name");
    this.keySerde = Objects.requireNonNull(keySerde, "keySerde");
    this.aggregator = Objects.requireNonNull(aggregator, "aggregator");
  }

  @Override
  public MergedbMergeStoreBuilder<K, V> withCachingEnabled() {
    return this;
  }

  @Override
  public MergedbMergeStoreBuilder<K, V> withCachingDisabled() {
    return this;
  }

  @Override
  public MergedbMergeStoreBuilder<K, V> withLoggingEnabled(Map<String, String> config) {
    isLoggingEnabled = true;
    logConfig.putAll(Objects.requireNonNull(config, "config"));
    return this;
  }

  @Override
  public MergedbMergeStoreBuilder<K, V> withLoggingDisabled() {
    isLoggingEnabled = false;
    logConfig.clear();
    return this;
  }

  @Override
  public MergedbMergeStore<K, V> build() {
    return new MergeStore<>(name, keySerde, aggregator, isLoggingEnabled);
  }

  @Override
  public Map<String, String> logConfig() {
    return logConfig;
  }

  @Override
  public boolean loggingEnabled() {
    return isLoggingEnabled;
  }

  @Override
  public String name() {
    return name;
  }
}
