package org.fusesource.leveldbjni;

import static org.fusesource.leveldbjni.JniDBFactory.asString;
import static org.fusesource.leveldbjni.JniDBFactory.bytes;
import static org.fusesource.leveldbjni.JniDBFactory.factory;

import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.iq80.leveldb.CompressionType;
import org.iq80.leveldb.DB;
import org.iq80.leveldb.DBComparator;
import org.iq80.leveldb.DBIterator;
import org.iq80.leveldb.Options;
import org.iq80.leveldb.Range;
import org.iq80.leveldb.ReadOptions;
import org.iq80.leveldb.Snapshot;
import org.iq80.leveldb.WriteBatch;
import org.iq80.leveldb.WriteOptions;

/**
 * A program of leveldbjni: it walks through the interface and prints what it sees. The tests run it on mergedb and on the real leveldbjni,
 * and compare the texts. It asks nothing that leveldbjni leaves undefined, such as a use after close.
 */
public final class Transcript {
  private final PrintStream out;
  private final File folder;

  Transcript(File folder, PrintStream out) {
    this.folder = folder;
    this.out = out;
  }

  /** Arguments: readme|make|show|random FOLDER [SEED]. */
  public static void main(String[] arguments) throws Exception {
    Transcript transcript = new Transcript(new File(arguments[1]), System.out);
    switch (arguments[0]) {
      case "readme" -> transcript.readme();
      case "make" -> transcript.make();
      case "show" -> transcript.show();
      case "random" -> transcript.random(Long.parseLong(arguments[2]));
      default -> throw new IllegalArgumentException(arguments[0]);
    }
    System.out.flush();
    Runtime.getRuntime().halt(0); // the exit of a JVM with leveldbjni 1.8 hangs once compactions have been suspended
  }

  private interface Call {
    void run() throws Exception;
  }

  /** Prints what a call throws, by the name of its class and, for checked ones, the message. Of IO errors the words differ. */
  private void thrown(String name, Call call) {
    String text = "nothing";
    try {
      call.run();
    } catch (IOException e) {
      String message = e.getMessage().replace(folder.getAbsolutePath(), "FOLDER");
      text = e.getClass().getName() + " " + (message.startsWith("IO error: ") ? "IO error" : message);
    } catch (Exception e) {
      text = e.getClass().getName();
    }
    out.println(name + " throws " + text);
  }

  /** Zero bytes at the end are not printed. */
  private static byte[] padded(String text, int more) {
    return Arrays.copyOf(bytes(text), text.length() + more);
  }

  private static String text(Map.Entry<byte[], byte[]> entry) {
    return asString(entry.getKey()) + "=" + asString(entry.getValue()).trim();
  }

  private void print(String title, DB db, ReadOptions options) throws IOException {
    out.print(title + ":");
    try (DBIterator iterator = db.iterator(options)) {
      for (iterator.seekToFirst(); iterator.hasNext(); iterator.next()) {
        out.print(" " + asString(iterator.peekNext().getKey()) + "=" + asString(iterator.peekNext().getValue()));
      }
    }
    out.println();
  }

  /** Every part of leveldbjni's README, and the interface around it. */
  void readme() throws Exception {
    File example = new File(folder, "example");
    thrown("open of none", () -> factory.open(example, new Options().createIfMissing(false)));
    DB db = factory.open(example, new Options().createIfMissing(true));
    thrown("open of one that is open", () -> factory.open(example, new Options()));
    thrown("open without a parent", () -> factory.open(new File(folder, "missing/deep"), new Options()));
    try {
      db.put(bytes("Tampa"), bytes("rocks"));
      out.println("Tampa " + asString(db.get(bytes("Tampa"))));
      db.delete(bytes("Tampa"));
      out.println("Tampa " + asString(db.get(bytes("Tampa"))));
      batches(db);
      snapshots(db);
      iterators(db);
      arguments(db);
      sizesAndProperties(db);
      pool(db);
    } finally {
      db.close();
      db.close();
    }
    reopening(example);
    order(new File(folder, "ordered"));
  }

