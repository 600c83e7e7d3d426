package dev.mergedb;

import static dev.mergedb.Testing.WAIT_SECONDS;
import static dev.mergedb.Testing.bytes;
import static dev.mergedb.Testing.direct;
import static dev.mergedb.Testing.fails;
import static dev.mergedb.Testing.isNull;
import static dev.mergedb.Testing.small;
import static dev.mergedb.Testing.text;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.mergedb.MergedbException.Code;
import java.io.RandomAccessFile;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Each misuse is an exception, and never the end of the JVM. */
class MisuseTest {
  private static final byte[] K = bytes("k");
  private static final byte[] V = bytes("v");
  private static final TransactionOptions OPTIMISTIC =
      TransactionOptions.DEFAULT.kind(TransactionOptions.Kind.OPTIMISTIC);

  @TempDir Path folder;
  private Database db;
  private final ExecutorService threads = Executors.newCachedThreadPool();

  @BeforeEach
  void open() {
    db = Database.open(folder.resolve("db"), small());
    db.put(K, V);
  }

  @AfterEach
  void close() throws InterruptedException {
    db.close();
    threads.shutdown();
    assertTrue(threads.awaitTermination(WAIT_SECONDS, TimeUnit.SECONDS));
  }

  private List<Executable> callsOf(Database d) {
    WriteOptions w = WriteOptions.DEFAULT;
    ReadOptions r = ReadOptions.DEFAULT;
    WriteBatch batch = new WriteBatch();
    return List.of(
        () -> d.put(K, V), () -> d.put(w, direct("k"), direct("v")), () -> d.get(K),
        () -> d.get(r, direct("k"), direct("v")), () -> d.multiGet(r, List.of(K)), () -> d.delete(K),
        () -> d.delete(w, direct("k")), () -> d.deleteRange(K, V), () -> d.deletePrefix(K),
        () -> d.merge(K, Merge.put(V)), () -> d.addU64(K, 1), () -> d.write(batch), d::snapshot, d::iterator,
        d::begin, () -> d.createKeyspace("x"), () -> d.keyspace("x"), () -> d.findKeyspace("x"), d::keyspaces,
        () -> d.dropKeyspace(new Keyspace(null, 1)), () -> d.clearKeyspace(new Keyspace(null, 1)),
        () -> d.compactKeyspace(new Keyspace(null, 1), null, null), d::flush, d::syncWal, () -> d.compactRange(null, null),
        d::waitForCompactions, () -> d.approximateSizes(List.of(new Range(K, V))), () -> d.property("mergedb.stats"),
        d::check, () -> d.checkpoint(folder.resolve("copy")));
  }

  private static List<Executable> callsOf(EntryIterator it) {
    return List.of(
        it::seekToFirst, it::seekToLast, () -> it.seek(K), () -> it.seekForPrev(K), it::next, it::prev, it::isValid,
        it::key, it::value, it::failedKey);
  }

  private static List<Executable> callsOf(WriteBatch b) {
    return List.of(
        () -> b.put(K, V), () -> b.delete(K), () -> b.deleteRange(K, V), () -> b.merge(K, Merge.put(V)),
        () -> b.addU64(K, 1), () -> b.append(new WriteBatch()), b::clear, b::count, b::bytes);
  }

  private static List<Executable> callsOf(Transaction t) {
    return List.of(
        () -> t.get(K), () -> t.put(K, V), () -> t.delete(K), () -> t.deleteRange(K, V),
        () -> t.merge(K, Merge.put(V)), () -> t.addU64(K, 1), t::setSavepoint, t::rollbackToSavepoint,
        t::releaseSavepoint, t::sequence, t::writes, t::bytes, t::cursor, () -> t.keyspace("x"),
        () -> t.createKeyspace("x"), () -> t.findKeyspace("x"), t::keyspaces, () -> t.dropKeyspace(new Keyspace(null, 1)),
        () -> t.clearKeyspace(new Keyspace(null, 1)), t::conflict, t::rollback, t::commit);
  }

