// Counters without reads: each word is one merge. A second keyspace has the lines. The argument is where the database
// goes.
import dev.mergedb.Database;
import dev.mergedb.EntryIterator;
import dev.mergedb.IteratorOptions;
import dev.mergedb.Keyspace;
import dev.mergedb.Merge;
import dev.mergedb.ReadOptions;
import dev.mergedb.WriteBatch;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

public class CountWords {
  private static final String[] LINES = {"the quick fox", "the lazy dog", "the end"};

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  public static void main(String[] args) {
    try (Database db = Database.open(Path.of(args.length > 0 ? args[0] : "/tmp/mergedb_words"))) {
      Keyspace words = db.keyspace("words");
      Keyspace lines = db.keyspace("lines");
      for (int i = 0; i < LINES.length; ++i) {
        try (WriteBatch batch = new WriteBatch()) { // a line and its words, or neither
          batch.put(lines, bytes("line " + i), bytes(LINES[i]));
          for (String word : LINES[i].split(" ")) {
            batch.addU64(words, bytes(word), 1);
          }
          db.write(batch);
        }
      }
      try (EntryIterator it = db.iterator(IteratorOptions.DEFAULT.read(ReadOptions.DEFAULT.in(words)))) {
        for (boolean there = it.seekToFirst(); there; there = it.next()) {
          System.out.println(new String(it.key(), StandardCharsets.UTF_8) + " " + Merge.toU64(it.value()));
        }
      }
    }
  }
}