  private void batches(DB db) throws IOException {
    try (WriteBatch batch = db.createWriteBatch()) {
      batch.delete(bytes("Denver")).put(bytes("Tampa"), bytes("green"));
      batch.put(bytes("London"), bytes("red"));
      db.write(batch);
      batch.put(bytes("London"), bytes("blue")).put(bytes("Paris"), bytes(""));
      out.println("write returns " + db.write(batch, new WriteOptions().sync(true)));
    }
    out.println("put returns " + db.put(bytes("Oslo"), bytes("white"), new WriteOptions().sync(true)));
    out.println("delete returns " + db.delete(bytes("Rome"), new WriteOptions()));
    print("after batches", db, new ReadOptions().fillCache(false).verifyChecksums(true));
  }

  private void snapshots(DB db) throws IOException {
    ReadOptions options = new ReadOptions();
    options.snapshot(db.getSnapshot());
    try {
      db.put(bytes("Tampa"), bytes("black"));
      db.delete(bytes("Oslo"));
      db.put(bytes("Zagreb"), bytes("new"));
      print("snapshot", db, options);
      out.println("Oslo " + asString(db.get(bytes("Oslo"), options)) + ", now " + asString(db.get(bytes("Oslo"))));
    } finally {
      options.snapshot().close();
    }
    print("now", db, new ReadOptions());
  }

  private void iterators(DB db) throws IOException {
    try (DBIterator it = db.iterator()) {
      it.seekToLast();
      out.println("last " + text(it.peekNext()) + " " + it.hasPrev() + " " + text(it.peekPrev()) + " " + text(it.prev()));
      out.println("then " + text(it.next()) + " " + text(it.next()) + " " + it.hasNext() + " " + it.hasPrev());
      thrown("next at the end", it::next);
      thrown("peekNext at the end", it::peekNext);
      it.seekToFirst();
      out.println("first " + it.hasPrev() + " " + text(it.peekNext()));
      thrown("prev at the first", it::prev);
      thrown("peekPrev at the first", it::peekPrev);
      out.println("still " + text(it.peekNext()));
      it.seek(bytes("M"));
      out.println("M " + text(it.next()));
      it.seek(bytes("Tampa"));
      out.println("Tampa " + text(it.prev()) + " " + text(it.prev()) + " " + it.hasPrev());
      it.seek(bytes("zz"));
      out.println("zz " + it.hasNext() + " " + it.hasPrev());
      thrown("remove", it::remove);
      thrown("seek null", () -> it.seek(null));
    }
  }

  private void arguments(DB db) {
    thrown("put null", () -> db.put(null, bytes("")));
    thrown("put null value", () -> db.put(bytes(""), null));
    thrown("get null", () -> db.get(null));
    thrown("delete null", () -> db.delete(null));
    thrown("options null", () -> db.get(bytes(""), null));
    thrown("property null", () -> db.getProperty(null));
    thrown("batch null", () -> db.createWriteBatch().put(bytes(""), null));
    out.println("bytes " + bytes(null) + " " + Arrays.toString(bytes("\u00e4\u20ac")) + " " + asString(null) + " " + asString(bytes("\u00e4")));
  }

  private void sizesAndProperties(DB db) {
    long[] sizes = db.getApproximateSizes(new Range(bytes("a"), bytes("k")), new Range(bytes("k"), bytes("z")));
    out.println("sizes " + sizes.length + " " + db.getApproximateSizes().length);
    db.compactRange(bytes("A"), bytes("Z"));
    db.compactRange(null, null);
    String stats = db.getProperty("leveldb.stats");
    out.print(stats.substring(0, stats.indexOf("-\n") + 2));
    String tables = db.getProperty("leveldb.sstables");
    out.println(tables.replaceAll("(?m)^ .*\n", ""));
    int files = 0;
    for (int level = 0; level < 7; ++level) {
      files += Integer.parseInt(db.getProperty("leveldb.num-files-at-level" + level));
    }
    out.println("files " + files + " " + db.getProperty("leveldb.num-files-at-level7") + " " + db.getProperty("unknown"));
  }

