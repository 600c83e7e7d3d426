package dev.mergedb.infinispan;

import static org.testng.Assert.assertEquals;
import static org.testng.Assert.assertNull;
import static org.testng.Assert.assertTrue;
import static org.testng.Assert.expectThrows;

import dev.mergedb.Database;
import dev.mergedb.EntryIterator;
import dev.mergedb.MergedbException;
import dev.mergedb.Options;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;
import org.infinispan.Cache;
import org.infinispan.commons.dataconversion.MediaType;
import org.infinispan.commons.util.Util;
import org.infinispan.configuration.cache.ConfigurationBuilder;
import org.infinispan.configuration.global.GlobalConfigurationBuilder;
import org.infinispan.manager.DefaultCacheManager;
import org.infinispan.test.AbstractInfinispanTest;
import org.testng.annotations.AfterMethod;
import org.testng.annotations.BeforeMethod;
import org.testng.annotations.Test;

/** A cache with the store, as programs use it: restarts, purging, errors, and the end of the process. */
@Test(groups = "unit", testName = "dev.mergedb.infinispan.StoreCacheTest")
public class StoreCacheTest extends AbstractInfinispanTest {
  private static final int KILLED_AFTER = 500;

  private Path directory;

  @BeforeMethod(alwaysRun = true)
  void makeDirectory() {
    directory = TestDirectories.make("cache");
  }

  @AfterMethod(alwaysRun = true)
  void removeDirectory() {
    Util.recursiveFileRemove(directory.toFile());
  }

  static DefaultCacheManager manager(Path directory, Consumer<MergedbStoreConfigurationBuilder> settings) {
    GlobalConfigurationBuilder global = new GlobalConfigurationBuilder();
    global.globalState().enable().persistentLocation(directory.toString());
    ConfigurationBuilder builder = new ConfigurationBuilder();
    builder.encoding().mediaType(MediaType.APPLICATION_OCTET_STREAM_TYPE).memory().maxCount(10);
    settings.accept(builder.persistence().addStore(MergedbStoreConfigurationBuilder.class).path("stores"));
    DefaultCacheManager manager = new DefaultCacheManager(global.build(), false);
    manager.defineConfiguration("cache", builder.build());
    manager.start();
    return manager;
  }

