package dev.mergedb;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How the native library is found, copied and loaded. */
class LibraryTest {
  @TempDir Path folder;

  /** Loads the library from the class path, as a program with the jar does. */
  static final class Loads {
    public static void main(String[] arguments) {
      try (Database db = Database.open(Path.of(arguments[0]))) {
        db.put(new byte[] {1}, new byte[] {2});
        System.out.println("loaded " + Database.version());
      }
    }
  }

  private String run(String temporary, String... jvmArguments) throws Exception {
    Path log = folder.resolve("log" + System.nanoTime());
    List<String> arguments =
        new ArrayList<>(List.of("-Djava.io.tmpdir=" + temporary, "-D" + Library.PATH_PROPERTY + "="));
    arguments.addAll(List.of(jvmArguments));
    return Testing.finish(Testing.jvm(log, arguments, Loads.class, folder.resolve("db").toString()), log, 0);
  }

  @Test
  void fromTheJar() throws Exception {
    assertNotNull(Library.class.getResource("/META-INF/native/" + Library.platform() + "/libmergedb_jni.so"),
        "./dev build java puts it there");
    Path temporary = Files.createDirectory(folder.resolve("temporary"));
    assertTrue(run(temporary.toString()).contains("loaded"));
    Path directory;
    try (var files = Files.list(temporary)) {
      directory = files.filter(file -> file.getFileName().toString().startsWith("mergedb-")).findFirst().orElseThrow();
    }
    assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(directory)));
    List<Path> found;
    try (var files = Files.list(directory)) {
      found = files.toList();
    }
    assertEquals(1, found.size(), found::toString);
    byte[] bytes = Files.readAllBytes(found.get(0));
    assertTrue(found.get(0).toString().contains(Library.sha256(bytes)));

    // A file of this name that is not whole is replaced, and not loaded.
    Files.write(found.get(0), new byte[] {1, 2, 3});
    assertTrue(run(temporary.toString()).contains("loaded"));
    assertArrayEquals(bytes, Files.readAllBytes(found.get(0)));
  }

  @Test
  void aDirectoryThatIsNoDirectory() throws IOException {
    Path file = Files.createFile(folder.resolve("file"));
    assertThrows(IOException.class, () -> Library.extract(new byte[3], file));
    Path real = Files.createDirectory(folder.resolve("real"));
    Path link = Files.createSymbolicLink(folder.resolve("link"), real);
    assertThrows(IOException.class, () -> Library.extract(new byte[3], link));
    Path open = Files.createDirectory(folder.resolve("open"));
    Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rwxrwxrwx"));
    Path extracted = Library.extract(new byte[3], open);
    assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(open)));
    assertArrayEquals(new byte[3], Files.readAllBytes(extracted));
  }

  /** Two class loaders, as of two web applications, load the library twice. */
  @Test
  void twoClassLoaders() throws Exception {
    List<URL> urls = new ArrayList<>();
    for (String part : System.getProperty("java.class.path").split(File.pathSeparator)) {
      urls.add(Path.of(part).toUri().toURL());
    }
    String before = System.getProperty(Library.PATH_PROPERTY);
    System.clearProperty(Library.PATH_PROPERTY);
    try {
      for (int i = 0; i < 2; ++i) {
        try (URLClassLoader loader =
                 new URLClassLoader(urls.toArray(URL[] ::new), ClassLoader.getPlatformClassLoader())) {
          Class<?> database = loader.loadClass("dev.mergedb.Database");
          Method open = database.getMethod("open", Path.class);
          try (AutoCloseable db = (AutoCloseable) open.invoke(null, folder.resolve("of loader " + i))) {
            database.getMethod("put", byte[].class, byte[].class).invoke(db, new byte[] {1}, new byte[] {2});
            assertArrayEquals(
                new byte[] {2}, (byte[]) database.getMethod("get", byte[].class).invoke(db, new byte[] {1}));
          }
        }
      }
    } finally {
      if (before != null) {
        System.setProperty(Library.PATH_PROPERTY, before);
      }
    }
  }

  @Test
  void aLibraryThatIsNotThere() throws Exception {
    Path log = folder.resolve("log");
    String output = Testing.finish(Testing.jvm(log, List.of("-D" + Library.PATH_PROPERTY + "=/nowhere/lib.so"),
                                       Loads.class, folder.resolve("db").toString()),
        log, 1);
    assertTrue(output.contains("UnsatisfiedLinkError") && output.contains("/nowhere/lib.so"), output);
  }
}
