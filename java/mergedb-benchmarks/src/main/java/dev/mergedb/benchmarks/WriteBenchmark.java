package dev.mergedb.benchmarks;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Writes. One invocation writes `entries` times into a new database; stalls by flushes and compactions count. bench/jvm.py divides the
 * time by `entries`.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 2)
@Measurement(iterations = 5)
@Fork(1)
public class WriteBenchmark {
  /** How many counters the increments go to. */
  private static final int COUNTERS = 10_000;

  /** The store. */
  @Param({"mergedb", "rocksdbjni", "leveldbjni"})
  public String engine;

  /** Writes an invocation. */
  @Param("1000000")
  public int entries;

  private byte[][] keys;
  private final byte[] value = Workload.value();
  private final ByteBuffer keyBuffer = ByteBuffer.allocateDirect(16);
  private final ByteBuffer valueBuffer = ByteBuffer.allocateDirect(Workload.VALUE_BYTES);
  private Path directory;
  private Engine store;

  /** Keys. */
  @Setup(Level.Trial)
  public void prepare() {
    keys = Workload.keys(0, entries);
  }

  /** A new database. */
  @Setup(Level.Iteration)
  public void open() throws Exception {
    directory = Workload.newDirectory();
    store = Engine.open(engine, directory.resolve("db"));
  }

  /** Removes the database. */
  @TearDown(Level.Iteration)
  public void close() throws Exception {
    store.close();
    Workload.remove(directory);
  }

  /** put(byte[], byte[]). */
  @Benchmark
  public void put() throws Exception {
    for (byte[] key : keys) {
      store.put(key, value);
    }
  }

  /** put of direct buffers, which are filled for each put. */
  @Benchmark
  public void putDirect() throws Exception {
    for (byte[] key : keys) {
      keyBuffer.clear().put(key).flip();
      valueBuffer.clear().put(value).flip();
      store.put(keyBuffer, valueBuffer);
    }
  }

  /** Increments of counters, by merge. */
  @Benchmark
  public void counter() throws Exception {
    int counters = Math.min(COUNTERS, keys.length);
    for (int i = 0; i < entries; ++i) {
      store.add(keys[(int) (i * 7919L % counters)], 1);
    }
  }
}