  private static List<Executable> callsOf(Cursor c) {
    return List.of(
        c::first, c::last, c::next, c::prev, () -> c.seek(K), () -> c.seekOrNext(K), () -> c.seekOrPrev(K),
        c::current, c::key, c::value, () -> c.put(V), c::delete);
  }

  @Test
  void useAfterClose() {
    Snapshot snapshot = db.snapshot();
    EntryIterator iterator = db.iterator();
    WriteBatch batch = new WriteBatch();
    Transaction transaction = db.begin(OPTIMISTIC);
    Cursor cursor = transaction.cursor();
    iterator.seekToFirst();
    List<AutoCloseable> all = List.of(snapshot, iterator, batch, cursor, transaction);
    for (AutoCloseable each : all) {
      for (int times = 0; times < 2; ++times) {
        try {
          each.close();
        } catch (Exception e) {
          throw new AssertionError(e);
        }
      }
    }
    fails(Code.CLOSED, snapshot::sequence);
    fails(Code.CLOSED, () -> db.get(ReadOptions.DEFAULT.withSnapshot(snapshot), K));
    fails(Code.CLOSED, () -> db.iterator(IteratorOptions.DEFAULT.read(ReadOptions.DEFAULT.withSnapshot(snapshot))));
    fails(Code.CLOSED, () -> db.write(batch));
    for (List<Executable> calls : List.of(callsOf(iterator), callsOf(batch), callsOf(transaction), callsOf(cursor))) {
      for (Executable call : calls) {
        fails(Code.CLOSED, call);
      }
    }
    db.close();
    db.close();
    for (Executable call : callsOf(db)) {
      fails(Code.CLOSED, call);
    }
  }

  @Test
  void childrenOfAClosedDatabase() {
    Snapshot snapshot = db.snapshot();
    EntryIterator fresh = db.iterator();
    EntryIterator iterator = db.iterator();
    assertTrue(iterator.seekToFirst());
    Transaction transaction = db.begin(OPTIMISTIC);
    transaction.put(bytes("t"), V);
    Cursor cursor = transaction.cursor();
    assertTrue(cursor.first());
    db.close();
    fails(Code.CLOSED, () -> db.get(ReadOptions.DEFAULT.withSnapshot(snapshot), K));
    for (Executable call : callsOf(fresh)) {
      fails(Code.SHUTTING_DOWN, call);
    }
    for (Executable call : callsOf(iterator)) {
      fails(Code.SHUTTING_DOWN, call);
    }
    fails(Code.SHUTTING_DOWN, () -> transaction.get(K));
    fails(Code.SHUTTING_DOWN, cursor::next);
    fails(Code.SHUTTING_DOWN, transaction::commit);
    cursor.close();
    transaction.close();
    iterator.close();
    fresh.close();
    snapshot.close();
    try (Database again = Database.open(folder.resolve("db"), small())) {
      assertEquals("v", text(again.get(K)));
      assertEquals(null, again.get(bytes("t")));
    }
  }