  private void pool(DB db) throws Exception {
    JniDBFactory.pushMemoryPool(1024 * 512);
    try {
      db.put(bytes("pool"), bytes("1"));
      out.println("pool " + asString(db.get(bytes("pool"))));
    } finally {
      JniDBFactory.popMemoryPool();
    }
    db.suspendCompactions();
    db.put(bytes("pool"), bytes("2"));
    db.resumeCompactions();
    out.println("pool " + asString(db.get(bytes("pool"))));
  }

  private void reopening(File example) throws Exception {
    thrown("open of one that must be new", () -> factory.open(example, new Options().errorIfExists(true)));
    thrown("open of neither", () -> factory.open(example, new Options().errorIfExists(true).createIfMissing(false)));
    thrown("open by another order", () -> factory.open(example, new Options().comparator(new Simple("other"))));
    thrown("use after close", () -> factory.open(example, new Options()).close());
    DB closed = factory.open(example, new Options().compressionType(CompressionType.NONE).cacheSize(100 * 1048576));
    print("reopened", closed, new ReadOptions());
    closed.close();
    thrown("get of a closed one", () -> closed.get(bytes("a")));
    thrown("put of a closed one", () -> closed.put(bytes("a"), bytes("b")));
    thrown("iterator of a closed one", closed::iterator);
    thrown("property of a closed one", () -> closed.getProperty("leveldb.stats"));
    thrown("snapshot of a closed one", closed::getSnapshot);
    factory.repair(example, new Options());
    try (DB db = factory.open(example, new Options())) {
      print("repaired", db, new ReadOptions());
    }
    File gone = new File(folder, "gone");
    factory.open(gone, new Options()).close();
    factory.destroy(gone, new Options());
    out.println("destroyed " + !gone.exists());
    factory.destroy(gone, new Options());
  }

  /** README: a comparator of the program's own. */
  private static final class Simple implements DBComparator {
    private final String name;

    Simple(String name) {
      this.name = name;
    }

    @Override
    public int compare(byte[] key1, byte[] key2) {
      return new StringBuilder(asString(key1)).reverse().compareTo(new StringBuilder(asString(key2)).reverse());
    }

    @Override
    public String name() {
      return name;
    }

    @Override
    public byte[] findShortestSeparator(byte[] start, byte[] limit) {
      return start;
    }

    @Override
    public byte[] findShortSuccessor(byte[] key) {
      return key;
    }
  }

  private void order(File ordered) throws Exception {
    Options options = new Options().comparator(new Simple("simple")).logger(message -> {});
    try (DB db = factory.open(ordered, options)) {
      for (String key : List.of("az", "by", "cx", "dw")) {
        db.put(bytes(key), bytes(key));
      }
      print("reversed order", db, new ReadOptions());
      db.compactRange(null, null);
      try (DBIterator it = db.iterator()) {
        it.seek(bytes("ay"));
        out.println("seek " + text(it.next()));
      }
    }
    thrown("open by bytes", () -> factory.open(ordered, new Options()));
  }

  /** Two databases to be opened by the other library: one of many entries, in tables and the log, and one with a comparator. */
  void make() throws Exception {
    try (DB db = factory.open(new File(folder, "plain"), new Options().writeBufferSize(128 << 10))) {
      Random random = new Random(7);
      for (int i = 0; i < 20_000; ++i) {
        byte[] value = new byte[random.nextInt(200)];
        random.nextBytes(value);
        db.put(bytes(String.format("key%05d", random.nextInt(8000))), value);
        if (i % 7 == 0) {
          db.delete(bytes(String.format("key%05d", random.nextInt(8000))));
        }
      }
      byte[] large = new byte[300_000];
      random.nextBytes(large);
      db.put(bytes("large"), large);
      db.put(new byte[0], bytes("of the empty key"));
      db.put(new byte[] {(byte) 0xff, 0, 1}, new byte[0]);
    }
    try (DB db = factory.open(new File(folder, "ordered"), new Options().comparator(new Simple("simple")))) {
      for (int i = 0; i < 1000; ++i) {
        db.put(bytes("k" + i), bytes("v" + i));
      }
    }
  }

