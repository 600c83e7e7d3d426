package dev.mergedb.kafka.streams.cluster;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * A JVM of our own class path, which can be asked line by line, and killed. Its standard error goes
 * to a file.
 */
public final class Child implements AutoCloseable {
  private final String name;
  private final Process process;
  private final PrintWriter input;
  private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();
  private final Path log;

  public Child(String name, Path log, List<String> jvmOptions, Class<?> main, String... arguments)
      throws IOException {
    this(name, log, jvmOptions, main.getName(), arguments);
  }

  Child(String name, Path log, List<String> jvmOptions, String main, String... arguments)
      throws IOException {
    this.name = name;
    this.log = log;
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(jvmOptions);
    command.add("-XX:+UseSerialGC");
    String library = System.getProperty("mergedb.library.path");
    if (library != null) command.add("-Dmergedb.library.path=" + library);
    command.add("-cp");
    command.add(
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")));
    command.add(main);
    command.addAll(List.of(arguments));
    process =
        new ProcessBuilder(command)
            .redirectError(ProcessBuilder.Redirect.appendTo(log.toFile()))
            .start();
    input = new PrintWriter(process.outputWriter(StandardCharsets.UTF_8), true);
    Thread reader = new Thread(this::read, "reader of " + name);
    reader.setDaemon(true);
    reader.start();
  }

  private void read() {
    try (BufferedReader output =
        new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      for (String line = output.readLine(); line != null; line = output.readLine()) lines.add(line);
    } catch (IOException e) {
      lines.add("reading " + name + " failed: " + e);
    }
  }

  public boolean isAlive() {
    return process.isAlive();
  }

  public void say(String line) {
    input.println(line);
  }

  /** The lines up to and including the first one that begins with `prefix`. */
  public List<String> readUntil(String prefix, long seconds) throws InterruptedException {
    List<String> result = new ArrayList<>();
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
    while (true) {
      String line = lines.poll(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
      if (line == null) {
        throw new IllegalStateException(
            name
                + ": no line that begins with \""
                + prefix
                + "\" within "
                + seconds
                + " s"
                + (isAlive() ? "" : "; it has ended with code " + process.exitValue())
                + "; its log is "
                + log);
      }
      result.add(line);
      if (line.startsWith(prefix)) return result;
    }
  }

  public int waitFor(long seconds) throws InterruptedException {
    if (process.waitFor(seconds, TimeUnit.SECONDS)) return process.exitValue();
    throw new IllegalStateException(
        name + " did not end within " + seconds + " s; its log is " + log);
  }

  /** kill -9 */
  public void kill() throws InterruptedException {
    process.destroyForcibly();
    process.waitFor();
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