  @Test
  void nulls() {
    isNull("directory", () -> Database.open(null));
    isNull("options", () -> Database.open(folder.resolve("x"), null));
    isNull("directory", () -> Database.destroy(null));
    isNull("directory", () -> Database.verify(null));
    isNull("directory", () -> Database.repair(null));
    isNull("key", () -> db.put(null, V));
    isNull("value", () -> db.put(K, null));
    isNull("options", () -> db.put(null, K, V));
    isNull("key", () -> db.put(WriteOptions.DEFAULT, null, direct("v")));
    isNull("value", () -> db.put(WriteOptions.DEFAULT, direct("k"), null));
    isNull("key", () -> db.get(null));
    isNull("options", () -> db.get(null, K));
    isNull("key", () -> db.get(ReadOptions.DEFAULT, null, direct("v")));
    isNull("value", () -> db.get(ReadOptions.DEFAULT, direct("k"), null));
    isNull("keys", () -> db.multiGet(ReadOptions.DEFAULT, null));
    isNull("key", () -> db.multiGet(ReadOptions.DEFAULT, Arrays.asList(K, null)));
    isNull("key", () -> db.delete((byte[]) null));
    isNull("begin", () -> db.deleteRange(null, K));
    isNull("end", () -> db.deleteRange(K, null));
    isNull("prefix", () -> db.deletePrefix(null));
    isNull("operand", () -> db.merge(K, null));
    isNull("batch", () -> db.write(null));
    isNull("name", () -> db.keyspace(null));
    isNull("name", () -> db.property(null));
    isNull("keyspace", () -> db.dropKeyspace(null));
    isNull("keyspace", () -> WriteOptions.DEFAULT.in(null));
    isNull("target", () -> db.checkpoint(null));
    isNull("file", () -> db.startTrace(null, TraceOptions.DEFAULT));
    isNull("options", () -> db.startTrace(folder.resolve("trace"), null));
    isNull("ranges", () -> db.approximateSizes(null));
    isNull("options", () -> db.iterator(null));
    isNull("options", () -> db.begin(null));
    try (EntryIterator it = db.iterator();
        WriteBatch batch = new WriteBatch();
        Transaction transaction = db.begin(OPTIMISTIC);
        Cursor cursor = transaction.cursor()) {
      isNull("key", () -> it.seek(null));
      isNull("key", () -> batch.put(null, V));
      isNull("value", () -> batch.put(K, null));
      isNull("source", () -> batch.append(null));
      isNull("keyspace", () -> batch.put(null, K, V));
      isNull("key", () -> transaction.get(null));
      isNull("operand", () -> transaction.merge(K, null));
      isNull("key", () -> cursor.seek(null));
      isNull("value", () -> cursor.put(null));
    }
  }

  /** Java checks arguments, and native code checks them again: here it is called without Java's checks. */
  @Test
  void nativeCodeChecksAgain() throws Exception {
    Random random = new Random(7);
    int refused = 0;
    for (Method method : Native.class.getDeclaredMethods()) {
      if (!Modifier.isNative(method.getModifiers())) {
        continue;
      }
      method.setAccessible(true);
      for (int i = 0; i < 300; ++i) {
        Object[] arguments = Arrays.stream(method.getParameterTypes()).map(type -> garbage(type, random)).toArray();
        try {
          method.invoke(null, arguments);
        } catch (InvocationTargetException e) {
          Throwable thrown = e.getCause();
          assertTrue(thrown instanceof MergedbException || thrown instanceof NullPointerException
              || thrown instanceof IllegalArgumentException, () -> method + ": " + thrown);
          ++refused;
        }
      }
    }
    assertTrue(refused > 1000, "garbage is refused: " + refused);
    assertEquals("v", text(db.get(K)));
  }

  private static Object garbage(Class<?> type, Random random) {
    int choice = random.nextInt(6);
    if (type == int.class) {
      return new int[] {0, 1, -1, 7, Integer.MAX_VALUE, Integer.MIN_VALUE}[choice];
    } else if (type == long.class) {
      return new long[] {0, 1, -1, 0x1000_0000_0000_0001L, Long.MAX_VALUE, random.nextLong()}[choice];
    } else if (type == double.class) {
      return new double[] {0, -1, Double.MAX_VALUE, Double.NEGATIVE_INFINITY, Double.NaN, random.nextDouble()}[choice];
    } else if (type == boolean.class) {
      return random.nextBoolean();
    } else if (choice < 2) {
      return null;
    } else if (type == byte[].class) {
      return new byte[random.nextInt(20)];
    } else if (type == byte[][].class) {
      return random.nextBoolean() ? new byte[][] {null} : new byte[][] {new byte[3]};
    } else if (type == long[].class) {
      return random.longs(random.nextBoolean() ? 13 : 2).toArray();
    } else if (type == int[].class) {
      return new int[random.nextInt(2)];
    } else if (type == ByteBuffer.class) {
      return random.nextBoolean() ? ByteBuffer.allocate(3) : ByteBuffer.allocateDirect(random.nextInt(9));
    } else if (type == Callbacks.class) {
      return new Callbacks(null, null, null, null);
    }
    throw new AssertionError("no garbage of " + type);
  }

