package org.fusesource.leveldbjni.internal;

import dev.mergedb.leveldb.LevelDbException;
import java.io.IOException;

/** Holds the exception that programs of leveldbjni catch by its name. */
public final class NativeDB {
  private NativeDB() {}

  /** An open, a destroy or a repair that failed. The message begins as LevelDB's does. */
  public static class DBException extends IOException {
    private static final long serialVersionUID = 1;

    /** LevelDB's kind of error. */
    private final boolean notFound;

    /**
     * The same error under this name.
     *
     * @param cause the error
     */
    public DBException(LevelDbException cause) {
      super(cause.getMessage(), cause);
      this.notFound = cause.isNotFound();
    }

    /**
     * Whether LevelDB's status is NotFound: {@link LevelDbException#isNotFound}.
     *
     * @return true: a file or an entry that the call needs is not there
     */
    public boolean isNotFound() {
      return notFound;
    }
  }
}
