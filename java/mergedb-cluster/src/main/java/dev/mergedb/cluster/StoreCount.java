package dev.mergedb.cluster;

import dev.mergedb.Database;
import dev.mergedb.EntryIterator;
import dev.mergedb.IteratorOptions;
import dev.mergedb.Options;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;

/**
 * Counts the keys in the stores of some nodes, without Infinispan: what is on disk. It opens the databases for reading
 * only, also while the nodes run.
 *
 * <p>Arguments: the databases' directories. Output: a line with the number of keys of each, and one with the number of
 * different keys in all of them.
 */
public final class StoreCount {
  private static final int SEGMENT_BYTES = Integer.BYTES;  // in front of each key

  private StoreCount() {}

  public static void main(String[] args) {
    if (args.length == 0) throw new IllegalArgumentException("usage: StoreCount DIRECTORY...");
    Set<ByteBuffer> all = new HashSet<>();
    for (String directory : args) {
      long count = 0;
      try (Database database = Database.open(Path.of(directory), new Options().mode(Options.Mode.READ_ONLY));
          EntryIterator entries = database.iterator(IteratorOptions.DEFAULT.keysOnly(true))) {
        for (boolean isAtKey = entries.seekToFirst(); isAtKey; isAtKey = entries.next()) {
          byte[] key = entries.key();
          all.add(ByteBuffer.wrap(Arrays.copyOfRange(key, SEGMENT_BYTES, key.length)));
          ++count;
        }
      }
      System.out.println("store " + count);
    }
    System.out.println("different " + all.size());
  }
}
