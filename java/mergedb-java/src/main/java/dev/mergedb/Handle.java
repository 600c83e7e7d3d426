package dev.mergedb;

import java.lang.ref.Cleaner;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A native handle that is closed once: by close(), or by the Cleaner when its object is unreachable. A handle keeps
 * its parent's handle from being closed by the Cleaner before it: the Cleaner closes children first, whatever order
 * it finds them in.
 *
 * <p>The Cleaner does not close a cursor of an open transaction: the native transaction is for one thread at a time,
 * so a call of it would be BUSY meanwhile, and a commit that waits would keep the Cleaner waiting. It puts the cursor
 * on a list, which the transaction closes in its next call or when it is closed.
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
  private final Queue<Handle> lost; // of a transaction: the cursors that the Cleaner found; else null
  private final AtomicInteger users = new AtomicInteger(1); // the object, and each child
  private final AtomicBoolean isClosed = new AtomicBoolean();
  private final AtomicBoolean isReleased = new AtomicBoolean();
  private Cleaner.Cleanable cleanable;

  private Handle(int kind, long number, Handle parent) {
    this.kind = kind;
    this.number = number;
    this.parent = parent;
    this.lost = kind == TRANSACTION ? new ConcurrentLinkedQueue<>() : null;
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
      try {
        Native.close(kind, number);
      } finally {
        closeLost();
      }
    }
  }

  /** Closes the cursors that the Cleaner found. For the thread that is inside the transaction, or after its close. */
  void closeLost() {
    if (lost == null) {
      return;
    }
    for (Handle cursor = lost.poll(); cursor != null; cursor = lost.poll()) {
      cursor.closeOnce();
    }
  }

  /** For the Cleaner. If the transaction is closed at the same time, that close or this call empties the list. */
  private void lose(Handle cursor) {
    if (!cursor.isClosed()) {
      lost.add(cursor);
    }
    if (isClosed()) {
      closeLost();
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
      if (kind == CURSOR) {
        parent.lose(this);
      } else {
        closeOnce();
      }
    } finally {
      if (parent != null) {
        parent.release();
      }
    }
  }
}
