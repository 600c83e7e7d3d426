package dev.mergedb.infinispan;

import dev.mergedb.Database;
import dev.mergedb.Durability;
import dev.mergedb.EntryIterator;
import dev.mergedb.IteratorOptions;
import dev.mergedb.Keyspace;
import dev.mergedb.MergedbException;
import dev.mergedb.ReadOptions;
import dev.mergedb.Snapshot;
import dev.mergedb.Transaction;
import dev.mergedb.TransactionOptions;
import dev.mergedb.WriteBatch;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * Says which entries may be expired, without a scan of all of them: a keyspace of (due time, entry key).
 *
 * <p>A write never reads what it replaces, so the index keeps keys of entries that are gone or live longer by now. A
 * purge compares each with the entry itself. The due time is not the expiry: it is up to 1/32 of the remaining life
 * earlier, rounded down to a step, so that an entry that is written again and again, each time with a new expiry,
 * leaves a bounded number of keys here. A purge that meets such an entry before its expiry files it again, with a
 * smaller step.
 *
 * <p>Thread-safe.
 */
final class ExpiryIndex {
  private static final int STEPS_PER_LIFE = 32;
  private static final int PAGE_KEYS_MAX = 256;
  private static final int ATTEMPTS_MAX = 4;

  private final Database database;
  private final Keyspace keyspace;
  private final Durability durability;

  ExpiryIndex(Database database, Keyspace keyspace, Durability durability) {
    this.database = database;
    this.keyspace = keyspace;
    this.durability = durability;
  }

  /** Adds to a batch what the index has to know about an entry of that batch. */
  void add(WriteBatch batch, byte[] entryKey, long expiry, long now) {
    batch.put(keyspace, StoreKeys.due(dueOf(expiry, now), entryKey), new byte[0]);
  }

  /** Adds the removal of everything to a batch. */
  void clear(WriteBatch batch) {
    batch.deleteRange(keyspace, StoreKeys.begin(), StoreKeys.end());
  }

  /** Whether an entry may be expired at a time. */
  boolean mayHaveExpired(Snapshot snapshot, long now) {
    try (EntryIterator due = iterator(snapshot, StoreKeys.begin(), now)) {
      return due.seekToFirst();
    }
  }

  /** Whether an entry may expire at any time. */
  boolean isEmpty(Snapshot snapshot) {
    return !mayHaveExpired(snapshot, Long.MAX_VALUE - 1);
  }

  /** The due time of an expiry: not above it, and above now if the expiry is. */
  static long dueOf(long expiry, long now) {
    long step = Long.highestOneBit(Math.max(1, (expiry - now) / STEPS_PER_LIFE));
    return expiry - expiry % step;
  }

  private EntryIterator iterator(Snapshot snapshot, byte[] lower, long now) {
    ReadOptions read = ReadOptions.DEFAULT.in(keyspace);
    if (snapshot != null) read = read.withSnapshot(snapshot);
    return database.iterator(IteratorOptions.DEFAULT.read(read).keysOnly(true).lower(lower)
        .upper(StoreKeys.dueBegin(now + 1)));
  }

  /**
   * Removes the entries that are expired at a time, page by page. For one thread at a time; holds nothing between
   * calls.
   */
  final class Purge {
    private final long now;
    private byte[] lower = StoreKeys.begin();

    Purge(long now) {
      this.now = now;
    }

    /** Removes some expired entries: entry key and value of each. Empty: none of this page was expired. Null: done. */
    List<Map.Entry<byte[], byte[]>> nextPage() {
      List<byte[]> page = new ArrayList<>();
      try (EntryIterator due = iterator(null, lower, now)) {
        boolean isAtKey = due.seekToFirst();
        for (; isAtKey && page.size() < PAGE_KEYS_MAX; isAtKey = due.next()) page.add(due.key());
      }
      if (page.isEmpty()) return null;
      byte[] last = page.get(page.size() - 1);
      lower = Arrays.copyOf(last, last.length + 1);  // the first key after it
      return purge(page);
    }

    // A conflict means that an entry of the page was written meanwhile. One entry that is written all the time must not
    // keep the others alive, so the entries go one by one then; the next purge looks again at one that is still
    // contended.
    private List<Map.Entry<byte[], byte[]>> purge(List<byte[]> dueKeys) {
      List<Map.Entry<byte[], byte[]>> removed = tryPurge(dueKeys);
      if (removed != null) return removed;
      removed = new ArrayList<>();
      for (byte[] dueKey : dueKeys) {
        List<Map.Entry<byte[], byte[]>> one = null;
        for (int attempt = 0; one == null && attempt < ATTEMPTS_MAX; ++attempt) one = tryPurge(List.of(dueKey));
        if (one != null) removed.addAll(one);
      }
      return removed;
    }

    // Null: a conflict, and nothing was removed.
    private List<Map.Entry<byte[], byte[]>> tryPurge(List<byte[]> dueKeys) {
      List<Map.Entry<byte[], byte[]>> removed = new ArrayList<>();
      TransactionOptions options =
          TransactionOptions.DEFAULT.kind(TransactionOptions.Kind.OPTIMISTIC).durability(durability)
              .name("expiry purge");
      try (Transaction transaction = database.begin(options)) {
        for (byte[] dueKey : dueKeys) {
          byte[] entryKey = StoreKeys.entryKeyOf(dueKey);
          byte[] value = transaction.get(entryKey);
          StoredEntry entry = value == null ? null : new StoredEntry(value);
          transaction.delete(keyspace, dueKey);
          if (entry == null || entry.expiry() == StoredEntry.NEVER) continue;
          if (entry.isExpired(now)) {
            transaction.delete(entryKey);
            removed.add(Map.entry(entryKey, value));
          } else {
            transaction.put(keyspace, StoreKeys.due(dueOf(entry.expiry(), now), entryKey), new byte[0]);
          }
        }
        transaction.commit();
        return removed;
      } catch (MergedbException e) {
        if (e.code() != MergedbException.Code.CONFLICT) throw e;
        return null;
      }
    }
  }
}
