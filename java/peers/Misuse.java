import java.io.File;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;

/**
 * One misuse of one binding. scripts/java_misuse.py runs each in a JVM of its own and prints what became of it;
 * docs/api/java.md has the table. Usage: java -cp JARS Misuse.java BINDING MISUSE DIRECTORY; without arguments it
 * lists the misuses.
 */
public final class Misuse {
  private static final byte[] K = {'k'};
  private static final byte[] V = {'v'};
  private static final int THREADS = 4;

  /** What the bindings have in common. */
  interface Store {
    void put(byte[] key, byte[] value) throws Exception;

    byte[] get(byte[] key) throws Exception;

    Walk iterator() throws Exception;

    Batch batch() throws Exception;

    /** Reads K as of a snapshot that was closed. */
    void readClosedSnapshot() throws Exception;

    void close() throws Exception;
  }

  interface Walk {
    void first() throws Exception;

    void next() throws Exception;

    byte[] key() throws Exception;

    void close() throws Exception;
  }

  interface Batch {
    void put(byte[] key, byte[] value) throws Exception;

    void write() throws Exception;

    void close() throws Exception;
  }

  interface Case {
    void run(Store store) throws Exception;
  }

  private static final Map<String, Case> CASES = new TreeMap<>();

  static {
    CASES.put("get after close", store -> {
      store.close();
      store.get(K);
    });
    CASES.put("put after close", store -> {
      store.close();
      store.put(K, V);
    });
    CASES.put("close twice", store -> {
      store.close();
      store.close();
    });
    CASES.put("iterator: next after its close", store -> {
      Walk it = store.iterator();
      it.first();
      it.close();
      it.next();
      it.key();
    });
    CASES.put("iterator: use after the close of the database", store -> {
      Walk it = store.iterator();
      it.first();
      store.close();
      for (int i = 0; i < 10_000; ++i) {
        it.next();
        it.key();
      }
    });
    CASES.put("iterator: close after the close of the database", store -> {
      Walk it = store.iterator();
      it.first();
      store.close();
      it.close();
    });
    CASES.put("iterator: key where it stands nowhere", store -> {
      Walk it = store.iterator();
      it.key();
    });
    CASES.put("iterator: two threads in one", store -> {
      Walk it = store.iterator();
      it.first();
      many(store, () -> {
        it.first();
        for (int i = 0; i < 200; ++i) {
          it.next();
          it.key();
        }
      }, null);
    });
    CASES.put("batch: put after its close", store -> {
      Batch batch = store.batch();
      batch.put(K, V);
      batch.close();
      batch.put(K, V);
    });
    CASES.put("batch: write after its close", store -> {
      Batch batch = store.batch();
      batch.put(K, V);
      batch.close();
      batch.write();
    });
    CASES.put("batch: two threads in one", store -> {
      Batch batch = store.batch();
      many(store, () -> batch.put(K, new byte[1000]), null);
    });
    CASES.put("snapshot: read after its close", Store::readClosedSnapshot);
    CASES.put("null key", store -> store.put(null, V));
    CASES.put("close while others read", store -> many(store, () -> store.get(new byte[] {'k', '5'}), store::close));
    CASES.put("close while others write",
        store -> many(store, () -> store.put(new byte[] {'k', '5'}, new byte[500]), store::close));
    CASES.put("close while others iterate", store -> many(store, () -> {
      Walk it = store.iterator();
      it.first();
      for (int i = 0; i < 50; ++i) {
        it.next();
      }
      it.close();
    }, store::close));
  }

  interface Step {
    void run() throws Exception;
  }

  /** Four threads that do the same for a second; after half of it `then`. The first exception is the outcome. */
  private static void many(Store store, Step step, Step then) throws Exception {
    List<Exception> thrown = new ArrayList<>();
    List<Thread> threads = new ArrayList<>();
    CountDownLatch started = new CountDownLatch(THREADS);
    long end = System.nanoTime() + 1_000_000_000;
    for (int i = 0; i < THREADS; ++i) {
      Thread thread = new Thread(() -> {
        started.countDown();
        while (System.nanoTime() < end) {
          try {
            step.run();
          } catch (Exception e) {
            synchronized (thrown) {
              thrown.add(e);
            }
          }
        }
      });
      thread.start();
      threads.add(thread);
    }
    started.await();
    if (then != null) {
      Thread.sleep(500);
      then.run();
    }
    for (Thread thread : threads) {
      thread.join();
    }
    if (!thrown.isEmpty()) {
      throw thrown.get(0);
    }
  }

  public static void main(String[] arguments) throws Exception {
    if (arguments.length == 0) {
      CASES.keySet().forEach(System.out::println);
      return;
    }
    Store store = open(arguments[0], arguments[2]);
    for (int i = 0; i < 1000; ++i) {
      store.put(("k" + i).getBytes(), new byte[100]);
    }
    try {
      CASES.get(arguments[1]).run(store);
      System.out.println("OUTCOME nothing");
    } catch (Throwable e) {
      String code = e.toString().contains(": ") ? e.toString() : e.getClass().getName();
      System.out.println("OUTCOME " + code.replace('\n', ' '));
    }
    System.gc();
    Thread.sleep(100);
    System.out.println("ALIVE");
    System.out.flush();
    Runtime.getRuntime().halt(0);
  }

