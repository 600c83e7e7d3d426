package dev.mergedb;

import static dev.mergedb.Testing.bytes;
import static dev.mergedb.Testing.text;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/**
 * Goal: a call that gets a handle of another database throws INVALID_ARGUMENT and changes neither database. Method:
 * random calls on two databases that have keyspaces of the same numbers, with the handles of both mixed; a model says
 * what each keyspace holds.
 */
class ForeignHandlesTest {
  private static final String[] NAMES = {"a", "b", "c"};

  @TempDir Path folder;

  /** A database, its keyspaces, what they hold, and a snapshot with what they held then. */
  private static final class One {
    final Database db;
    final List<Keyspace> keyspaces = new ArrayList<>();
    final List<Map<String, String>> contents = new ArrayList<>();
    Snapshot snapshot;
    List<Map<String, String>> then;

    One(Path path) {
      db = Database.open(path, Testing.small());
      for (String name : NAMES) {
        keyspaces.add(db.createKeyspace(name));
        contents.add(new TreeMap<>());
      }
      take();
    }

    void take() {
      if (snapshot != null) {
        snapshot.close();
      }
      snapshot = db.snapshot();
      then = new ArrayList<>();
      contents.forEach(content -> then.add(new TreeMap<>(content)));
    }

    void close() {
      snapshot.close();
      db.close();
    }
  }

  private static void check(boolean isForeign, Executable call) throws Throwable {
    if (!isForeign) {
      call.execute();
      return;
    }
    MergedbException e = Testing.fails(MergedbException.Code.INVALID_ARGUMENT, call);
    assertTrue(e.getMessage().contains("of another database"), e::toString);
  }

  private static Map<String, String> entries(Database db, ReadOptions read) {
    Map<String, String> result = new TreeMap<>();
    try (EntryIterator it = db.iterator(IteratorOptions.DEFAULT.read(read))) {
      for (boolean there = it.seekToFirst(); there; there = it.next()) {
        result.put(text(it.key()), text(it.value()));
      }
    }
    return result;
  }

