package dev.mergedb.versions;

/** A write was refused: the store has a version that is as new or newer. Nothing was written. */
public final class ObsoleteVersionException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** The clock of the refused write. */
  private final transient VectorClock written;

  /** The clock of the stored version that refused it. */
  private final transient VectorClock stored;

  ObsoleteVersionException(String message, VectorClock written, VectorClock stored) {
    super(message);
    this.written = written;
    this.stored = stored;
  }

  /**
   * The clock of the refused write.
   *
   * @return the clock; null after serialization
   */
  public VectorClock written() {
    return written;
  }

  /**
   * The clock of the stored version that is as new or newer.
   *
   * @return the clock; null after serialization
   */
  public VectorClock stored() {
    return stored;
  }
}
