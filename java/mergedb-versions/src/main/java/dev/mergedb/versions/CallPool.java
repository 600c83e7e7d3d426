package dev.mergedb.versions;

import dev.mergedb.MergedbException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/** How many calls may be inside the database at once. Thread-safe. */
abstract class CallPool implements AutoCloseable {
  /** Runs the body and returns its result, or throws what it throws. The body must not call the pool. */
  abstract <T> T call(Supplier<T> body);

  /** Lets no further calls in. Calls that are inside finish. */
  @Override
  public void close() {}

  /**
   * A pool.
   *
   * @param size calls at once; 0: any number
   * @param hasThreads true: `size` threads of the pool run the calls; false: the callers do
   * @param name of the threads
   */
  static CallPool of(int size, boolean hasThreads, String name) {
    if (size < 0) {
      throw new IllegalArgumentException("pool " + name + ": expected 0 or more calls at once, found " + size);
    }
    if (size == 0) {
      return new Direct();
    }
    return hasThreads ? new Threads(size, name) : new Admission(size);
  }

  private static final class Direct extends CallPool {
    @Override
    <T> T call(Supplier<T> body) {
      return body.get();
    }
  }

  /** The caller's thread runs the call. WHY: handing a call to another thread and back costs two context switches. */
  private static final class Admission extends CallPool {
    private final Semaphore permits;

    Admission(int size) {
      permits = new Semaphore(size);
    }

    @Override
    <T> T call(Supplier<T> body) {
      permits.acquireUninterruptibly();
      try {
        return body.get();
      } finally {
        permits.release();
      }
    }
  }

  private static final class Threads extends CallPool {
    private final ThreadPoolExecutor executor;
    private final String name;

    Threads(int size, String name) {
      this.name = name;
      AtomicInteger number = new AtomicInteger();
      executor =
          new ThreadPoolExecutor(
              size,
              size,
              30,
              TimeUnit.SECONDS,
              new LinkedBlockingQueue<>(),
              body -> {
                Thread thread = new Thread(body, name + "-" + number.incrementAndGet());
                thread.setDaemon(true);
                return thread;
              });
      executor.allowCoreThreadTimeOut(true);
    }

    @Override
    <T> T call(Supplier<T> body) {
      Future<T> result;
      try {
        result = executor.submit(body::get);
      } catch (RejectedExecutionException e) {
        throw new MergedbException(MergedbException.Code.CLOSED, "pool " + name + " is closed; open the store again", false, e);
      }
      boolean wasInterrupted = false;
      try {
        // WHY: an interrupted caller waits on, since its write may be half done and its outcome would be unknown.
        while (true) {
          try {
            return result.get();
          } catch (InterruptedException e) {
            wasInterrupted = true;
          } catch (ExecutionException e) {
            if (e.getCause() instanceof RuntimeException failure) {
              throw failure;
            }
            if (e.getCause() instanceof Error failure) {
              throw failure;
            }
            throw new IllegalStateException(e.getCause());
          }
        }
      } finally {
        if (wasInterrupted) {
          Thread.currentThread().interrupt();
        }
      }
    }

    @Override
    public void close() {
      executor.shutdown();
    }
  }
}
