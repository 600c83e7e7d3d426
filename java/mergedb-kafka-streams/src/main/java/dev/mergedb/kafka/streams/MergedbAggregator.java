package dev.mergedb.kafka.streams;

import dev.mergedb.Merge;
import org.apache.kafka.common.serialization.Serde;

/**
 * An aggregation that the engine does: how values become merge operands, and what is stored. {@link
 * MergedbAggregators} has the ready ones. Implementations are stateless, for any number of threads.
 *
 * @param <V> type of the values that are merged, and of the aggregate
 */
public interface MergedbAggregator<V> {
  /**
   * @param value what to merge into a key's aggregate; never null
   * @return the operand that does it
   */
  Merge operand(V value);

  /**
   * @param aggregate an aggregate; never null
   * @return how the engine stores it
   */
  byte[] encode(V aggregate);

  /**
   * @param stored what the engine stored; never null
   * @return the aggregate
   */
  V decode(byte[] stored);

  /**
   * How an aggregate is written to the changelog, so that any consumer can read it.
   *
   * @return the serde of its values
   */
  Serde<V> changelogSerde();
}
