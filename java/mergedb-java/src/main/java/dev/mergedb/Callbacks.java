package dev.mergedb;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.function.Consumer;

/** What native code calls back: no method lets an exception out, because no engine thread could take it. */
final class Callbacks {
  private static final VarHandle FAILURE;

  static {
    try {
      FAILURE = MethodHandles.lookup().findVarHandle(Callbacks.class, "failure", Throwable.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final KeyComparator comparator;
  private final Consumer<String> logger;
  private final CheckpointOptions.Progress progress;
  private volatile Throwable failure;

  Callbacks(KeyComparator comparator, Consumer<String> logger, CheckpointOptions.Progress progress) {
    this.comparator = comparator;
    this.logger = logger;
    this.progress = progress;
  }

  /** Native code asks. */
  boolean hasLogger() {
    return logger != null;
  }

  /** Native code asks. */
  boolean hasProgress() {
    return progress != null;
  }

  boolean hasComparator() {
    return comparator != null;
  }

  /** The first exception of a comparator or a progress listener, or null. */
  Throwable failure() {
    return failure;
  }

  private int compare(byte[] a, byte[] b) {
    if (failure == null) {
      try {
        return comparator.compare(a, b);
      } catch (Throwable e) {
        fail(e);
      }
    }
    return Arrays.compareUnsigned(a, b);
  }

  /** Remembers the first failure. Native code calls it when it could not call {@link #compare}. */
  private void fail(Throwable e) {
    if (FAILURE.compareAndSet(this, null, e) && comparator != null) {
      line("comparator \"" + comparator.name() + "\" threw " + e + "; all later calls except close fail");
    }
  }

  private void log(byte[] line) {
    line(new String(line, StandardCharsets.UTF_8));
  }

  private void line(String text) {
    try {
      if (logger != null) {
        logger.accept(text);
      }
    } catch (Throwable e) {
      // A logger that throws has nowhere to be reported.
    }
  }

  private boolean goOn(long bytesDone, long bytesAll) {
    try {
      return progress.goOn(bytesDone, bytesAll);
    } catch (Throwable e) {
      fail(e);
      return false;
    }
  }
}
