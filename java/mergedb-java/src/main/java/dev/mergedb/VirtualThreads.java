package dev.mergedb;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/**
 * Virtual threads, which JDK 21 has and JDK 17 does not.
 *
 * <p>The engine knows the thread of a single writer by the thread of the operating system, and virtual threads share
 * and change those: the write of another virtual thread would be BUSY, and a write by the single writer's own thread,
 * outside of its transaction, would wait for itself.
 */
final class VirtualThreads {
  private static final MethodHandle IS_VIRTUAL = find();

  private VirtualThreads() {}

  /** Null: this JDK has no virtual threads. */
  private static MethodHandle find() {
    try {
      return MethodHandles.publicLookup()
          .findVirtual(Thread.class, "isVirtual", MethodType.methodType(boolean.class));
    } catch (ReflectiveOperationException e) {
      return null;
    }
  }

  private static boolean isCurrent() {
    try {
      return IS_VIRTUAL != null && (boolean) IS_VIRTUAL.invokeExact(Thread.currentThread());
    } catch (Throwable e) {
      throw new AssertionError("Thread.isVirtual throws nothing", e);
    }
  }

  /** Refuses with NOT_SUPPORTED where a virtual thread begins a single writer. */
  static void refuse(TransactionOptions.Kind kind) {
    if (kind == TransactionOptions.Kind.SINGLE_WRITER && isCurrent()) {
      throw new MergedbException(
          MergedbException.Code.NOT_SUPPORTED,
          "a virtual thread cannot begin a transaction of kind SINGLE_WRITER, because it shares its thread of the"
              + " operating system; begin it in a platform thread, or begin one of kind OPTIMISTIC");
    }
  }
}
