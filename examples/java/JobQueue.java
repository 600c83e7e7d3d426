// A durable queue of jobs with several workers: JobQueue DIR
// A job moves from "ready" to "running" to "done", and each step is atomic. So no job is lost or taken twice. After a
// crash, recover() returns the jobs of the workers that died to the queue.
import dev.mergedb.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;

public class JobQueue {
  private record Job(byte[] id, byte[] text) {}

  private final Database db;
  private final Keyspace ready;
  private final Keyspace running;
  private final Keyspace done;

  private JobQueue(Database db) {
    this.db = db;
    ready = db.keyspace("ready");
    running = db.keyspace("running");
    done = db.keyspace("done");
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  private void add(String... jobs) {
    try (Transaction change = db.begin(TransactionOptions.DEFAULT.durability(Durability.SYNCED))) {
      byte[] stored = change.get(bytes("last id"));
      // Ids have one length, so that the order of the keys is the order of the jobs.
      long last = stored == null ? 100_000_000 : Long.parseLong(text(stored));
      for (String job : jobs) {
        change.put(ready, bytes(Long.toString(++last)), bytes(job));
      }
      change.put(bytes("last id"), bytes(Long.toString(last)));
      change.commit();
    }
  }

  /** The oldest job, or null. A single writer excludes all other workers until it commits. */
  private Job take() {
    try (Transaction change = db.begin(); Cursor cursor = change.cursor(ready)) {
      if (!cursor.first()) {
        return null;
      }
      Job job = new Job(cursor.key(), cursor.value());
      cursor.delete();
      change.put(running, job.id(), job.text());
      change.commit();
      return job;
    }
  }

  private void move(byte[] id, byte[] text, Keyspace target) {
    try (WriteBatch batch = new WriteBatch()) {
      batch.delete(running, id);
      batch.put(target, id, text);
      db.write(batch);
    }
  }

  private void recover() {
    try (EntryIterator it = db.iterator(IteratorOptions.DEFAULT.read(ReadOptions.DEFAULT.in(running)))) {
      for (boolean there = it.seekToFirst(); there; there = it.next()) {
        System.out.println("recovered " + text(it.key()));
        move(it.key(), it.value(), ready);
      }
    }
  }

  private void work() {
    for (Job job = take(); job != null; job = take()) {
      move(job.id(), bytes(text(job.text()) + ": done"), done); // a real worker does the job here
    }
  }

  public static void main(String[] args) {
    try (Database db = Database.open(Path.of(args.length > 0 ? args[0] : "/tmp/mergedb_queue"))) {
      JobQueue queue = new JobQueue(db);
      queue.recover();
      queue.add("resize cat.png", "resize dog.png", "mail ann", "mail bob", "rotate logs", "backup");
      queue.take(); // this worker never ends its job
      queue.recover(); // so the next start of the program returns it
      CompletableFuture<Void> other = CompletableFuture.runAsync(queue::work);
      queue.work();
      other.join();
      try (EntryIterator it = db.iterator(IteratorOptions.DEFAULT.read(ReadOptions.DEFAULT.in(queue.done)))) {
        for (boolean there = it.seekToFirst(); there; there = it.next()) {
          System.out.println(text(it.key()) + " " + text(it.value()));
        }
      }
    }
  }
}
