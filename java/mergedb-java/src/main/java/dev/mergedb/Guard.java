package dev.mergedb;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.LockSupport;

/** Lets one thread at a time into an object, and none once it is closed. */
final class Guard {
  private static final Object CLOSED = new Object();
  private static final long PAUSE_NANOS_MIN = 50_000; // of a close that waits for a call
  private static final long PAUSE_NANOS_MAX = 5_000_000;
  private static final VarHandle HOLDER;

  static {
    try {
      HOLDER = MethodHandles.lookup().findVarHandle(Guard.class, "holder", Object.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final String what;
  private volatile Object holder; // null: free; a Thread: that is inside; CLOSED

  Guard(String what) {
    this.what = what;
  }

  /** Refuses with CLOSED or BUSY. Each enter() is followed by a leave(). */
  void enter() {
    if (!HOLDER.compareAndSet(this, null, Thread.currentThread())) {
      refuse();
    }
  }

  void leave() {
    HOLDER.setRelease(this, null);
  }

  boolean isClosed() {
    return holder == CLOSED;
  }

  private void refuse() {
    Object found = holder;
    if (found == CLOSED) {
      throw new MergedbException(MergedbException.Code.CLOSED, "this " + what + " is closed");
    }
    throw new MergedbException(
        MergedbException.Code.BUSY,
        "this "
            + what
            + " is in use by "
            + (found instanceof Thread thread ? "thread \"" + thread.getName() + "\"" : "another thread")
            + "; only one thread at a time may use it");
  }

  /** Runs `action` while no thread is inside; also after close. For what is closed by itself within a shared guard. */
  void whileAlone(Runnable action) {
    boolean entered = false;
    while (!entered && holder != CLOSED) {
      if (holder == Thread.currentThread()) {
        throw new MergedbException(
            MergedbException.Code.BUSY, "this " + what + " is in use by this thread; close it after the call");
      }
      entered = HOLDER.compareAndSet(this, null, Thread.currentThread());
      if (!entered) {
        LockSupport.parkNanos(this, PAUSE_NANOS_MIN);
      }
    }
    try {
      action.run();
    } finally {
      if (entered) {
        leave();
      }
    }
  }

  /** Waits until the thread inside is out, and lets none in from then on. False: it was closed before. */
  boolean close() {
    long pause = PAUSE_NANOS_MIN;
    while (!HOLDER.compareAndSet(this, null, CLOSED)) {
      Object found = holder;
      if (found == CLOSED) {
        return false;
      }
      if (found == Thread.currentThread()) {
        throw new MergedbException(
            MergedbException.Code.BUSY, "this " + what + " is in use by this thread; close it after the call");
      }
      LockSupport.parkNanos(this, pause);
      pause = Math.min(2 * pause, PAUSE_NANOS_MAX);
    }
    return true;
  }
}
