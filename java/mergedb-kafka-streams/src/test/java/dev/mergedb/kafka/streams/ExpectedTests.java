package dev.mergedb.kafka.streams;

import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeTestExecutionCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Fails a class whose tests are inherited if fewer or more of them ran than expected: published
 * tests that are missing must not look like tests that pass. Counts nothing when the user runs
 * single methods by {@code -Dtest=Class#method}.
 */
public final class ExpectedTests implements BeforeTestExecutionCallback, AfterAllCallback {
  private final int expected;
  private final AtomicInteger ran = new AtomicInteger();

  public ExpectedTests(int expected) {
    this.expected = expected;
  }

  @Override
  public void beforeTestExecution(ExtensionContext context) {
    ran.incrementAndGet();
  }

  @Override
  public void afterAll(ExtensionContext context) {
    if (System.getProperty("test", "").contains("#") || ran.get() == expected) return;
    throw new AssertionError(
        context.getDisplayName()
            + ": "
            + ran.get()
            + " tests ran, expected the "
            + expected
            + " that kafka-streams 4.3.1 publishes. Is its jar with classifier \"test\" complete?");
  }
}
