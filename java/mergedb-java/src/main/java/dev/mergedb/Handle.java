package dev.mergedb;

import java.lang.ref.Cleaner;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A native handle that is closed once: by close(), or by the Cleaner when its object is unreachable. A handle keeps
 * its parent's handle from being closed by the Cleaner before it: the Cleaner closes children first, whatever order
 * it finds them in.
 */
final class Handle implements Runnable {
  static final int DATABASE = 0;
  static final int ITERATOR = 1;
  static final int SNAPSHOT = 2;
  static final int BATCH = 3;
  static final int TRANSACTION = 4;
  static final int CURSOR = 5;

  private static final Cleaner CLEANER =
      Cleaner.create(
          run -> {
            Thread thread = new Thread(run, "mergedb-cleaner");
            thread.setDaemon(true);
            return thread;
          });

  final long number;
  private final int kind;
  private final Handle parent;
  private final AtomicInteger users = new AtomicInteger(1); // the object, and each child
  private final AtomicBoolean isClosed = new AtomicBoolean();
  private final AtomicBoolean isReleased = new AtomicBoolean();
  private Cleaner.Cleanable cleanable;

  private Handle(int kind, long number, Handle parent) {
    this.kind = kind;
    this.number = number;
    this.parent = parent;
  }

  /** A handle for `owner`, closed when `owner` is unreachable if not before. */
  static Handle create(Object owner, int kind, long number, Handle parent) {
    Handle handle = new Handle(kind, number, parent);
    if (parent != null) {
      parent.users.incrementAndGet();
    }
    try {
      handle.cleanable = CLEANER.register(owner, handle);
    } catch (Throwable e) { // no memory: nobody else knows the handle
      handle.run();
      throw e;
    }
    return handle;
  }

  boolean isClosed() {
    return isClosed.get();
  }

  /** Closes now. Nothing happens the second time. */
  void close() {
    try {
      closeOnce();
    } finally {
      cleanable.clean();
    }
  }

  private void closeOnce() {
    if (isClosed.compareAndSet(false, true)) {
      Native.close(kind, number);
    }
  }

  /** The Cleaner: the object is gone, or was closed. */
  @Override
  public void run() {
    if (isReleased.compareAndSet(false, true)) {
      release();
    }
  }

  private void release() {
    if (users.decrementAndGet() != 0) {
      return;
    }
    try {
      closeOnce();
    } finally {
      if (parent != null) {
        parent.release();
      }
    }
  }
}
