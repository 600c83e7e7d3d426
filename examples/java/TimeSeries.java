// Measurements by sensor and minute, with sums of each hour, range queries and a retention: TimeSeries DIR
// A sample and its share of the hour's sums are one atomic batch. The sums are merges, so a write reads nothing.
import dev.mergedb.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Locale;

public class TimeSeries {
  private final Database db;
  private final Keyspace samples;
  private final Keyspace hours;

  private TimeSeries(Database db) {
    this.db = db;
    samples = db.keyspace("samples");
    hours = db.keyspace("hours");
  }

  /** Numbers have a fixed width, so that the order of the keys is the order of time. */
  private static byte[] key(String sensor, int time, String suffix) {
    return String.format(Locale.ROOT, "%s/%010d%s", sensor, time, suffix).getBytes(StandardCharsets.UTF_8);
  }

  private void record(String sensor, int minute, double value) {
    try (WriteBatch batch = new WriteBatch()) {
      batch.put(samples, key(sensor, minute, ""), Merge.fromF64(value));
      batch.addU64(hours, key(sensor, minute / 60, "/count"), 1);
      batch.merge(hours, key(sensor, minute / 60, "/max"), Merge.maxF64(value));
      batch.merge(hours, key(sensor, minute / 60, "/sum"), Merge.addF64(value));
      db.write(batch);
    }
  }

  private void printHour(String sensor, int hour) {
    ReadOptions inHours = ReadOptions.DEFAULT.in(hours);
    long count = Merge.toU64(db.get(inHours, key(sensor, hour, "/count")));
    double largest = Merge.toF64(db.get(inHours, key(sensor, hour, "/max")));
    double mean = Merge.toF64(db.get(inHours, key(sensor, hour, "/sum"))) / count;
    System.out.printf(
        Locale.ROOT, "%s, hour %d: %d samples, mean %.2f, max %.1f%n", sensor, hour, count, mean, largest);
  }

  /** The samples of [begin, end). */
  private void printRange(String sensor, int begin, int end) {
    IteratorOptions range =
        IteratorOptions.DEFAULT
            .lower(key(sensor, begin, ""))
            .upper(key(sensor, end, ""))
            .read(ReadOptions.DEFAULT.in(samples));
    int count = 0;
    double lowest = Double.MAX_VALUE;
    try (EntryIterator it = db.iterator(range)) {
      for (boolean there = it.seekToFirst(); there; there = it.next(), ++count) {
        lowest = Math.min(lowest, Merge.toF64(it.value()));
      }
    }
    System.out.printf(
        Locale.ROOT, "%s, minutes %d to %d: %d samples, min %.1f%n", sensor, begin, end, count, lowest);
  }

  private void printLast(String sensor) {
    byte[] prefix = (sensor + "/").getBytes(StandardCharsets.UTF_8);
    try (EntryIterator it =
        db.iterator(IteratorOptions.DEFAULT.prefix(prefix).read(ReadOptions.DEFAULT.in(samples)))) {
      if (it.seekToLast()) {
        String key = new String(it.key(), StandardCharsets.UTF_8);
        System.out.printf(Locale.ROOT, "last: %s %.1f%n", key, Merge.toF64(it.value()));
      }
    }
  }

  public static void main(String[] args) {
    try (Database db = Database.open(Path.of(args.length > 0 ? args[0] : "/tmp/mergedb_series"))) {
      TimeSeries series = new TimeSeries(db);
      for (int minute = 0; minute < 1440; ++minute) {
        series.record("kitchen", minute, 20 + minute * 7 % 50 / 10.0);
        series.record("outside", minute, 5 + minute * 3 % 80 / 10.0);
      }
      series.printHour("kitchen", 13);
      series.printRange("outside", 600, 660);
      series.printLast("kitchen");
      // The retention: samples older than minute 720 go, by one write. The sums of the hours stay.
      db.deleteRange(
          WriteOptions.DEFAULT.in(series.samples), key("outside", 0, ""), key("outside", 720, ""));
      series.printRange("outside", 700, 730);
      series.printHour("outside", 0);
    }
  }
}
