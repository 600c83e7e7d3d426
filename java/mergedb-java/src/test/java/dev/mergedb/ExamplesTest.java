package dev.mergedb;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Each program of examples/java is compiled as a user does it, runs, and prints what it should. */
class ExamplesTest {
  /** What each prints. The other ones print the texts of examples/expected, as the examples in C, C++ and Python do. */
  private static final Map<String, String> EXPECTED =
      Map.of(
          "TenLines", "fruit:apple is green\nfruit:cherry is red\n",
          "Transfer", "alice 1100, bob 900\n");

  private final Path examples = Path.of("").toAbsolutePath().resolve("../../examples").normalize();

  @TempDir Path folder;

  @Test
  void allOfThem() throws Exception {
    Map<String, String> expected = new TreeMap<>(EXPECTED);
    for (Path text : list(examples.resolve("expected"), ".txt")) {
      expected.put(className(text.getFileName().toString().replace(".txt", "")), Files.readString(text));
    }
    assertEquals(
        List.copyOf(expected.keySet()),
        list(examples.resolve("java"), ".java").stream()
            .map(file -> file.getFileName().toString().replace(".java", ""))
            .toList(),
        "each example is expected here");
    for (Map.Entry<String, String> example : expected.entrySet()) {
      Path source = examples.resolve("java").resolve(example.getKey() + ".java");
      assertEquals(example.getValue(), run(source, example.getKey()), example.getKey());
    }
  }

  @Test
  void wordCounterCountsAFileOnce() throws Exception {
    Path source = examples.resolve("java/WordCounter.java");
    String first = run(source, "WordCounter");
    assertEquals(first, run(source, "WordCounter"));
  }

  /** word_counter: WordCounter. */
  private static String className(String name) {
    return Stream.of(name.split("_"))
        .map(word -> Character.toUpperCase(word.charAt(0)) + word.substring(1))
        .collect(Collectors.joining());
  }

  private static List<Path> list(Path folder, String ending) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.filter(file -> file.toString().endsWith(ending)).sorted().toList();
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
    List<String> command =
        new ArrayList<>(
            List.of(
                java, "-Xmx128m", "-D" + Library.PATH_PROPERTY + "=" + System.getProperty(Library.PATH_PROPERTY, ""),
                "-cp", classes + ":" + classPath, name, folder.resolve(name).toString()));
    if (name.equals("WordCounter")) {
      list(examples.resolve("text"), ".txt").forEach(text -> command.add(text.toString()));
    }
    Process child =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(log.toFile())
            .start();
    return Testing.finish(child, log, 0);
  }
}