  /** How many entries, and a checksum over them in order. */
  private static String sum(DB db) throws IOException {
    long count = 0;
    long hash = 1125899906842597L;
    try (DBIterator it = db.iterator()) {
      for (it.seekToFirst(); it.hasNext(); ) {
        Map.Entry<byte[], byte[]> entry = it.next();
        hash = 31 * (31 * hash + Arrays.hashCode(entry.getKey())) + Arrays.hashCode(entry.getValue());
        ++count;
      }
    }
    return count + " entries, checksum " + Long.toHexString(hash);
  }

  void show() throws Exception {
    for (String name : List.of("plain", "ordered")) {
      Options options = new Options().createIfMissing(false);
      if (name.equals("ordered")) {
        options.comparator(new Simple("simple"));
      }
      File file = new File(folder, name);
      if (file.exists()) {
        try (DB db = factory.open(file, options)) {
          out.println(name + " " + sum(db));
        }
      }
    }
  }

  /** Random calls with reopens; the position of iterators is compared at every step. */
  void random(long seed) throws Exception {
    File file = new File(folder, "random");
    Random random = new Random(seed);
    Options options = new Options().writeBufferSize(64 << 10);
    DB db = factory.open(file, options);
    List<Snapshot> snapshots = new ArrayList<>();
    for (int i = 0; i < 4000; ++i) {
      byte[] key = bytes("k" + random.nextInt(300));
      switch (random.nextInt(12)) {
        case 0, 1, 2, 3 -> db.put(key, padded("v" + i, random.nextInt(300)), new WriteOptions());
        case 4 -> db.delete(key);
        case 5 -> {
          try (WriteBatch batch = db.createWriteBatch()) {
            for (int n = random.nextInt(6); n > 0; --n) {
              byte[] each = bytes("k" + random.nextInt(300));
              if (random.nextBoolean()) {
                batch.put(each, bytes("b" + i + "." + n));
              } else {
                batch.delete(each);
              }
            }
            db.write(batch);
          }
        }
        case 6 -> out.println(i + " " + asString(key) + " " + Arrays.hashCode(db.get(key)));
        case 7 -> snapshots.add(db.getSnapshot());
        case 8 -> {
          if (!snapshots.isEmpty()) {
            Snapshot snapshot = snapshots.remove(random.nextInt(snapshots.size()));
            ReadOptions old = new ReadOptions().snapshot(snapshot);
            out.println(i + " old " + asString(key) + " " + Arrays.hashCode(db.get(key, old)));
            walk(i, db.iterator(old), random);
            snapshot.close();
          }
        }
        case 9, 10 -> walk(i, db.iterator(), random);
        default -> {
          if (random.nextInt(60) == 0) {
            for (Snapshot each : snapshots) {
              each.close();
            }
            snapshots.clear();
            db.close();
            db = factory.open(file, options);
          } else if (random.nextInt(20) == 0) {
            db.compactRange(random.nextBoolean() ? null : key, null);
          }
        }
      }
    }
    for (Snapshot each : snapshots) {
      each.close();
    }
    out.println(sum(db));
    db.close();
  }

  /**
   * Some steps forwards from random keys. WHY not backwards: in the LevelDB of leveldbjni 1.8 a next after a prev may return an entry twice
   * (LevelDB's issue 200), and leveldbjni's prev is made of both. MergedbFactory's tests compare such walks with a TreeMap.
   */
  private void walk(int step, DBIterator it, Random random) throws IOException {
    StringBuilder line = new StringBuilder().append(step).append(" walk");
    for (int rounds = random.nextInt(3); rounds >= 0; --rounds) {
      switch (random.nextInt(6)) {
        case 0 -> it.seekToFirst();
        case 1 -> {
          it.seekToLast();
          line.append(it.hasNext() ? " last " + asString(it.peekNext().getKey()) : " none");
          it.seekToFirst();
        }
        default -> it.seek(bytes("k" + random.nextInt(300)));
      }
      for (int n = random.nextInt(12); n > 0 && it.hasNext(); --n) {
        line.append(" @").append(asString(it.peekNext().getKey())).append(" >").append(text(it.next()));
      }
      line.append(it.hasNext() ? " ..." : " end");
    }
    it.close();
    out.println(line);
  }
}
