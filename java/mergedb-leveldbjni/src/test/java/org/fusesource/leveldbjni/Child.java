package org.fusesource.leveldbjni;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs {@link Transcript} in this JVM, on mergedb, and in child JVMs with other jars. */
final class Child {
  private Child() {}

  /** The class path of a child: one jar, and the test classes. */
  private static String classPath(String jar) throws Exception {
    Path classes = Path.of(Transcript.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    return jar + File.pathSeparator + classes;
  }

  /** What a command prints. */
  static String run(Path folder, List<String> command) throws Exception {
    Path output = Files.createTempFile(folder, "output", ".txt");
    Path errors = Files.createTempFile(folder, "errors", ".txt");
    Process process = new ProcessBuilder(command).redirectOutput(output.toFile()).redirectError(errors.toFile()).start();
    try {
      assertTrue(process.waitFor(5, TimeUnit.MINUTES), () -> command + " hangs after\n" + read(output) + read(errors));
    } finally {
      process.destroyForcibly();
    }
    assertEquals(0, process.exitValue(), () -> command + "\n" + read(output) + read(errors));
    return read(output);
  }

  private static String read(Path path) {
    try {
      return Files.readString(path);
    } catch (IOException e) {
      return e.toString();
    }
  }

  static String run(Path folder, String jar, String... arguments) throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dfile.encoding=UTF-8"));
    command.addAll(List.of("-Djava.io.tmpdir=" + folder, "-cp", classPath(jar), Transcript.class.getName()));
    command.addAll(List.of(arguments));
    return run(folder, command);
  }

  /** On the real leveldbjni 1.8, which has a library for this machine or the test is skipped. */
  static String real(Path folder, String... arguments) throws Exception {
    String machine = System.getProperty("os.name") + " " + System.getProperty("os.arch");
    assumeTrue(machine.equals("Linux amd64"), "leveldbjni 1.8 has no native library for " + machine);
    return run(folder, System.getProperty("mergedb.leveldbjni"), arguments);
  }

  private interface Body {
    void run(Transcript transcript) throws Exception;
  }

  private static String ours(Path folder, Body body) throws Exception {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    PrintStream out = new PrintStream(bytes, false, StandardCharsets.UTF_8);
    body.run(new Transcript(folder.toFile(), out));
    out.flush();
    return bytes.toString(StandardCharsets.UTF_8);
  }

  static String readme(Path folder) throws Exception {
    return ours(folder, Transcript::readme);
  }

  static String make(Path folder) throws Exception {
    return ours(folder, Transcript::make);
  }

  static String show(Path folder) throws Exception {
    return ours(folder, Transcript::show);
  }

  static String random(Path folder, long seed) throws Exception {
    return ours(folder, transcript -> transcript.random(seed));
  }
}