  @Test
  void handlesOfAnotherDatabaseAreRefused() throws Throwable {
    long seed = Testing.seed();
    Random random = new Random(seed);
    One[] both = {new One(folder.resolve("x")), new One(folder.resolve("y"))};
    assertEquals(both[0].keyspaces.get(0).id(), both[1].keyspaces.get(0).id(), "the test needs equal numbers");
    assertNotEquals(both[0].keyspaces.get(0), both[1].keyspaces.get(0));
    for (int step = 0; step < 1500; ++step) {
      One on = both[random.nextInt(2)];
      One of = both[random.nextInt(2)];
      One other = of == both[0] ? both[1] : both[0];
      boolean isForeign = on != of;
      int n = random.nextInt(NAMES.length);
      Keyspace keyspace = of.keyspaces.get(n);
      Keyspace foreign = other.keyspaces.get(random.nextInt(NAMES.length));
      String k = "k" + random.nextInt(20);
      String v = "v" + step;
      byte[] key = bytes(k);
      byte[] value = bytes(v);
      Map<String, String> content = on.contents.get(n);
      WriteOptions write = WriteOptions.DEFAULT.in(keyspace);
      ReadOptions read = ReadOptions.DEFAULT.in(keyspace);
      switch (random.nextInt(7)) {
        case 0 -> {
          check(isForeign, () -> on.db.put(write, key, value));
          check(isForeign, () -> on.db.put(write, ByteBuffer.wrap(key), ByteBuffer.wrap(value)));
          check(isForeign, () -> on.db.delete(write, bytes("k0")));
          check(isForeign, () -> on.db.delete(write, ByteBuffer.wrap(bytes("k0"))));
          check(isForeign, () -> on.db.deleteRange(write, bytes("k1"), bytes("k1")));
          check(isForeign, () -> on.db.deletePrefix(write, bytes("none")));
          check(isForeign, () -> on.db.merge(write, bytes("n"), Merge.addU64(0)));
          check(isForeign, () -> on.db.addU64(write, bytes("n"), 0));
          check(isForeign, () -> on.db.delete(write, bytes("n")));
          check(isForeign, () -> on.db.get(read, key));
          check(isForeign, () -> on.db.get(read, ByteBuffer.wrap(key), ByteBuffer.allocate(8)));
          check(isForeign, () -> on.db.multiGet(read, List.of(key)));
          check(isForeign, () -> on.db.iterator(IteratorOptions.DEFAULT.read(read)).close());
          if (!isForeign) {
            content.put(k, v);
            content.remove("k0");
          }
        }
        case 1 -> {
          try (WriteBatch batch = new WriteBatch(); WriteBatch source = new WriteBatch()) {
            batch.put(key, value);
            batch.put(keyspace, key, value);
            batch.delete(keyspace, bytes("k0"));
            check(true, () -> batch.put(foreign, key, value));
            check(true, () -> batch.delete(foreign, key));
            check(true, () -> batch.deleteRange(foreign, key, key));
            check(true, () -> batch.merge(foreign, key, Merge.addU64(1)));
            source.put(foreign, key, value);
            check(true, () -> batch.append(source));
            source.clear();
            source.put(keyspace, bytes("k1"), value);
            batch.append(source);
            check(isForeign, () -> on.db.write(batch));
            if (!isForeign) {
              content.put(k, v);
              content.remove("k0");
              content.put("k1", v);
            }
            batch.clear();
            batch.append(source); // of its database, too
            check(true, () -> batch.put(foreign, key, value));
          }
          on.db.delete(key); // of the default keyspace
        }
        case 2 -> {
          try (Transaction t = on.db.begin(TransactionOptions.DEFAULT.kind(TransactionOptions.Kind.OPTIMISTIC))) {
            check(isForeign, () -> t.put(keyspace, key, value));
            check(isForeign, () -> t.get(keyspace, key));
            check(isForeign, () -> t.delete(keyspace, bytes("k0")));
            check(isForeign, () -> t.deleteRange(keyspace, key, key));
            check(isForeign, () -> t.merge(keyspace, bytes("n"), Merge.addU64(1)));
            check(isForeign, () -> t.addU64(keyspace, bytes("n"), 1));
            check(isForeign, () -> t.delete(keyspace, bytes("n")));
            check(isForeign, () -> t.cursor(keyspace).close());
            check(true, () -> t.dropKeyspace(isForeign ? keyspace : foreign));
            check(true, () -> t.clearKeyspace(isForeign ? keyspace : foreign));
            t.commit();
          }
          if (!isForeign) {
            content.put(k, v);
            content.remove("k0");
          }
        }
        case 3 -> {
          check(isForeign, () -> on.db.compactKeyspace(keyspace, bytes("x"), bytes("y")));
          check(isForeign, () -> on.db.clearKeyspace(keyspace));
          check(isForeign, () -> on.db.dropKeyspace(keyspace));
          if (!isForeign) {
            assertNull(on.db.findKeyspace(NAMES[n]));
            on.keyspaces.set(n, on.db.createKeyspace(NAMES[n]));
            assertEquals(on.keyspaces.get(n), on.db.findKeyspace(NAMES[n]));
            assertEquals(on.keyspaces.get(n), on.db.keyspaces().get(NAMES[n]));
            assertEquals(on.keyspaces.get(n).hashCode(), on.db.findKeyspace(NAMES[n]).hashCode());
            content.clear();
            on.take();
          }
        }
        case 4 -> {
          ReadOptions old = ReadOptions.DEFAULT.in(on.keyspaces.get(n)).withSnapshot(of.snapshot);
          check(isForeign, () -> assertEquals(on.then.get(n).get(k), text(on.db.get(old, key))));
          check(isForeign, () -> assertEquals(on.then.get(n), entries(on.db, old)));
          check(isForeign, () -> on.db.begin(
              TransactionOptions.DEFAULT.kind(TransactionOptions.Kind.READ_ONLY).snapshot(of.snapshot)).close());
        }
        case 5 -> on.take();
        default -> {
          of.db.put(write, key, value); // of its own database, whichever that is
          of.contents.get(n).put(k, v);
        }
      }
      int shown = random.nextInt(NAMES.length);
      for (One one : both) {
        Map<String, String> found = entries(one.db, ReadOptions.DEFAULT.in(one.keyspaces.get(shown)));
        assertEquals(one.contents.get(shown), found, "seed " + seed + ", step " + step);
      }
    }
    for (One one : both) {
      one.close();
    }
  }

  @Test
  void aKeyspaceStaysThatOfItsDirectory() throws IOException {
    Path path = folder.resolve("db");
    Path moved = folder.resolve("moved");
    Keyspace users;
    try (Database db = Database.open(path, Testing.small())) {
      users = db.createKeyspace("users");
    }
    Files.move(path, moved);
    try (Database db = Database.open(moved, Testing.small());
        Database other = Database.open(path, Testing.small())) {
      assertEquals(users, db.findKeyspace("users"));
      db.put(WriteOptions.DEFAULT.in(users), bytes("a"), bytes("1"));
      assertNotEquals(users, other.createKeyspace("users"));
      Testing.fails(MergedbException.Code.INVALID_ARGUMENT, () -> other.dropKeyspace(users));
      other.put(WriteOptions.DEFAULT.in(Keyspace.DEFAULT), bytes("a"), bytes("2")); // of every database
    }
  }

  @Test
  void aConflictNamesTheKeyspaceThatTheProgramKnows() {
    try (Database db = Database.open(folder.resolve("db"), Testing.small())) {
      Keyspace users = db.createKeyspace("users");
      for (Keyspace keyspace : List.of(users, Keyspace.DEFAULT)) {
        try (Transaction t = db.begin(TransactionOptions.DEFAULT.kind(TransactionOptions.Kind.OPTIMISTIC))) {
          t.get(keyspace, bytes("k"));
          t.put(bytes("other"), bytes("1"));
          db.put(WriteOptions.DEFAULT.in(keyspace), bytes("k"), bytes("2"));
          Testing.fails(MergedbException.Code.CONFLICT, t::commit);
          assertEquals(keyspace, t.conflict().keyspace());
        }
      }
    }
  }
}
