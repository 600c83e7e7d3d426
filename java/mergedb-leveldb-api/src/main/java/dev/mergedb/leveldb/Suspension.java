package dev.mergedb.leveldb;

import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * While compactions are suspended, writes of other threads wait, so that no flush and no compaction becomes due. The thread that
 * suspended them may write. A write costs one volatile read.
 */
final class Suspension {
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition resumed = lock.newCondition();
  private volatile Thread owner; // null: not suspended
  private boolean isClosed;

  /** Waits for an earlier suspension of another thread. */
  void suspend() throws InterruptedException {
    lock.lockInterruptibly();
    try {
      while (owner != null && owner != Thread.currentThread() && !isClosed) {
        resumed.await();
      }
      if (!isClosed) {
        owner = Thread.currentThread();
      }
    } finally {
      lock.unlock();
    }
  }

  /** Any thread may call it. Nothing happens if compactions are not suspended. */
  void resume() {
    lock.lock();
    try {
      owner = null;
      resumed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Lets every write go on; the closed database refuses it. */
  void close() {
    lock.lock();
    try {
      isClosed = true;
      owner = null;
      resumed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Before a write. */
  void await() {
    Thread found = owner;
    if (found != null && found != Thread.currentThread()) {
      awaitResumed();
    }
  }

  private void awaitResumed() {
    lock.lock();
    try {
      while (owner != null && owner != Thread.currentThread()) {
        resumed.awaitUninterruptibly();
      }
    } finally {
      lock.unlock();
    }
  }
}
