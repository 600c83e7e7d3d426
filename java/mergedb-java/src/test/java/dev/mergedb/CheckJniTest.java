package dev.mergedb;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The tests of every call run once more under -Xcheck:jni, and it has nothing to say. */
class CheckJniTest {
  @TempDir Path folder;

  /** Runs the tests of other classes without JUnit's engine. */
  static final class Runner {
    public static void main(String[] arguments) throws Exception {
      Path folder = Path.of(arguments[0]);
      int count = 0;
      for (Class<?> type : List.of(DatabaseTest.class, EntryIteratorTest.class, TransactionTest.class, MisuseTest.class,
               ComparatorTest.class, LeakTest.class)) {
        for (Method test : type.getDeclaredMethods()) {
          if (test.isAnnotationPresent(Test.class) && !test.getName().equals("aComparatorThatThrowsAnywhere")) {
            run(type, test, Files.createDirectory(folder.resolve("test" + count++)));
          }
        }
      }
      RandomCalls random = new RandomCalls(Files.createDirectory(folder.resolve("random")), 1, 5000);
      if (!random.run(8, 120) || !random.wrong.isEmpty()) {
        throw new AssertionError(random.wrong.toString());
      }
      System.out.println("all " + count + " ran");
    }

    private static void run(Class<?> type, Method test, Path folder) throws Exception {
      var constructor = type.getDeclaredConstructor();
      constructor.setAccessible(true);
      Object instance = constructor.newInstance();
      Field field = type.getDeclaredField("folder");
      field.setAccessible(true);
      field.set(instance, folder);
      try {
        call(type, instance, BeforeEach.class);
        test.setAccessible(true);
        test.invoke(instance);
        call(type, instance, AfterEach.class);
      } catch (InvocationTargetException e) {
        throw new AssertionError(type.getName() + "." + test.getName(), e.getCause());
      }
    }

    private static void call(Class<?> type, Object instance, Class<? extends java.lang.annotation.Annotation> kind)
        throws Exception {
      for (Method method : type.getDeclaredMethods()) {
        if (method.isAnnotationPresent(kind)) {
          method.setAccessible(true);
          method.invoke(instance);
        }
      }
    }
  }

  @Test
  void everyCall() throws Exception {
    Path log = folder.resolve("log");
    Path files = Files.createDirectory(folder.resolve("files"));
    String output =
        Testing.finish(
            Testing.jvm(log, List.of("-Xcheck:jni"), Runner.class, files.toString()), log, 0);
    assertTrue(output.contains(" ran"), output);
    for (String line : output.split("\n")) {
      assertFalse(
          line.contains("WARNING in native method") || line.contains("WARNING: JNI") || line.contains("FATAL ERROR"),
          output);
    }
  }
}
