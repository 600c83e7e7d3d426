// A cache on disk with a limit in bytes, which drops the entries that were used longest ago: BoundedCache DIR
// "values" has the entries, "stamps" the time of the last use of each, and "order" the keys by that time. Each call is
// one transaction, so the three agree after a crash.
import dev.mergedb.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

public class BoundedCache implements AutoCloseable {
  private static final byte[] BYTES = bytes("bytes");

  private final Database db;
  private final long bytesMax;
  private final Keyspace values, stamps, order;

  public BoundedCache(Path directory, long bytesMax) {
    this.bytesMax = bytesMax;
    db = Database.open(directory);
    values = db.keyspace("values");
    stamps = db.keyspace("stamps");
    order = db.keyspace("order");
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static long number(byte[] text) {
    return Long.parseLong(new String(text, StandardCharsets.UTF_8));
  }

  /** The value, or null if the key is not in the cache. */
  public byte[] get(byte[] key) {
    try (Transaction change = db.begin()) {
      byte[] value = change.get(values, key);
      if (value != null) {
        touch(change, key);
        change.commit();
      }
      return value;
    }
  }

  public void put(byte[] key, byte[] value) {
    try (Transaction change = db.begin(); Cursor oldest = change.cursor(order)) {
      byte[] bytes = change.get(BYTES);
      byte[] old = change.get(values, key);
      long used = (bytes == null ? 0 : number(bytes)) - (old == null ? 0 : old.length) + value.length;
      change.put(values, key, value);
      touch(change, key);
      while (used > bytesMax && oldest.first()) {
        byte[] victim = oldest.value();
        used -= change.get(values, victim).length;
        oldest.delete();
        change.delete(values, victim);
        change.delete(stamps, victim);
      }
      change.put(BYTES, bytes(Long.toString(used)));
      change.commit();
    }
  }

  /** Makes the key the last one in the order. */
  private void touch(Transaction change, byte[] key) {
    byte[] old = change.get(stamps, key);
    if (old != null) {
      change.delete(order, old);
    }
    try (Cursor newest = change.cursor(order)) {
      // Stamps have one length, so that the order of the keys is the order of time.
      byte[] stamp = bytes(Long.toString(newest.last() ? number(newest.key()) + 1 : 1_000_000_000_000L));
      change.put(order, stamp, key);
      change.put(stamps, key, stamp);
    }
  }

  @Override
  public void close() {
    db.close();
  }

  public static void main(String[] args) {
    Path directory = Path.of(args.length > 0 ? args[0] : "/tmp/mergedb_cache");
    try (BoundedCache cache = new BoundedCache(directory, 100)) {
      for (String key : new String[] {"a", "b", "c"}) {
        cache.put(bytes(key), new byte[30]);
      }
      cache.get(bytes("a")); // "b" is now the one used longest ago
      cache.put(bytes("d"), new byte[20]); // 110 bytes are too many: "b" goes
      System.out.print(cache.get(bytes("b")) == null ? "" : "b is still there\n");
    }
    try (BoundedCache cache = new BoundedCache(directory, 100); // the cache survives a restart
        EntryIterator it = cache.db.iterator(IteratorOptions.DEFAULT.read(ReadOptions.DEFAULT.in(cache.order)))) {
      for (boolean there = it.seekToFirst(); there; there = it.next()) {
        System.out.println(new String(it.value(), StandardCharsets.UTF_8));
      }
    }
  }
}
