package dev.mergedb.benchmarks;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
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
 * Reads of `entries` entries that are in compacted tables, cached after the warm-up. One invocation reads a fifth of them at random, or all
 * of them in order; bench/jvm.py divides.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5)
@Measurement(iterations = 10)
@Fork(1)
public class ReadBenchmark {
  /** One invocation of a random read reads a part of the entries: this one. */
  static final int PART = 5;

  private static final int KEYS_A_MULTI_GET = 100;

  /** The store. */
  @Param({"mergedb", "rocksdbjni", "leveldbjni"})
  public String engine;

  /** Entries in the store. */
  @Param("1000000")
  public int entries;

  private byte[][] there;
  private byte[][] missing;
  private final List<List<byte[]>> groups = new ArrayList<>();
  private final ByteBuffer keyBuffer = ByteBuffer.allocateDirect(16);
  private final ByteBuffer valueBuffer = ByteBuffer.allocateDirect(Workload.VALUE_BYTES);
  private Path directory;
  private Engine store;

  /** Loads the store. */
  @Setup(Level.Trial)
  public void load() throws Exception {
    directory = Workload.newDirectory();
    store = Engine.open(engine, directory.resolve("db"));
    byte[] value = Workload.value();
    for (int i = 0; i < entries; ++i) {
      store.put(Workload.key(i), value);
    }
    store.compact();
    int reads = Math.max(KEYS_A_MULTI_GET, entries / PART);
    there = new byte[reads][];
    for (int i = 0; i < reads; ++i) {
      there[i] = Workload.key(i * 7919L % entries);
    }
    missing = Workload.keys(entries, reads);
    for (int i = 0; i + KEYS_A_MULTI_GET <= reads; i += KEYS_A_MULTI_GET) {
      groups.add(Arrays.asList(there).subList(i, i + KEYS_A_MULTI_GET));
    }
  }

  /** Removes the store. */
  @TearDown(Level.Trial)
  public void close() throws Exception {
    store.close();
    Workload.remove(directory);
  }

  private static void expect(long expected, long found) {
    if (expected != found) {
      throw new IllegalStateException("expected " + expected + ", found " + found);
    }
  }

  /** get(byte[]) of keys that are there. */
  @Benchmark
  public void getHit() throws Exception {
    long bytes = 0;
    for (byte[] key : there) {
      bytes += store.get(key).length;
    }
    expect((long) there.length * Workload.VALUE_BYTES, bytes);
  }

  /** get of direct buffers, of keys that are there. */
  @Benchmark
  public void getHitDirect() throws Exception {
    long bytes = 0;
    for (byte[] key : there) {
      keyBuffer.clear().put(key).flip();
      valueBuffer.clear();
      bytes += store.get(keyBuffer, valueBuffer);
    }
    expect((long) there.length * Workload.VALUE_BYTES, bytes);
  }

  /** get(byte[]) of keys that are not there. */
  @Benchmark
  public void getMiss() throws Exception {
    int found = 0;
    for (byte[] key : missing) {
      if (store.get(key) != null) {
        ++found;
      }
    }
    expect(0, found);
  }

  /** Groups of 100 keys that are there. */
  @Benchmark
  public void multiGet() throws Exception {
    long bytes = 0;
    for (List<byte[]> group : groups) {
      for (byte[] value : store.multiGet(group)) {
        bytes += value.length;
      }
    }
    expect((long) groups.size() * KEYS_A_MULTI_GET * Workload.VALUE_BYTES, bytes);
  }

  /** Key and value of every entry, in order. */
  @Benchmark
  public void scan() throws Exception {
    expect((long) entries * (16 + Workload.VALUE_BYTES), store.scan());
  }
}
