// Users by id, with a unique index by email and an index by city: SecondaryIndex DIR
// A record and its index entries change in one optimistic transaction. If another thread changes what the transaction
// read, the commit throws a conflict, and put() begins again.
import dev.mergedb.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;

public class SecondaryIndex {
  private static final TransactionOptions OPTIMISTIC =
      TransactionOptions.DEFAULT.kind(TransactionOptions.Kind.OPTIMISTIC);

  private final Database db;
  private final Keyspace byId; // id: "email|city"
  private final Keyspace byEmail; // email: id
  private final Keyspace byCity; // "city|id": nothing

  private SecondaryIndex(Database db) {
    this.db = db;
    byId = db.keyspace("users");
    byEmail = db.keyspace("users by email");
    byCity = db.keyspace("users by city");
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static String get(Transaction change, Keyspace keyspace, String key) {
    byte[] value = change.get(keyspace, bytes(key));
    return value == null ? null : new String(value, StandardCharsets.UTF_8);
  }

  private void put(String id, String email, String city) {
    for (; ; ) {
      try (Transaction change = db.begin(OPTIMISTIC)) {
        String owner = get(change, byEmail, email);
        if (owner != null && !owner.equals(id)) {
          throw new IllegalArgumentException(email + " belongs to " + owner);
        }
        String old = get(change, byId, id);
        if (old != null) { // the old index entries go
          int bar = old.indexOf('|');
          change.delete(byEmail, bytes(old.substring(0, bar)));
          change.delete(byCity, bytes(old.substring(bar + 1) + "|" + id));
        }
        change.put(byId, bytes(id), bytes(email + "|" + city));
        change.put(byEmail, bytes(email), bytes(id));
        change.put(byCity, bytes(city + "|" + id), new byte[0]);
        change.commit();
        return;
      } catch (MergedbException e) {
        if (e.code() != MergedbException.Code.CONFLICT) {
          throw e;
        }
      }
    }
  }

  private void printCity(String city) {
    StringBuilder users = new StringBuilder(city + ":");
    try (EntryIterator it =
        db.iterator(IteratorOptions.DEFAULT.prefix(bytes(city + "|")).read(ReadOptions.DEFAULT.in(byCity)))) {
      for (boolean there = it.seekToFirst(); there; there = it.next()) {
        users.append(' ').append(new String(it.key(), StandardCharsets.UTF_8).substring(city.length() + 1));
      }
    }
    System.out.println(users);
  }

  private void travel(String id, String email) {
    for (int i = 0; i < 50; ++i) {
      put(id, email, i % 2 == 0 ? "Rome" : "Bergen");
    }
  }

  public static void main(String[] args) {
    try (Database db = Database.open(Path.of(args.length > 0 ? args[0] : "/tmp/mergedb_users"))) {
      SecondaryIndex users = new SecondaryIndex(db);
      users.put("1", "ann@example.org", "Oslo");
      users.put("2", "bob@example.org", "Rome");
      users.put("3", "cid@example.org", "Oslo");
      try {
        users.put("2", "ann@example.org", "Rome");
      } catch (IllegalArgumentException e) {
        System.out.println(e.getMessage());
      }
      users.printCity("Oslo");
      // Two threads move the same user about.
      CompletableFuture<Void> other = CompletableFuture.runAsync(() -> users.travel("3", "cid@example.org"));
      users.travel("3", "cid@work.example");
      other.join();
      for (String city : new String[] {"Bergen", "Oslo", "Rome"}) {
        users.printCity(city);
      }
    }
  }
}
