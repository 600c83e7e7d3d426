package dev.mergedb.kafka.streams;

import dev.mergedb.Merge;
import java.nio.charset.StandardCharsets;
import java.util.function.Function;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;

/** The aggregations that the engine has merge operators for. */
public final class MergedbAggregators {
  private MergedbAggregators() {}

  /**
   * Counts: a merge adds, a missing key is 0. A sum beyond 64 bits wraps around, as that of Java's
   * long does.
   *
   * @return the aggregator
   */
  public static MergedbAggregator<Long> count() {
    return sumLong();
  }

  /**
   * The sum of whole numbers. A missing key is 0. A sum beyond 64 bits wraps around, as that of
   * Java's long does.
   *
   * @return the aggregator
   */
  public static MergedbAggregator<Long> sumLong() {
    // WHY not addI64: it keeps the exact sum and shows the nearest long. The DSL's count and reduce
    // wrap around, and a store that is restored from its changelog has only what was shown.
    return new OfEngine<>(Merge::addU64, Merge::fromI64, Merge::toI64, Serdes.Long());
  }

  /**
   * The sum of floating-point numbers. A missing key is 0.
   *
   * @return the aggregator
   */
  public static MergedbAggregator<Double> sumDouble() {
    return new OfEngine<>(Merge::addF64, Merge::fromF64, Merge::toF64, Serdes.Double());
  }

  /**
   * The largest whole number.
   *
   * @return the aggregator
   */
  public static MergedbAggregator<Long> maxLong() {
    return new OfEngine<>(Merge::maxI64, Merge::fromI64, Merge::toI64, Serdes.Long());
  }

  /**
   * The smallest whole number.
   *
   * @return the aggregator
   */
  public static MergedbAggregator<Long> minLong() {
    return new OfEngine<>(Merge::minI64, Merge::fromI64, Merge::toI64, Serdes.Long());
  }

  /**
   * Texts one after another, in UTF-8.
   *
   * @param delimiter what stands between two of them
   * @return the aggregator
   */
  public static MergedbAggregator<String> concatenate(String delimiter) {
    byte[] between = delimiter.getBytes(StandardCharsets.UTF_8);
    return new OfEngine<>(
        text -> Merge.append(text.getBytes(StandardCharsets.UTF_8), between, 0, Merge.Keep.NEWEST),
        text -> text.getBytes(StandardCharsets.UTF_8),
        stored -> new String(stored, StandardCharsets.UTF_8),
        Serdes.String());
  }

  private static final class OfEngine<V> implements MergedbAggregator<V> {
    private final Function<V, Merge> operand;
    private final Function<V, byte[]> encoder;
    private final Function<byte[], V> decoder;
    private final Serde<V> serde;

    OfEngine(
        Function<V, Merge> operand,
        Function<V, byte[]> encoder,
        Function<byte[], V> decoder,
        Serde<V> serde) {
      this.operand = operand;
      this.encoder = encoder;
      this.decoder = decoder;
      this.serde = serde;
    }

    @Override
    public Merge operand(V value) {
      return operand.apply(value);
    }

    @Override
    public byte[] encode(V aggregate) {
      return encoder.apply(aggregate);
    }

    @Override
    public V decode(byte[] stored) {
      return decoder.apply(stored);
    }

    @Override
    public Serde<V> changelogSerde() {
      return serde;
    }
  }
}
