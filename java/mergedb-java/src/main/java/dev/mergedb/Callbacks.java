package dev.mergedb;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
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
  private final Consumer<Event> listener;
  private final CheckpointOptions.Progress progress;
  private volatile Throwable failure;

  Callbacks(
      KeyComparator comparator,
      Consumer<String> logger,
      Consumer<Event> listener,
      CheckpointOptions.Progress progress) {
    this.comparator = comparator;
    this.logger = logger;
    this.listener = listener;
    this.progress = progress;
  }

  /** Native code asks. */
  boolean hasLogger() {
    return logger != null;
  }

  /** Native code asks. */
  boolean hasListener() {
    return listener != null;
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
    line(text(line));
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

  /** Each field is a text, or a number if its text is null. */
  private void event(
      byte[] name, long timeMicros, byte[][] fieldNames, long[] numbers, byte[][] texts, byte[] json) {
    try {
      Map<String, Object> fields = new LinkedHashMap<>();
      for (int i = 0; i < fieldNames.length; ++i) {
        fields.put(text(fieldNames[i]), texts[i] == null ? (Object) numbers[i] : text(texts[i]));
      }
      Instant time = Instant.EPOCH.plus(timeMicros, ChronoUnit.MICROS);
      listener.accept(new Event(text(name), time, Collections.unmodifiableMap(fields), text(json)));
    } catch (Throwable e) {
      line("the event listener threw " + e);
    }
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
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
