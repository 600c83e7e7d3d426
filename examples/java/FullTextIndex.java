// Finds documents by the words in them: FullTextIndex DIR
// "postings" has a key for each word of each document, with the number of its occurrences. A document and its postings
// change in one transaction, and a search reads one snapshot: it never sees a half-indexed document.
import dev.mergedb.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.Stream;

public class FullTextIndex {
  private record Found(long occurrences, String document) {}

  private final Database db;
  private final Keyspace documents;
  private final Keyspace postings;

  private FullTextIndex(Database db) {
    this.db = db;
    documents = db.keyspace("documents");
    postings = db.keyspace("postings");
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static List<String> words(String text) {
    return Stream.of(text.toLowerCase(Locale.ROOT).split("[^a-z0-9]+")).filter(word -> !word.isEmpty()).toList();
  }

  /** Adds, replaces or (with an empty text) removes a document. */
  private void set(String document, String text) {
    try (Transaction change = db.begin()) {
      byte[] old = change.get(documents, bytes(document));
      for (String word : words(old == null ? "" : new String(old, StandardCharsets.UTF_8))) {
        change.delete(postings, bytes(word + "/" + document));
      }
      for (String word : words(text)) {
        change.addU64(postings, bytes(word + "/" + document), 1);
      }
      if (text.isEmpty()) {
        change.delete(documents, bytes(document));
      } else {
        change.put(documents, bytes(document), bytes(text));
      }
      change.commit();
    }
  }

  /** The documents with all of the words, those with the most occurrences first. */
  private List<Found> search(String query) {
    List<String> words = words(query);
    List<Found> found = new ArrayList<>();
    try (Snapshot snapshot = db.snapshot()) {
      ReadOptions read = ReadOptions.DEFAULT.withSnapshot(snapshot).in(postings);
      String prefix = words.get(0) + "/";
      try (EntryIterator it = db.iterator(IteratorOptions.DEFAULT.prefix(bytes(prefix)).keysOnly(true).read(read))) {
        for (boolean there = it.seekToFirst(); there; there = it.next()) {
          String document = new String(it.key(), StandardCharsets.UTF_8).substring(prefix.length());
          List<byte[]> keys = words.stream().map(word -> bytes(word + "/" + document)).toList();
          List<byte[]> counts = db.multiGet(read, keys);
          if (counts.stream().allMatch(count -> count != null)) {
            found.add(new Found(counts.stream().mapToLong(Merge::toU64).sum(), document));
          }
        }
      }
    }
    found.sort(Comparator.comparingLong(Found::occurrences).reversed());
    return found;
  }

  private void show(String query) {
    System.out.println(search(query).stream()
        .map(found -> " " + found.document() + " (" + found.occurrences() + ")")
        .collect(Collectors.joining("", query + ":", "")));
  }

  public static void main(String[] args) {
    try (Database db = Database.open(Path.of(args.length > 0 ? args[0] : "/tmp/mergedb_text"))) {
      FullTextIndex index = new FullTextIndex(db);
      index.set("fable", "The quick fox and the slow fox met a dog.");
      index.set("news", "A fox was seen at the harbour.");
      index.set("recipe", "A quick soup: onions, water, salt.");
      List.of("fox", "quick", "Quick fox").forEach(index::show);
      index.set("news", "The quick fox has left; a quick search found nothing.");
      index.set("fable", "");
      List.of("quick fox", "dog", "harbour").forEach(index::show);
    }
  }
}
