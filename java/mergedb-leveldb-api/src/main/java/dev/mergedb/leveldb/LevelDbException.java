package dev.mergedb.leveldb;

import java.io.IOException;

/**
 * An open, destroy, repair or close that failed. The message begins as LevelDB's does: {@code NotFound}, {@code Corruption},
 * {@code Not implemented}, {@code Invalid argument} or {@code IO error}. The cause is the {@link
 * dev.mergedb.MergedbException}, if there was one.
 */
public final class LevelDbException extends IOException {
  private static final long serialVersionUID = 1;

  /** LevelDB's kind of error. */
  private final boolean isNotFound;

  LevelDbException(String message, boolean isNotFound, Throwable cause) {
    super(message, cause);
    this.isNotFound = isNotFound;
  }

  /**
   * Whether LevelDB's status would be NotFound. A database that is not there is none of these: it is {@code Invalid argument}, and
   * its message contains {@code does not exist}.
   *
   * @return true: a file or an entry that the call needs is not there
   */
  public boolean isNotFound() {
    return isNotFound;
  }
}
