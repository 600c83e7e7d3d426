package dev.mergedb;

import java.nio.charset.StandardCharsets;
import java.util.Objects;

/** An error of mergedb: its code, and a message that says what failed, where, what was expected and what was found. */
public final class MergedbException extends RuntimeException {
  /** What kind of error it is. */
  public enum Code {
    /** A file, a database or an entry that the call needs is not there. */
    NOT_FOUND(1),
    /** Stored bytes are not what was written. */
    CORRUPTION(2),
    /** The call asks for something that can never work. */
    INVALID_ARGUMENT(3),
    /** The call is valid, but this build, file or database style does not support it. */
    NOT_SUPPORTED(4),
    /** The operating system refused. */
    IO_ERROR(5),
    /** The disk or the quota is full, or a transaction reached its size limit. */
    NO_SPACE(6),
    /** Another process, thread or transaction holds it. Try again. */
    BUSY(7),
    /** A transaction met the write of another one. Begin the transaction again. */
    CONFLICT(8),
    /** The operation was cancelled: its transaction has ended, or a callback asked to stop or threw an exception. */
    ABORTED(9),
    /** The database is closed or closing. */
    SHUTTING_DOWN(10),
    /**
     * The merge operands of this key cannot be applied. Other keys are not affected. A put or a delete of the key
     * removes the error.
     */
    MERGE_FAILED(11),
    /** The object that was called is closed. */
    CLOSED(100),
    /** A native allocation failed. If the call was a write, its outcome is unknown. */
    OUT_OF_MEMORY(101),
    /** A code that this version does not know. */
    UNKNOWN(-1);

    private final int number;

    Code(int number) {
      this.number = number;
    }

    static Code of(int number) {
      for (Code code : values()) {
        if (code.number == number) {
          return code;
        }
      }
      return UNKNOWN;
    }
  }

  private static final long serialVersionUID = 1;

  /** The code. */
  private final Code code;

  /** Whether a failed write may have happened. */
  private final boolean outcomeUnknown;

  /**
   * An error without a cause, whose outcome is known.
   *
   * @param code what kind of error it is
   * @param message what failed, where, what was expected and found, and the next step
   */
  public MergedbException(Code code, String message) {
    this(code, message, false, null);
  }

  /**
   * An error with all that there is to say.
   *
   * @param code what kind of error it is
   * @param message what failed, where, what was expected and found, and the next step
   * @param outcomeUnknown true: the failed write may be there after the next open, whole or not at all
   * @param cause the reason, or null
   */
  public MergedbException(Code code, String message, boolean outcomeUnknown, Throwable cause) {
    super(message, cause);
    this.code = Objects.requireNonNull(code, "code");
    this.outcomeUnknown = outcomeUnknown;
  }

  /** Called by native code. */
  static MergedbException of(int code, boolean outcomeUnknown, byte[] message) {
    return new MergedbException(Code.of(code), new String(message, StandardCharsets.UTF_8), outcomeUnknown, null);
  }

  /**
   * What kind of error it is.
   *
   * @return the code
   */
  public Code code() {
    return code;
  }

  /**
   * Whether a failed write may be there after the next open, whole or not at all.
   *
   * @return false: the write did not happen, or the call was not a write
   */
  public boolean outcomeUnknown() {
    return outcomeUnknown;
  }

  @Override
  public String toString() {
    return getClass().getName() + ": " + code + ": " + getMessage();
  }
}
