package dev.mergedb;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Each program of examples/java is compiled as a user does it, runs, and prints what it should. */
class ExamplesTest {
  /** What each prints. */
  private static final Map<String, String> EXPECTED =
      new TreeMap<>(
          Map.of(
              "TenLines", "fruit:apple is green\nfruit:cherry is red\n",
              "CountWords", "dog 1\nend 1\nfox 1\nlazy 1\nquick 1\nthe 3\n",
              "Transfer", "alice 1100, bob 900\n"));

  @TempDir Path folder;

  @Test
  void allOfThem() throws Exception {
    Path sources = Path.of("").toAbsolutePath().resolve("../../examples/java").normalize();
    List<String> names;
    try (var files = Files.list(sources)) {
      names = files.map(file -> file.getFileName().toString()).filter(name -> name.endsWith(".java")).sorted().toList();
    }
    assertEquals(EXPECTED.keySet().stream().map(name -> name + ".java").sorted().toList(), names,
        "each example is expected here");
    for (Map.Entry<String, String> example : EXPECTED.entrySet()) {
      assertEquals(
          example.getValue(), run(sources.resolve(example.getKey() + ".java"), example.getKey()), example.getKey());
    }
  }

  private String run(Path source, String name) throws IOException, InterruptedException {
    Path classes = Files.createDirectories(folder.resolve("classes"));
    String classPath = System.getProperty("java.class.path");
    int result = ToolProvider.getSystemJavaCompiler().run(
        null, null, null, "-Xlint:all", "-Werror", "-cp", classPath, "-d", classes.toString(), source.toString());
    assertEquals(0, result, "javac " + source);
    Path log = folder.resolve(name + ".log");
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    Process child =
        new ProcessBuilder(
                java, "-Xmx128m", "-D" + Library.PATH_PROPERTY + "=" + System.getProperty(Library.PATH_PROPERTY, ""),
                "-cp", classes + ":" + classPath, name, folder.resolve(name).toString())
            .redirectErrorStream(true)
            .redirectOutput(log.toFile())
            .start();
    return Testing.finish(child, log, 0);
  }
}
