package dev.mergedb.versions;

/** Bytes that should hold versions do not. The message says where, what was expected and what was found. */
public final class VersionFormatException extends RuntimeException {
  private static final long serialVersionUID = 1;

  VersionFormatException(String message) {
    super(message);
  }

  VersionFormatException(String message, Throwable cause) {
    super(message, cause);
  }
}
