// A transaction that is tried again when another one wrote what it read, and a checkpoint. The argument is where the
// database goes.
import dev.mergedb.Database;
import dev.mergedb.Merge;
import dev.mergedb.MergedbException;
import dev.mergedb.Transaction;
import dev.mergedb.TransactionOptions;
import java.nio.file.Path;

public class Transfer {
  private static final TransactionOptions OPTIMISTIC =
      TransactionOptions.DEFAULT.kind(TransactionOptions.Kind.OPTIMISTIC);

  private static void transfer(Database db, String from, String to, long amount) {
    for (; ; ) {
      try (Transaction transaction = db.begin(OPTIMISTIC)) {
        long source = Merge.toI64(transaction.get(from.getBytes()));
        long target = Merge.toI64(transaction.get(to.getBytes()));
        transaction.put(from.getBytes(), Merge.fromI64(source - amount));
        transaction.put(to.getBytes(), Merge.fromI64(target + amount));
        transaction.commit();
        return;
      } catch (MergedbException e) {
        if (e.code() != MergedbException.Code.CONFLICT) {
          throw e;
        }
      }
    }
  }

  public static void main(String[] args) throws InterruptedException {
    Path directory = Path.of(args.length > 0 ? args[0] : "/tmp/mergedb_transfer");
    try (Database db = Database.open(directory)) {
      db.put("alice".getBytes(), Merge.fromI64(1000));
      db.put("bob".getBytes(), Merge.fromI64(1000));
      Thread other = new Thread(() -> {
        for (int i = 0; i < 100; ++i) {
          transfer(db, "bob", "alice", 2);
        }
      });
      other.start();
      for (int i = 0; i < 100; ++i) {
        transfer(db, "alice", "bob", 1);
      }
      other.join();
      db.checkpoint(directory.resolveSibling(directory.getFileName() + ".copy"));
      System.out.println(
          "alice " + Merge.toI64(db.get("alice".getBytes())) + ", bob " + Merge.toI64(db.get("bob".getBytes())));
    }
  }
}
