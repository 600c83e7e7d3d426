package org.fusesource.leveldbjni;

import static org.fusesource.leveldbjni.JniDBFactory.asString;
import static org.fusesource.leveldbjni.JniDBFactory.bytes;
import static org.fusesource.leveldbjni.JniDBFactory.factory;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.fusesource.leveldbjni.internal.NativeDB;
import org.iq80.leveldb.DB;
import org.iq80.leveldb.Options;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** mergedb under leveldbjni's names beside the real leveldbjni 1.8. */
class LeveldbjniTest {
  @TempDir Path folder;
  private Path ours;
  private Path theirs;

  @BeforeEach
  void folders() throws Exception {
    ours = Files.createDirectory(folder.resolve("ours"));
    theirs = Files.createDirectory(folder.resolve("theirs"));
  }

  @Test
  void readme() throws Exception {
    String expected = Child.real(folder, "readme", theirs.toString());
    assertTrue(expected.lines().count() > 40, expected);
    assertEquals(expected, Child.readme(ours));
  }

  @Test
  void randomCalls() throws Exception {
    String given = System.getProperty("mergedb.seed", "");
    long seed = given.isEmpty() ? System.nanoTime() : Long.parseLong(given);
    System.out.println("randomCalls: -Dmergedb.seed=" + seed);
    String expected = Child.real(folder, "random", theirs.toString(), Long.toString(seed));
    List<String> theirLines = expected.lines().toList();
    List<String> ourLines = Child.random(ours, seed).lines().toList();
    assertTrue(theirLines.size() > 500, expected);
    assertEquals(theirLines.size(), ourLines.size());
    for (int i = 0; i < ourLines.size(); ++i) {
      assertEquals(theirLines.get(i), ourLines.get(i), "-Dmergedb.seed=" + seed + ", line " + i);
    }
  }

  @Test
  void aDirectoryOfLeveldbjniOpensInPlaceAndGoesBack() throws Exception {
    Child.real(folder, "make", theirs.toString());
    String expected = Child.real(folder, "show", theirs.toString());
    assertTrue(expected.contains("plain ") && expected.contains("ordered 1000 entries"), expected);
    assertEquals(expected, Child.show(theirs));
    assertEquals(expected, Child.show(theirs), "opened again");
    try (Stream<Path> files = Files.list(theirs.resolve("plain"))) {
      assertTrue(files.noneMatch(each -> each.toString().endsWith(".ldb") || each.toString().endsWith(".sst")));
    }
    File plain = theirs.resolve("plain").toFile();
    try (DB db = factory.open(plain, new Options())) {
      assertEquals("of the empty key", asString(db.get(new byte[0])));
      db.put(bytes("written by mergedb"), bytes("yes"));
      db.delete(bytes("large"));
    }
    String changed = Child.show(theirs).lines().findFirst().orElseThrow();

    String cli = System.getProperty("mergedb.cli");
    assumeTrue(cli != null && Files.isExecutable(Path.of(cli)), "no " + cli + ": the way back is not tested");
    Path back = Files.createDirectory(folder.resolve("back"));
    Child.run(folder, List.of(cli, "export-leveldb", plain.toString(), back.resolve("plain").toString()));
    renameTables(back.resolve("plain"));
    assertEquals(changed, Child.real(folder, "show", back.toString()).strip());
  }

  /** The LevelDB of leveldbjni 1.8 knows tables as .sst alone, LevelDB 1.14 and later as .ldb and .sst. */
  private static void renameTables(Path directory) throws Exception {
    List<Path> tables;
    try (Stream<Path> files = Files.list(directory)) {
      tables = files.filter(each -> each.toString().endsWith(".ldb")).toList();
    }
    assertFalse(tables.isEmpty());
    for (Path each : tables) {
      Files.move(each, each.resolveSibling(each.getFileName().toString().replace(".ldb", ".sst")));
    }
  }

  @Test
  void loggersHearOfTheConversion() throws Exception {
    Child.real(folder, "make", theirs.toString());
    List<String> lines = new CopyOnWriteArrayList<>();
    factory.open(theirs.resolve("plain").toFile(), new Options().logger(lines::add)).close();
    assertTrue(lines.stream().anyMatch(line -> line.contains("LevelDB")), lines.toString());
  }

  @Test
  void aDirectoryOfLeveldbjniIsRepairedAndDestroyed() throws Exception {
    Child.real(folder, "make", theirs.toString());
    String expected = Child.real(folder, "show", theirs.toString());
    File plain = theirs.resolve("plain").toFile();
    factory.repair(plain, new Options());
    assertEquals(expected, Child.show(theirs));
    Path again = Files.createDirectory(folder.resolve("again"));
    Child.real(folder, "make", again.toString());
    factory.destroy(again.resolve("plain").toFile(), new Options());
    assertFalse(Files.exists(again.resolve("plain")));
  }

  @Test
  void aDamagedDirectoryOfLeveldbjniIsRefusedAndLeftAsItIs() throws Exception {
    Child.real(folder, "make", theirs.toString());
    Path plain = theirs.resolve("plain");
    Path table;
    try (Stream<Path> files = Files.list(plain)) {
      table = files.filter(each -> each.toString().matches(".*\\.(ldb|sst)")).sorted().findFirst().orElseThrow();
    }
    byte[] bytes = Files.readAllBytes(table);
    bytes[100] ^= 1;
    Files.write(table, bytes);
    NativeDB.DBException open = assertThrows(NativeDB.DBException.class, () -> factory.open(plain.toFile(), new Options()));
    assertTrue(open.getMessage().startsWith("Corruption: "), open.getMessage());
    NativeDB.DBException repair = assertThrows(NativeDB.DBException.class, () -> factory.repair(plain.toFile(), new Options()));
    assertTrue(repair.getMessage().contains("mergedb convert " + plain.toFile().getCanonicalPath() + " --salvage"), repair.getMessage());
    assertTrue(Files.exists(table));
  }

  @Test
  void theExceptionThatProgramsCatch() throws Exception {
    File file = ours.resolve("db").toFile();
    NativeDB.DBException e =
        assertThrows(NativeDB.DBException.class, () -> factory.open(file, new Options().createIfMissing(false)));
    assertFalse(e.isNotFound());
    assertTrue(e.getMessage().contains(" does not exist "), e.getMessage());
    try (DB db = factory.open(file, new Options())) {
      db.put(bytes("a"), bytes("1"));
      assertThrows(NativeDB.DBException.class, () -> factory.open(file, new Options()));
      assertThrows(NativeDB.DBException.class, () -> factory.destroy(file, new Options()));
      assertThrows(NativeDB.DBException.class, () -> factory.repair(file, new Options()));
    }
    assertTrue(JniDBFactory.VERSION.matches("\\d+\\.\\d+\\.\\d+"));
    assertTrue(factory.toString().contains(JniDBFactory.VERSION));
  }
}
