package org.fusesource.leveldbjni;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.jar.JarFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The jar that takes the place of leveldbjni-all, with nothing else on the class path. */
class AllJarIT {
  private static final String JAR = System.getProperty("mergedb.all.jar");

  @TempDir Path folder;

  @Test
  void itHasWhatLeveldbjniAllHas() throws Exception {
    try (JarFile jar = new JarFile(JAR)) {
      for (String name :
          List.of(
              "org/fusesource/leveldbjni/JniDBFactory",
              "org/fusesource/leveldbjni/internal/NativeDB$DBException",
              "org/iq80/leveldb/DB",
              "org/iq80/leveldb/Options",
              "dev/mergedb/Database",
              "dev/mergedb/leveldb/MergedbFactory")) {
        assertTrue(jar.getEntry(name + ".class") != null, name);
      }
    }
  }

  @Test
  void itRunsAlone() throws Exception {
    String machine = System.getProperty("os.arch").equals("amd64") ? "x86_64" : System.getProperty("os.arch");
    try (JarFile jar = new JarFile(JAR)) {
      String library = "META-INF/native/linux-" + machine + "/libmergedb_jni.so";
      assumeTrue(jar.getEntry(library) != null, "the jar has no " + library + ": ./dev build java makes it");
    }
    Path theirs = Files.createDirectory(folder.resolve("theirs"));
    Path ours = Files.createDirectory(folder.resolve("ours"));
    String text = Child.run(folder, JAR, "readme", ours.toString());
    assertTrue(text.contains("Tampa rocks"), text);
    assertEquals(Child.real(folder, "readme", theirs.toString()), text);
  }
}
