package dev.mergedb;

import static dev.mergedb.Testing.bytes;
import static dev.mergedb.Testing.small;

import dev.mergedb.MergedbException.Code;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.LockSupport;

/**
 * Random calls by several threads on shared databases, iterators, batches, snapshots, transactions and cursors, which
 * others close and replace meanwhile. What a call may answer is a value or an exception of the list; anything else is
 * kept in `wrong`.
 */
final class RandomCalls {
  private static final int DATABASES = 2;
  private static final int CHILDREN = 6;
  private static final Set<Code> EXPECTED = EnumSet.of(Code.CLOSED, Code.SHUTTING_DOWN, Code.BUSY, Code.NOT_FOUND,
      Code.ABORTED, Code.CONFLICT, Code.INVALID_ARGUMENT, Code.NOT_SUPPORTED, Code.MERGE_FAILED, Code.NO_SPACE);
  private static final TransactionOptions[] BEGINS = {
    TransactionOptions.DEFAULT.kind(TransactionOptions.Kind.OPTIMISTIC).bytesMax(1 << 20),
    TransactionOptions.DEFAULT.kind(TransactionOptions.Kind.READ_ONLY),
  };

  private final Path folder;
  private final long seed;
  private final AtomicReferenceArray<Database> databases = new AtomicReferenceArray<>(DATABASES);
  private final AtomicReferenceArray<EntryIterator> iterators = new AtomicReferenceArray<>(CHILDREN);
  private final AtomicReferenceArray<WriteBatch> batches = new AtomicReferenceArray<>(CHILDREN);
  private final AtomicReferenceArray<Snapshot> snapshots = new AtomicReferenceArray<>(CHILDREN);
  private final AtomicReferenceArray<Transaction> transactions = new AtomicReferenceArray<>(CHILDREN);
  private final AtomicReferenceArray<Cursor> cursors = new AtomicReferenceArray<>(CHILDREN);
  private final AtomicLong left;
  final ConcurrentLinkedQueue<Throwable> wrong = new ConcurrentLinkedQueue<>();
  final Map<Code, AtomicLong> answers = new EnumMap<>(Code.class);
  final AtomicLong values = new AtomicLong();

  RandomCalls(Path folder, long seed, long calls) {
    this.folder = folder;
    this.seed = seed;
    this.left = new AtomicLong(calls);
    for (Code code : Code.values()) {
      answers.put(code, new AtomicLong());
    }
  }

