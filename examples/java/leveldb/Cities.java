import static org.fusesource.leveldbjni.JniDBFactory.asString;
import static org.fusesource.leveldbjni.JniDBFactory.bytes;
import static org.fusesource.leveldbjni.JniDBFactory.factory;

import java.io.File;
import java.util.Map;
import org.iq80.leveldb.DB;
import org.iq80.leveldb.DBIterator;
import org.iq80.leveldb.Options;
import org.iq80.leveldb.ReadOptions;
import org.iq80.leveldb.Snapshot;
import org.iq80.leveldb.WriteBatch;

/**
 * A program of leveldbjni that names nothing of mergedb. It runs on either jar:
 *
 * <pre>java -cp java/mergedb-leveldbjni/target/mergedb-leveldbjni-0.1.0-all.jar examples/java/leveldb/Cities.java /tmp/cities</pre>
 */
public class Cities {
  /** The argument is the directory. */
  public static void main(String[] arguments) throws Exception {
    try (DB db = factory.open(new File(arguments[0]), new Options().createIfMissing(true))) {
      db.put(bytes("Tampa"), bytes("rocks"));
      try (Snapshot before = db.getSnapshot();
          WriteBatch batch = db.createWriteBatch()) {
        db.write(batch.delete(bytes("Denver")).put(bytes("Tampa"), bytes("green")).put(bytes("London"), bytes("red")));
        System.out.println("Tampa was " + asString(db.get(bytes("Tampa"), new ReadOptions().snapshot(before))));
      }
      try (DBIterator iterator = db.iterator()) {
        for (iterator.seekToFirst(); iterator.hasNext(); ) {
          Map.Entry<byte[], byte[]> entry = iterator.next();
          System.out.println(asString(entry.getKey()) + " is " + asString(entry.getValue()));
        }
      }
    }
  }
}
