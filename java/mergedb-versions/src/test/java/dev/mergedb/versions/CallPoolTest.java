package dev.mergedb.versions;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.mergedb.MergedbException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CallPoolTest {
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void admitsAsManyCallsAsItsSize(boolean hasThreads) throws InterruptedException {
    try (CallPool pool = CallPool.of(3, hasThreads, "test")) {
      AtomicInteger inside = new AtomicInteger();
      AtomicInteger most = new AtomicInteger();
      CountDownLatch three = new CountDownLatch(3);
      List<Thread> callers = new ArrayList<>();
      for (int i = 0; i < 12; ++i) {
        Thread caller =
            new Thread(
                () ->
                    pool.call(
                        () -> {
                          most.accumulateAndGet(inside.incrementAndGet(), Math::max);
                          three.countDown();
                          await(three);
                          inside.decrementAndGet();
                          return null;
                        }));
        caller.start();
        callers.add(caller);
      }
      for (Thread caller : callers) {
        caller.join();
      }
      assertEquals(3, most.get());
    }
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void onlyAPoolWithThreadsLeavesTheCallersThread() {
    assertSame(Thread.currentThread(), CallPool.of(0, false, "test").<Thread>call(Thread::currentThread));
    assertSame(Thread.currentThread(), CallPool.of(0, true, "test").<Thread>call(Thread::currentThread));
    assertSame(Thread.currentThread(), CallPool.of(1, false, "test").<Thread>call(Thread::currentThread));
    try (CallPool pool = CallPool.of(1, true, "test")) {
      Thread thread = pool.call(Thread::currentThread);
      assertNotSame(Thread.currentThread(), thread);
      assertEquals("test-1", thread.getName());
      assertTrue(thread.isDaemon());
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aFailureIsTheCallers(boolean hasThreads) {
    try (CallPool pool = CallPool.of(1, hasThreads, "test")) {
      IllegalStateException failure = new IllegalStateException("failed");
      for (int i = 0; i < 3; ++i) {
        assertSame(failure, assertThrows(IllegalStateException.class, () -> pool.call(() -> {throw failure;})));
        AssertionError error = new AssertionError("failed");
        assertSame(error, assertThrows(AssertionError.class, () -> pool.call(() -> {throw error;})));
      }
      assertEquals(7, pool.<Integer>call(() -> 7));
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void anInterruptedCallerGetsItsResult(boolean hasThreads) {
    try (CallPool pool = CallPool.of(1, hasThreads, "test")) {
      AtomicBoolean isDone = new AtomicBoolean();
      Thread.currentThread().interrupt();
      assertEquals(7, pool.<Integer>call(() -> {isDone.set(true); return 7;}));
      assertTrue(Thread.interrupted(), "the caller is still interrupted");
      assertTrue(isDone.get());
    }
  }

  @Test
  void aClosedPoolRefuses() {
    CallPool pool = CallPool.of(1, true, "test");
    pool.close();
    pool.close();
    assertEquals(MergedbException.Code.CLOSED, assertThrows(MergedbException.class, () -> pool.call(() -> 1)).code());
    assertThrows(IllegalArgumentException.class, () -> CallPool.of(-1, false, "test"));
  }
}
