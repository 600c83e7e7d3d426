// The first example of docs/api/java.md. Built and run by the tests; the argument is where the database goes.
import dev.mergedb.Database;
import dev.mergedb.EntryIterator;
import dev.mergedb.IteratorOptions;
import dev.mergedb.WriteBatch;
import dev.mergedb.WriteOptions;
import java.nio.file.Path;

public class TenLines {
  public static void main(String[] args) {
    try (Database db = Database.open(Path.of(args.length > 0 ? args[0] : "/tmp/mergedb_example"));
        WriteBatch batch = new WriteBatch()) { // all or nothing, now and after any crash
      batch.put("fruit:apple".getBytes(), "green".getBytes());
      batch.put("fruit:cherry".getBytes(), "red".getBytes());
      db.write(WriteOptions.SYNCED, batch);
      try (EntryIterator it = db.iterator(IteratorOptions.DEFAULT.prefix("fruit:".getBytes()))) {
        for (boolean there = it.seekToFirst(); there; there = it.next()) {
          System.out.println(new String(it.key()) + " is " + new String(it.value()));
        }
      }
    }
  }
}
