package voldemort.store.mergedb;

import java.util.Random;
import java.util.concurrent.ThreadLocalRandom;
import voldemort.performance.benchmark.Benchmark;
import voldemort.performance.benchmark.VoldemortWrapper;
import voldemort.performance.benchmark.WorkloadPlugin;

/**
 * What the seed measured, for Voldemort's performance tool: keys of 36 bytes, values of -Dseedworkload.value.bytes=N bytes of which none is like another, then
 * operations on keys that are drawn evenly from the -Dseedworkload.entries=N that were loaded. The tool's own workload writes one value under every
 * key, which compresses to almost nothing.
 */
public final class SeedWorkload extends WorkloadPlugin {
  private static final int ENTRIES = Integer.getInteger("seedworkload.entries", 1);
  private static final int VALUE_BYTES = Integer.getInteger("seedworkload.value.bytes", 1024);

  /** Letters and digits, six random bits each; values are cut out of it at places that their keys choose. */
  private static final String POOL = pool(4 << 20);

  private static String pool(int size) {
    String letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    Random random = new Random(1);
    StringBuilder pool = new StringBuilder(size);
    for (int i = 0; i < size; ++i) {
      pool.append(letters.charAt(random.nextInt(64)));
    }
    return pool.toString();
  }

  /** The tool counts keys from 0; a hash spreads them over the key space. */
  private static String key(int number) {
    long hash = number * 0x9E3779B97F4A7C15L;
    return String.format("%016x", hash ^ hash >>> 32) + "-key-of-the-seed-36b";
  }

  private static String value(int number) {
    int at = (int) ((number * 2_654_435_761L & Long.MAX_VALUE) % (POOL.length() - VALUE_BYTES));
    return POOL.substring(at, at + VALUE_BYTES);
  }

  @Override
  public boolean doWrite(Object key, String value, VoldemortWrapper db) {
    int number = Integer.parseInt((String) key);
    db.write(key(number), value(number), null);
    return true;
  }

  @Override
  public boolean doTransaction(String op, VoldemortWrapper db, String transform) {
    int number = ThreadLocalRandom.current().nextInt(ENTRIES);
    switch (op) {
      case Benchmark.READS -> db.read(key(number), value(number), null);
      case Benchmark.WRITES -> db.write(key(number), value(number + 1), null);
      default -> throw new IllegalArgumentException("operation " + op + "; expected r or w");
    }
    return true;
  }
}