  private static Store open(String binding, String directory) throws Exception {
    return switch (binding) {
      case "mergedb" -> new Mergedb(directory);
      case "leveldbjni" -> new LevelDb(directory);
      case "rocksdbjni" -> new Rocks(directory);
      default -> throw new IllegalArgumentException(binding);
    };
  }

  // ---- mergedb-java

  private static final class Mergedb implements Store {
    private final dev.mergedb.Database db;

    Mergedb(String directory) {
      db = dev.mergedb.Database.open(Path.of(directory));
    }

    @Override
    public void put(byte[] key, byte[] value) {
      db.put(key, value);
    }

    @Override
    public byte[] get(byte[] key) {
      return db.get(key);
    }

    @Override
    public Walk iterator() {
      dev.mergedb.EntryIterator it = db.iterator();
      return new Walk() {
        @Override
        public void first() {
          it.seekToFirst();
        }

        @Override
        public void next() {
          it.next();
        }

        @Override
        public byte[] key() {
          return it.key();
        }

        @Override
        public void close() {
          it.close();
        }
      };
    }

    @Override
    public Batch batch() {
      dev.mergedb.WriteBatch batch = new dev.mergedb.WriteBatch();
      return new Batch() {
        @Override
        public void put(byte[] key, byte[] value) {
          batch.put(key, value);
        }

        @Override
        public void write() {
          db.write(batch);
        }

        @Override
        public void close() {
          batch.close();
        }
      };
    }

    @Override
    public void readClosedSnapshot() {
      dev.mergedb.Snapshot snapshot = db.snapshot();
      snapshot.close();
      db.get(dev.mergedb.ReadOptions.DEFAULT.withSnapshot(snapshot), K);
    }

    @Override
    public void close() {
      db.close();
    }
  }

  // ---- leveldbjni

  private static final class LevelDb implements Store {
    private final org.iq80.leveldb.DB db;

    LevelDb(String directory) throws Exception {
      db =
          org.fusesource.leveldbjni.JniDBFactory.factory.open(
              new File(directory), new org.iq80.leveldb.Options().createIfMissing(true));
    }

    @Override
    public void put(byte[] key, byte[] value) {
      db.put(key, value);
    }

    @Override
    public byte[] get(byte[] key) {
      return db.get(key);
    }

    @Override
    public Walk iterator() {
      org.iq80.leveldb.DBIterator it = db.iterator();
      return new Walk() {
        @Override
        public void first() {
          it.seekToFirst();
        }

        @Override
        public void next() {
          if (it.hasNext()) {
            it.next();
          }
        }

        @Override
        public byte[] key() {
          return it.peekNext().getKey();
        }

        @Override
        public void close() throws Exception {
          it.close();
        }
      };
    }

    @Override
    public Batch batch() {
      org.iq80.leveldb.WriteBatch batch = db.createWriteBatch();
      return new Batch() {
        @Override
        public void put(byte[] key, byte[] value) {
          batch.put(key, value);
        }

        @Override
        public void write() {
          db.write(batch);
        }

        @Override
        public void close() throws Exception {
          batch.close();
        }
      };
    }

    @Override
    public void readClosedSnapshot() throws Exception {
      org.iq80.leveldb.Snapshot snapshot = db.getSnapshot();
      snapshot.close();
      db.get(K, new org.iq80.leveldb.ReadOptions().snapshot(snapshot));
    }

    @Override
    public void close() throws Exception {
      db.close();
    }
  }

  // ---- rocksdbjni

  private static final class Rocks implements Store {
    private final org.rocksdb.RocksDB db;

    Rocks(String directory) throws Exception {
      db = org.rocksdb.RocksDB.open(directory);
    }

    @Override
    public void put(byte[] key, byte[] value) throws Exception {
      db.put(key, value);
    }

    @Override
    public byte[] get(byte[] key) throws Exception {
      return db.get(key);
    }

    @Override
    public Walk iterator() {
      org.rocksdb.RocksIterator it = db.newIterator();
      return new Walk() {
        @Override
        public void first() {
          it.seekToFirst();
        }

        @Override
        public void next() {
          it.next();
        }

        @Override
        public byte[] key() {
          return it.key();
        }

        @Override
        public void close() {
          it.close();
        }
      };
    }

    @Override
    public Batch batch() {
      org.rocksdb.WriteBatch batch = new org.rocksdb.WriteBatch();
      return new Batch() {
        @Override
        public void put(byte[] key, byte[] value) throws Exception {
          batch.put(key, value);
        }

        @Override
        public void write() throws Exception {
          db.write(new org.rocksdb.WriteOptions(), batch);
        }

        @Override
        public void close() {
          batch.close();
        }
      };
    }

    @Override
    public void readClosedSnapshot() throws Exception {
      org.rocksdb.Snapshot snapshot = db.getSnapshot();
      org.rocksdb.ReadOptions options = new org.rocksdb.ReadOptions().setSnapshot(snapshot);
      db.releaseSnapshot(snapshot);
      db.get(options, K);
    }

    @Override
    public void close() {
      db.close();
    }
  }
}