  private DefaultCacheManager manager() {
    return manager(directory, builder -> {});
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static String text(byte[] bytes) {
    return bytes == null ? null : new String(bytes, StandardCharsets.UTF_8);
  }

  public void aRestartKeepsTheEntriesBelowThePersistentLocation() throws IOException {
    try (DefaultCacheManager manager = manager()) {
      Cache<byte[], byte[]> cache = manager.getCache("cache");
      for (int i = 0; i < 1_000; ++i) cache.put(bytes("key" + i), bytes("value" + i));
      cache.remove(bytes("key7"));
    }
    assertTrue(Files.isDirectory(directory.resolve("stores").resolve("cache").resolve("mergedb")));
    try (DefaultCacheManager manager = manager()) {
      Cache<byte[], byte[]> cache = manager.getCache("cache");
      assertEquals(cache.size(), 999);
      for (int i = 0; i < 1_000; ++i) assertEquals(text(cache.get(bytes("key" + i))), i == 7 ? null : "value" + i);
      cache.clear();
    }
    try (DefaultCacheManager manager = manager()) {
      assertEquals(manager.getCache("cache").size(), 0);
    }
  }

  public void purgeWipesAtTheStart() throws IOException {
    try (DefaultCacheManager manager = manager()) {
      manager.<byte[], byte[]>getCache("cache").put(bytes("key"), bytes("value"));
    }
    try (DefaultCacheManager manager = manager(directory, builder -> builder.purgeOnStartup(true))) {
      assertNull(manager.<byte[], byte[]>getCache("cache").get(bytes("key")));
    }
    try (DefaultCacheManager manager = manager()) {
      assertEquals(manager.getCache("cache").size(), 0);
    }
  }

  public void removingTheCacheRemovesItsEntries() throws IOException {
    try (DefaultCacheManager manager = manager()) {
      Cache<byte[], byte[]> cache = manager.getCache("cache");
      cache.put(bytes("key"), bytes("value"));
      manager.administration().removeCache("cache");
      try (Database database =
          Database.open(directory.resolve("stores/cache/mergedb"), new Options().mode(Options.Mode.MUST_EXIST));
          EntryIterator entries = database.iterator()) {
        assertTrue(!entries.seekToFirst(), "the default keyspace is empty");
      }
    }
  }

  public void anErrorOfTheStoreReachesTheCallerWithItsMessage() throws IOException {
    try (DefaultCacheManager manager = manager()) {
      Cache<byte[], byte[]> cache = manager.getCache("cache");
      byte[] key = new byte[9 << 20];  // the engine takes keys up to 8 MiB
      RuntimeException error = expectThrows(RuntimeException.class, () -> cache.put(key, bytes("value")));
      String messages = messages(error);
      assertTrue(messages.contains("mergedb store of cache 'cache' in " + directory.resolve("stores/cache/mergedb")),
          messages);
      assertTrue(messages.contains("a key has at most 8388608"), messages);
      assertTrue(causes(error, MergedbException.class), messages);
      cache.put(bytes("key"), bytes("value"));
      assertEquals(text(cache.get(bytes("key"))), "value");
    }
  }

  public void aSecondStoreOnOneDirectoryIsAnError() throws IOException {
    try (DefaultCacheManager manager = manager()) {
      manager.getCache("cache");
      MergedbException error =
          expectThrows(MergedbException.class, () -> Database.open(directory.resolve("stores/cache/mergedb")));
      assertEquals(error.code(), MergedbException.Code.BUSY, error.getMessage());
    }
  }

  public void aPathOutsideOfThePersistentLocationIsAnError() {
    RuntimeException error =
        expectThrows(RuntimeException.class, () -> manager(directory, builder -> builder.path("/somewhere/else")));
    assertTrue(messages(error).contains("/somewhere/else"), messages(error));
  }

  /** What a child JVM has acknowledged is there after its kill -9. */
  public void everyAcknowledgedEntrySurvivesKill9() throws Exception {
    List<String> command = List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx192m",
        "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.jboss.logging.provider=jdk",
        "-Dmergedb.library.path=" + System.getProperty("mergedb.library.path"),
        "-Djava.util.logging.config.file=" + System.getProperty("java.util.logging.config.file"),
        "-cp", System.getProperty("java.class.path"), Writer.class.getName(), directory.toString());
    Process child = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    int acknowledged = -1;
    try (BufferedReader lines =
        new BufferedReader(new InputStreamReader(child.getInputStream(), StandardCharsets.UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        if (!line.startsWith("written ")) continue;
        acknowledged = Integer.parseInt(line.substring("written ".length()));
        if (acknowledged == KILLED_AFTER) child.toHandle().destroyForcibly();  // the output stays readable
      }
    } finally {
      child.destroyForcibly().waitFor();
    }
    assertTrue(acknowledged >= KILLED_AFTER, "the child wrote " + acknowledged + " entries and ended by itself");
    try (DefaultCacheManager manager = manager()) {
      Cache<byte[], byte[]> cache = manager.getCache("cache");
      for (int i = 0; i <= acknowledged; ++i) assertEquals(text(cache.get(bytes("key" + i))), "value" + i);
    }
  }

  /** Writes entries until it is killed, and says after each that it is written. */
  public static final class Writer {
    private Writer() {}

    public static void main(String[] args) throws IOException {
      try (DefaultCacheManager manager = manager(Path.of(args[0]), builder -> {})) {
        Cache<byte[], byte[]> cache = manager.getCache("cache");
        for (int i = 0; i < 1_000_000; ++i) {
          cache.put(bytes("key" + i), bytes("value" + i));
          System.out.println("written " + i);
        }
      }
    }
  }

  private static String messages(Throwable error) {
    StringBuilder text = new StringBuilder();
    for (Throwable cause = error; cause != null; cause = cause.getCause()) text.append(cause.getMessage()).append('\n');
    return text.toString();
  }

  private static boolean causes(Throwable error, Class<? extends Throwable> type) {
    for (Throwable cause = error; cause != null; cause = cause.getCause()) {
      if (type.isInstance(cause)) return true;
    }
    return false;
  }
}
