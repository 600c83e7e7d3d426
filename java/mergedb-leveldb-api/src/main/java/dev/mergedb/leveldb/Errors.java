package dev.mergedb.leveldb;

import dev.mergedb.MergedbException;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.iq80.leveldb.DBException;

/** Errors of mergedb in LevelDB's words. */
final class Errors {
  private static final String CLOSED = "Closed";
  private static final String THERE_ALREADY = "a database exists already";
  private static final Pattern COMPARATORS =
      Pattern.compile("the database is ordered by \"(.*)\", the options by \"(.*)\"$", Pattern.DOTALL);

  private Errors() {}

  static <T> T checkNotNull(T value, String name) {
    if (value == null) {
      throw new IllegalArgumentException("The " + name + " argument cannot be null");
    }
    return value;
  }

  private static String text(MergedbException e) {
    String message = e.getMessage() + (e.outcomeUnknown() ? " (outcome unknown)" : "");
    return switch (e.code()) {
      case CLOSED -> CLOSED;
      case NOT_FOUND -> "NotFound: " + message;
      case CORRUPTION, MERGE_FAILED -> "Corruption: " + message;
      case INVALID_ARGUMENT -> "Invalid argument: " + message;
      case NOT_SUPPORTED -> "Not implemented: " + message;
      default -> "IO error: " + message;
    };
  }

  /** Of a call on an open database. */
  static DBException of(MergedbException e) {
    return new DBException(text(e), e);
  }

  static DBException closed() {
    return new DBException(CLOSED);
  }

  static LevelDbException doesNotExist(Path path, Throwable cause) {
    return new LevelDbException("Invalid argument: " + path + ": does not exist (create_if_missing is false)", false, cause);
  }

  static LevelDbException exists(Path path, Throwable cause) {
    return new LevelDbException("Invalid argument: " + path + ": exists (error_if_exists is true)", false, cause);
  }

  /** Of close. */
  static LevelDbException ofClose(MergedbException e) {
    return new LevelDbException(text(e), false, e);
  }

  /** Of an open, a destroy or a repair: the words that programs look for in the messages of LevelDB. */
  static LevelDbException ofDirectory(MergedbException e, Path path, boolean createIfMissing) {
    switch (e.code()) {
      case NOT_FOUND:
        return createIfMissing
            ? new LevelDbException("IO error: " + e.getMessage(), false, e)
            : doesNotExist(path, e);
      case BUSY:
        return new LevelDbException("IO error: lock " + path + "/LOCK: " + e.getMessage(), false, e);
      case INVALID_ARGUMENT:
        if (e.getMessage().endsWith(THERE_ALREADY)) {
          return exists(path, e);
        }
        Matcher names = COMPARATORS.matcher(e.getMessage());
        if (names.find()) {
          return new LevelDbException(
              "Invalid argument: "
                  + Settings.levelDbName(names.group(1))
                  + " does not match existing comparator : "
                  + Settings.levelDbName(names.group(2)),
              false,
              e);
        }
        return new LevelDbException(text(e), false, e);
      default:
        return new LevelDbException(text(e), false, e);
    }
  }
}
