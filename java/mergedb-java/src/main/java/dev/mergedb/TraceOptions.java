package dev.mergedb;

/** What {@link Database#startTrace} records. Immutable. */
public final class TraceOptions {
  /** All calls, without the bytes of values, up to 1 GiB. */
  public static final TraceOptions DEFAULT = new TraceOptions(0, false, 0);

  final int sampling;
  final boolean recordValues;
  final long bytesMax;

  private TraceOptions(int sampling, boolean recordValues, long bytesMax) {
    this.sampling = sampling;
    this.recordValues = recordValues;
    this.bytesMax = bytesMax;
  }

  /**
   * Which keys and iterators are recorded.
   *
   * @param value one of so many; 0 or 1: all
   * @return options with this setting
   * @throws IllegalArgumentException if negative
   */
  public TraceOptions sampling(int value) {
    return new TraceOptions((int) Limits.notNegative(value, "sampling"), recordValues, bytesMax);
  }

  /**
   * Whether the bytes of values are recorded.
   *
   * @param value true: of values of up to 1 MiB; false: only their sizes
   * @return options with this setting
   */
  public TraceOptions recordValues(boolean value) {
    return new TraceOptions(sampling, value, bytesMax);
  }

  /**
   * The greatest size of the file, at which the trace ends.
   *
   * @param value bytes; 0: the default, 1 GiB
   * @return options with this setting
   * @throws IllegalArgumentException if negative
   */
  public TraceOptions bytesMax(long value) {
    return new TraceOptions(sampling, recordValues, Limits.notNegative(value, "bytesMax"));
  }
}