  /** Runs all calls and closes everything. False: a thread did not end in time. */
  boolean run(int threadCount, long seconds) throws InterruptedException {
    for (int i = 0; i < DATABASES; ++i) {
      databases.set(i, Database.open(folder.resolve("db" + i), small()));
    }
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < threadCount; ++i) {
      Random random = new Random(seed * 31 + i);
      Thread thread = new Thread(() -> loop(random), "random-" + i);
      thread.setDaemon(true);
      thread.start();
      threads.add(thread);
    }
    long end = System.nanoTime() + seconds * 1_000_000_000;
    boolean ended = true;
    for (Thread thread : threads) {
      thread.join(Math.max(1, (end - System.nanoTime()) / 1_000_000));
      ended &= !thread.isAlive();
    }
    for (int i = 0; ended && i < DATABASES; ++i) {
      databases.get(i).close();
    }
    return ended;
  }

  private void loop(Random random) {
    while (left.decrementAndGet() >= 0) {
      try {
        call(random);
        values.incrementAndGet();
      } catch (MergedbException e) {
        answers.get(e.code()).incrementAndGet();
        if (!EXPECTED.contains(e.code())) {
          wrong.add(e);
        }
      } catch (Throwable e) {
        wrong.add(e);
      }
    }
  }

  private static <T> T any(AtomicReferenceArray<T> array, Random random) {
    return array.get(random.nextInt(array.length()));
  }

  private static byte[] key(Random random) {
    return bytes("key" + random.nextInt(2000));
  }

  private static byte[] value(Random random) {
    return new byte[random.nextInt(200) == 0 ? random.nextInt(200_000) : random.nextInt(120)];
  }

  private static ByteBuffer buffer(byte[] bytes, Random random) {
    return random.nextBoolean() ? ByteBuffer.wrap(bytes) : ByteBuffer.allocateDirect(bytes.length).put(bytes).flip();
  }

  private static WriteOptions write(Random random) {
    return random.nextInt(50) == 0 ? WriteOptions.SYNCED : WriteOptions.DEFAULT;
  }

  /** Puts `next` in a place and closes what was there, now or not at all. */
  private static <T extends AutoCloseable> void replace(AtomicReferenceArray<T> array, T next, Random random)
      throws Exception {
    T before = array.getAndSet(random.nextInt(array.length()), next);
    if (before != null && random.nextInt(3) != 0) {
      before.close(); // else it is left to the Cleaner
    }
  }

  private void call(Random random) throws Exception {
    Database db = any(databases, random);
    int choice = random.nextInt(1000);
    if (!db.isOpen()) {
      LockSupport.parkNanos(
          1_000_000); // else most calls would find the databases closed: an open takes as long as thousands of them
    }
    if (choice < 2) {
      reopen(random.nextInt(DATABASES));
    } else if (choice < 300) {
      write(db, random);
    } else if (choice < 500) {
      read(db, random);
    } else if (choice < 700) {
      iterate(db, random);
    } else if (choice < 800) {
      batch(db, random);
    } else if (choice < 980) {
      transact(db, random);
    } else {
      care(db, random);
    }
  }

  private void reopen(int index) {
    Database before = databases.get(index);
    before.close();
    Database next = Database.open(folder.resolve("db" + index), small());
    if (!databases.compareAndSet(index, before, next)) {
      next.close();
    }
  }

  private void write(Database db, Random random) {
    switch (random.nextInt(8)) {
      case 0 -> db.delete(key(random));
      case 1 -> db.addU64(bytes("counter"), 1);
      case 2 -> db.merge(key(random), Merge.append(bytes("x")));
      case 3 -> db.put(write(random), buffer(key(random), random), buffer(value(random), random));
      case 4 -> db.deleteRange(bytes("key5"), bytes("key50"));
      default -> db.put(write(random), key(random), value(random));
    }
  }

  private void read(Database db, Random random) throws Exception {
    Snapshot snapshot = any(snapshots, random);
    ReadOptions options = random.nextBoolean() ? ReadOptions.DEFAULT : ReadOptions.DEFAULT.withSnapshot(snapshot);
    switch (random.nextInt(6)) {
      case 0 -> db.multiGet(options, List.of(key(random), key(random), key(random)));
      case 1 -> db.get(options, buffer(key(random), random), ByteBuffer.allocateDirect(random.nextInt(1000)));
      case 2 -> db.get(options, buffer(key(random), random), ByteBuffer.allocate(random.nextInt(1000)));
      case 3 -> replace(snapshots, db.snapshot(), random);
      case 4 -> {
        if (snapshot != null) {
          snapshot.sequence();
        }
      }
      default -> db.get(options, key(random));
    }
  }

  private void iterate(Database db, Random random) throws Exception {
    EntryIterator it = any(iterators, random);
    if (it == null || random.nextInt(20) == 0) {
      replace(iterators, db.iterator(IteratorOptions.DEFAULT.keysOnly(random.nextBoolean())), random);
      return;
    }
    switch (random.nextInt(10)) {
      case 0 -> it.seekToFirst();
      case 1 -> it.seekToLast();
      case 2 -> it.seek(key(random));
      case 3 -> it.seekForPrev(key(random));
      case 4 -> it.key();
      case 5 -> it.value();
      case 6 -> it.prev();
      case 7 -> {
        if (random.nextInt(20) == 0) {
          it.close();
        } else {
          it.isValid();
        }
      }
      default -> it.next();
    }
  }

  private void batch(Database db, Random random) throws Exception {
    WriteBatch batch = any(batches, random);
    if (batch == null || random.nextInt(20) == 0) {
      replace(batches, new WriteBatch(), random);
      return;
    }
    switch (random.nextInt(9)) {
      case 0 -> batch.delete(key(random));
      case 1 -> batch.deleteRange(bytes("key7"), bytes("key70"));
      case 2 -> batch.addU64(bytes("counter"), 1);
      case 3 -> {
        WriteBatch other = any(batches, random);
        if (other != null && other != batch && batch.count() < 1000) {
          batch.append(other);
        }
      }
      case 4 -> batch.clear();
      case 5 -> batch.count();
      case 6 -> db.write(write(random), batch);
      default -> batch.put(key(random), value(random));
    }
  }

  private void transact(Database db, Random random) throws Exception {
    if (random.nextInt(30) == 0) {
      singleWriter(db, random);
      return;
    }
    Transaction transaction = any(transactions, random);
    Cursor cursor = any(cursors, random);
    if (transaction == null || random.nextInt(20) == 0) {
      replace(transactions, db.begin(BEGINS[random.nextInt(BEGINS.length)]), random);
      return;
    }
    if (cursor == null || random.nextInt(20) == 0) {
      replace(cursors, transaction.cursor(), random);
      return;
    }
    if (random.nextBoolean()) {
      walk(cursor, random);
    } else {
      change(transaction, random);
    }
  }

  private static void walk(Cursor cursor, Random random) {
    switch (random.nextInt(10)) {
      case 0 -> cursor.first();
      case 1 -> cursor.last();
      case 2 -> cursor.seek(key(random));
      case 3 -> cursor.seekOrNext(key(random));
      case 4 -> cursor.seekOrPrev(key(random));
      case 5 -> cursor.key();
      case 6 -> cursor.value();
      case 7 -> cursor.put(value(random));
      case 8 -> cursor.delete();
      default -> cursor.next();
    }
  }

  private static void change(Transaction transaction, Random random) {
    switch (random.nextInt(12)) {
      case 0 -> transaction.get(key(random));
      case 1 -> transaction.delete(key(random));
      case 2 -> transaction.deleteRange(bytes("key3"), bytes("key30"));
      case 3 -> transaction.addU64(bytes("counter"), 1);
      case 4 -> transaction.setSavepoint();
      case 5 -> transaction.rollbackToSavepoint();
      case 6 -> transaction.conflict();
      case 7 -> transaction.bytes();
      case 8 -> transaction.commit();
      case 9 -> transaction.rollback();
      default -> transaction.put(key(random), value(random));
    }
  }

  /** One that others wait for: it is ended by the thread that began it. Others may call it meanwhile. */
  private void singleWriter(Database db, Random random) {
    Transaction before = null;
    try (Transaction transaction = db.begin(TransactionOptions.DEFAULT.waitMicrosMax(50_000))) {
      before = transactions.getAndSet(0, transaction);
      for (int i = random.nextInt(5); i >= 0; --i) {
        transaction.put(key(random), value(random));
      }
      transaction.commit();
    } finally {
      if (before != null) {
        before.close(); // not earlier: it waits for a commit of another thread, which waits for the single writer
      }
    }
  }

  private void care(Database db, Random random) {
    switch (random.nextInt(40)) {
      case 0 -> db.flush();
      case 1 -> db.syncWal();
      case 2 -> db.compactRange(bytes("key1"), bytes("key3"));
      case 3 -> db.check();
      case 4 -> db.keyspaces();
      case 5 -> db.keyspace("space" + random.nextInt(3));
      case 6 -> {
        Keyspace space = db.findKeyspace("space" + random.nextInt(3));
        if (space != null) {
          db.put(WriteOptions.DEFAULT.in(space), key(random), value(random));
        }
      }
      case 7 -> {
        Keyspace space = db.findKeyspace("space" + random.nextInt(3));
        if (space != null) {
          db.dropKeyspace(space);
        }
      }
      case 8 -> System.gc();
      case 9 -> db.metrics();
      case 10 -> db.startTrace(folder.resolve("trace" + left.get()), TraceOptions.DEFAULT.bytesMax(1 << 20));
      case 11 -> db.endTrace();
      default -> db.approximateSizes(List.of(new Range(bytes("key1"), bytes("key9"))));
    }
  }
}
