// Counts the words of files and prints the ten most frequent ones: WordCounter DIR FILE...
// The counts of a file and its name are one atomic batch. So a file counts once, also if the program is killed or runs
// again.
import dev.mergedb.Database;
import dev.mergedb.EntryIterator;
import dev.mergedb.IteratorOptions;
import dev.mergedb.Keyspace;
import dev.mergedb.Merge;
import dev.mergedb.MergedbException;
import dev.mergedb.ReadOptions;
import dev.mergedb.WriteBatch;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

public class WordCounter {
  private record Count(long count, String word) {}

  private final Database db;
  private final Keyspace words;
  private final Keyspace files;

  private WordCounter(Database db) {
    this.db = db;
    words = db.keyspace("words");
    files = db.keyspace("files");
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private void count(Path file) throws IOException {
    byte[] name = bytes(file.toString());
    if (db.get(ReadOptions.DEFAULT.in(files), name) != null) {
      return; // an earlier run counted it
    }
    try (WriteBatch batch = new WriteBatch()) {
      batch.put(files, name, new byte[0]);
      for (String word : Files.readString(file).toLowerCase(Locale.ROOT).split("[^a-z]+")) {
        if (!word.isEmpty()) {
          batch.addU64(words, bytes(word), 1); // reads nothing
        }
      }
      db.write(batch);
    }
  }

  private List<Count> top(int countMax) {
    List<Count> counts = new ArrayList<>();
    try (EntryIterator it = db.iterator(IteratorOptions.DEFAULT.read(ReadOptions.DEFAULT.in(words)))) {
      for (boolean there = it.seekToFirst(); there; there = it.next()) {
        counts.add(new Count(Merge.toU64(it.value()), new String(it.key(), StandardCharsets.UTF_8)));
      }
    }
    // The keys come in order, and the sort is stable: words with the same count stay in alphabetical order.
    counts.sort(Comparator.comparingLong(Count::count).reversed());
    return counts.subList(0, Math.min(countMax, counts.size()));
  }

  public static void main(String[] args) {
    if (args.length == 0) {
      System.err.println("usage: WordCounter DIR FILE...");
      System.exit(2);
    }
    try (Database db = Database.open(Path.of(args[0]))) {
      WordCounter counter = new WordCounter(db);
      for (int i = 1; i < args.length; ++i) {
        counter.count(Path.of(args[i]));
      }
      counter.top(10).forEach(count -> System.out.println(count.count() + " " + count.word()));
    } catch (MergedbException | IOException e) {
      System.err.println(e.getMessage());
      System.exit(1);
    }
  }
}