  @Test
  void hugeSizes() throws Exception {
    byte[] large = new byte[Limits.KEY_BYTES_MAX + 1];
    MergedbException e = fails(Code.INVALID_ARGUMENT, () -> db.put(large, V));
    assertTrue(e.getMessage().contains(String.valueOf(Limits.KEY_BYTES_MAX + 1)), e.getMessage());
    fails(Code.INVALID_ARGUMENT, () -> db.get(large));
    fails(Code.INVALID_ARGUMENT, () -> db.deleteRange(K, large));
    fails(Code.INVALID_ARGUMENT, () -> db.multiGet(ReadOptions.DEFAULT, List.of(large)));
    byte[] largest = new byte[Limits.KEY_BYTES_MAX];
    db.put(largest, V);
    assertEquals("v", text(db.get(largest)));

    Path sparse = folder.resolve("sparse");
    try (RandomAccessFile file = new RandomAccessFile(sparse.toFile(), "rw")) {
      file.setLength(Integer.MAX_VALUE);
      ByteBuffer huge = file.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, Integer.MAX_VALUE);
      fails(Code.INVALID_ARGUMENT, () -> db.put(WriteOptions.DEFAULT, direct("k"), huge));
      fails(Code.INVALID_ARGUMENT, () -> db.put(WriteOptions.DEFAULT, huge, direct("v")));
      fails(Code.INVALID_ARGUMENT, () -> db.get(ReadOptions.DEFAULT, huge, direct("v")));
      fails(
          Code.INVALID_ARGUMENT,
          () -> Native.putBuffers(handle(db), 0, 0, null, K, 0, 1, huge, null, 0, Limits.VALUE_BYTES_MAX + 1));
      assertEquals(1, db.get(ReadOptions.DEFAULT, direct("k"), huge));
      assertEquals(1, huge.position());
    }
    assertEquals("v", text(db.get(K)));
  }

  private static long handle(Database db) throws ReflectiveOperationException {
    var field = Database.class.getDeclaredField("number");
    field.setAccessible(true);
    return field.getLong(db);
  }

  @Test
  void rangesOutsideOfBuffers() throws Exception {
    long number = handle(db);
    ByteBuffer four = ByteBuffer.allocateDirect(4);
    for (int[] range : new int[][] {{0, 5}, {4, 1}, {-1, 2}, {2, -1}, {Integer.MAX_VALUE, Integer.MAX_VALUE}, {5, 0}}) {
      int offset = range[0];
      int size = range[1];
      assertThrows(IllegalArgumentException.class,
          () -> Native.putBuffers(number, 0, 0, four, null, offset, size, null, V, 0, 1));
      assertThrows(IllegalArgumentException.class,
          () -> Native.putBuffers(number, 0, 0, null, new byte[4], offset, size, null, V, 0, 1));
      assertThrows(IllegalArgumentException.class,
          () -> Native.getBuffers(number, 0, 0, 0, null, K, 0, 1, four, null, offset, size));
      assertThrows(IllegalArgumentException.class,
          () -> Native.getBuffers(number, 0, 0, 0, null, K, 0, 1, null, new byte[4], offset, size));
    }
  }

  @Test
  void handlesOfAnotherKindOrMadeUp() throws Exception {
    long number = handle(db);
    fails(Code.CLOSED, () -> Native.batchClear(number));
    fails(Code.CLOSED, () -> Native.iteratorMove(number, EntryIterator.FIRST, null, 0, 0, false, new byte[8], 8));
    fails(Code.CLOSED, () -> Native.transactionDo(number, 0));
    fails(Code.CLOSED, () -> Native.cursorDelete(number));
    fails(Code.CLOSED, () -> Native.snapshotSequence(number));
    for (long madeUp : new long[] {0, 1, -1, number + 1, number ^ (1L << 40)}) {
      fails(Code.CLOSED, () -> Native.put(madeUp, 0, 0, K, V));
      fails(Code.CLOSED, () -> Native.get(madeUp, 0, 0, 0, K));
    }
  }

  @Test
  void aSnapshotOfAnotherDatabase() {
    try (Database other = Database.open(folder.resolve("other"), small()); Snapshot snapshot = other.snapshot()) {
      fails(Code.INVALID_ARGUMENT, () -> db.get(ReadOptions.DEFAULT.withSnapshot(snapshot), K));
      fails(Code.INVALID_ARGUMENT,
          () -> db.begin(TransactionOptions.DEFAULT.kind(TransactionOptions.Kind.READ_ONLY).snapshot(snapshot)));
    }
    fails(Code.INVALID_ARGUMENT, () -> db.put(WriteOptions.DEFAULT.in(new Keyspace(null, 4711)), K, V));
  }

  /**
   * A second thread inside a one-thread object gets BUSY; which of the two it is, is chance, so it is tried until it
   * happens.
   */
  private void secondThreadIsBusy(Executable first, Executable second) throws Exception {
    AtomicBoolean met = new AtomicBoolean();
    CountDownLatch start = new CountDownLatch(2);
    List<Future<?>> both = new ArrayList<>();
    for (Executable call : List.of(first, second)) {
      both.add(
          threads.submit(
              () -> {
                start.countDown();
                start.await();
                long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(WAIT_SECONDS);
                while (!met.get() && System.nanoTime() < end) {
                  try {
                    call.execute();
                  } catch (MergedbException e) {
                    assertEquals(Code.BUSY, e.code(), e::toString);
                    met.set(true);
                  } catch (Throwable e) {
                    throw new AssertionError(e);
                  }
                }
                return null;
              }));
    }
    for (Future<?> each : both) {
      each.get(2 * WAIT_SECONDS, TimeUnit.SECONDS);
    }
    assertTrue(met.get(), "two threads met");
  }

  @Test
  void wrongThreads() throws Exception {
    try (EntryIterator it = db.iterator();
        WriteBatch batch = new WriteBatch();
        WriteBatch other = new WriteBatch();
        Transaction transaction = db.begin(OPTIMISTIC);
        Cursor cursor = transaction.cursor()) {
      secondThreadIsBusy(it::seekToFirst, it::seekToLast);
      secondThreadIsBusy(batch::count, batch::clear);
      secondThreadIsBusy(() -> db.write(batch), batch::count);
      secondThreadIsBusy(() -> other.append(batch), batch::bytes);
      secondThreadIsBusy(() -> transaction.get(K), cursor::first);
    }
  }

  /** What a closed handle answers while others close it: CLOSED, SHUTTING_DOWN or BUSY, or the call still works. */
  private static void allowed(Executable call, AtomicInteger worked) throws Throwable {
    try {
      call.execute();
      worked.incrementAndGet();
    } catch (MergedbException e) {
      assertTrue(
          List.of(Code.CLOSED, Code.SHUTTING_DOWN, Code.BUSY, Code.NOT_FOUND, Code.ABORTED, Code.INVALID_ARGUMENT)
              .contains(e.code()),
          e::toString);
    }
  }

  @Test
  void closeWhileOthersAreInside() throws Exception {
    db.close();
    for (int round = 0; round < 20; ++round) {
      Database d = Database.open(folder.resolve("round"), small());
      Keyspace users = d.keyspace("users");
      EntryIterator it = d.iterator();
      WriteBatch batch = new WriteBatch();
      Snapshot snapshot = d.snapshot();
      Transaction transaction = d.begin(OPTIMISTIC);
      Cursor cursor = transaction.cursor();
      List<Executable> calls = List.of(
          () -> d.put(bytes("key" + Thread.currentThread().getId()), new byte[1000]), () -> d.get(K), it::next,
          it::seekToFirst, () -> batch.put(K, V), () -> d.write(batch),
          () -> d.get(ReadOptions.DEFAULT.withSnapshot(snapshot), K), cursor::first, cursor::key,
          () -> transaction.put(users, K, V), () -> d.iterator().close(), d::flush,
          () -> d.get(ReadOptions.DEFAULT.in(users), K));
      AtomicBoolean stop = new AtomicBoolean();
      AtomicInteger worked = new AtomicInteger();
      ConcurrentLinkedQueue<Throwable> wrong = new ConcurrentLinkedQueue<>();
      CountDownLatch started = new CountDownLatch(8);
      List<Future<?>> running = new ArrayList<>();
      for (int thread = 0; thread < 8; ++thread) {
        Random random = new Random(31 * round + thread);
        running.add(
            threads.submit(
                () -> {
                  started.countDown();
                  try {
                    while (!stop.get()) {
                      allowed(calls.get(random.nextInt(calls.size())), worked);
                    }
                  } catch (Throwable e) {
                    wrong.add(e);
                  }
                }));
      }
      assertTrue(started.await(WAIT_SECONDS, TimeUnit.SECONDS));
      while (worked.get() < 100 && wrong.isEmpty()) {
        Thread.onSpinWait();
      }
      List<AutoCloseable> closing = new ArrayList<>(List.of(d, it, batch, snapshot, transaction, cursor));
      java.util.Collections.shuffle(closing, new Random(round));
      for (AutoCloseable each : closing) {
        each.close();
      }
      stop.set(true);
      for (Future<?> each : running) {
        each.get(WAIT_SECONDS, TimeUnit.SECONDS);
      }
      assertEquals(List.of(), List.copyOf(wrong));
    }
    try (Database again = Database.open(folder.resolve("round"), small())) {
      again.check();
    }
  }

  @Test
  void anArrayThatChangesDuringTheCall() throws Exception {
    byte[] value = new byte[4096];
    byte[] key = bytes("changing key");
    AtomicBoolean stop = new AtomicBoolean();
    Future<?> changer =
        threads.submit(
            () -> {
              for (byte b = 0; !stop.get(); ++b) {
                Arrays.fill(value, b);
                key[3] = b;
              }
            });
    try {
      for (int i = 0; i < 3000; ++i) {
        db.put(key, value);
        byte[] found = db.get(key);
        assertTrue(found == null || found.length == value.length);
      }
    } finally {
      stop.set(true);
      changer.get(WAIT_SECONDS, TimeUnit.SECONDS);
    }
    db.check();
  }

  @Test
  void aWriteOfTheThreadOfASingleWriterIsBusy() {
    try (Transaction transaction = db.begin()) {
      transaction.put(K, V);
      fails(Code.BUSY, () -> db.put(K, V));
      fails(Code.BUSY, db::begin);
    }
  }

  @Test
  void aPathOfAnotherFileSystem() throws Exception {
    Path jar = folder.resolve("x.zip");
    try (var zip = java.nio.file.FileSystems.newFileSystem(jar, java.util.Map.of("create", "true"))) {
      assertThrows(IllegalArgumentException.class, () -> Database.open(zip.getPath("/db")));
    }
    assertThrows(ExecutionException.class, () -> threads.submit(() -> Database.open(Path.of("/proc/none/db"))).get());
    assertFalse(java.nio.file.Files.exists(Path.of("/proc/none")));
  }
}
