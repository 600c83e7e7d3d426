package dev.mergedb.versions;

import static dev.mergedb.versions.Fixtures.bytes;
import static dev.mergedb.versions.Fixtures.clock;
import static dev.mergedb.versions.Fixtures.sorted;
import static dev.mergedb.versions.Fixtures.text;
import static dev.mergedb.versions.Fixtures.values;
import static dev.mergedb.versions.Fixtures.version;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.mergedb.Database;
import dev.mergedb.IteratorOptions;
import dev.mergedb.Keyspace;
import dev.mergedb.MergedbException;
import dev.mergedb.Options;
import dev.mergedb.ReadOptions;
import dev.mergedb.Transaction;
import dev.mergedb.WriteOptions;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StoreTest {
  /** The partition of a key is the number that it begins with, or 7. */
  private static final StoreOptions PARTITIONED = new StoreOptions().name("test").partitioner(StoreTest::partition);

  @TempDir Path directory;
  private Database database;
  private Keyspace keyspace;
  private VersionedStore store;

  private static int partition(byte[] key) {
    return key.length > 0 && Character.isDigit(key[0]) ? key[0] - '0' : 7;
  }

  @BeforeEach
  void open() {
    database = Database.open(directory.resolve("db"), new Options().memoryBytes(16 << 20));
    keyspace = database.keyspace("store");
    store = VersionedStore.open(database, keyspace, PARTITIONED);
  }

  @AfterEach
  void close() {
    store.close();
    database.close();
  }

  private void reopen(StoreOptions options) {
    close();
    database = Database.open(directory.resolve("db"), new Options().memoryBytes(16 << 20));
    keyspace = database.keyspace("store");
    store = VersionedStore.open(database, keyspace, options);
  }

  private String get(String key) {
    return values(store.get(bytes(key)));
  }

  private void put(String key, String value, long... nodesAndCounters) {
    store.put(bytes(key), version(value, nodesAndCounters));
  }

  private List<String> entries(Scan<Entry> scan) {
    List<String> found = new ArrayList<>();
    try (scan) {
      scan.forEachRemaining(entry -> found.add(text(entry.key()) + "=" + text(entry.version().value())));
    }
    return found;
  }

  private List<String> keys(Scan<byte[]> scan) {
    List<String> found = new ArrayList<>();
    try (scan) {
      scan.forEachRemaining(key -> found.add(text(key)));
    }
    return found;
  }

  private int records() {
    int count = 0;
    try (var all = database.iterator(IteratorOptions.DEFAULT.read(ReadOptions.DEFAULT.in(keyspace)))) {
      for (boolean stands = all.seekToFirst(); stands; stands = all.next()) {
        ++count;
      }
    }
    return count - 1;  // less the mark
  }

  // ---- put and get

  @Test
  void aKeyThatIsNotThereHasNoVersions() {
    assertEquals(List.of(), store.get(bytes("a")));
    assertEquals(List.of(), store.getVersions(bytes("a")));
    store.get(bytes("a")).add(version("mutable", 1, 1));
    assertEquals("", get("a"));
  }

  @Test
  void aPutIsFound() {
    put("a", "one", 1, 1);
    Versioned found = store.get(bytes("a")).get(0);
    assertEquals(version("one", 1, 1), found);
    assertEquals(1_700_000_000_000L, found.clock().timestamp());
    assertEquals(1, records());
  }

  @Test
  void emptyKeysAndValuesAreKeysAndValues() {
    put("", "", 1, 1);
    put("\0", "zero", 1, 1);
    assertEquals(List.of(version("", 1, 1)), store.get(new byte[0]));
    assertEquals("zero", get("\0"));
    assertEquals(2, keys(store.keys()).size());
  }

  @Test
  void largeValuesComeBack() {
    byte[] value = new byte[3 << 20];
    Fixtures.random("largeValuesComeBack").nextBytes(value);
    store.put(bytes("a"), new Versioned(value, clock(1, 1)));
    store.put(bytes("a"), new Versioned(value, clock(2, 1)));
    assertEquals(List.of(new Versioned(value, clock(1, 1)), new Versioned(value, clock(2, 1))), sorted(store.get(bytes("a"))));
  }

  @Test
  void anObsoletePutIsRefusedAndChangesNothing() {
    put("a", "two", 1, 2);
    for (VectorClock obsolete : List.of(clock(1, 1), clock(1, 2), clock())) {
      ObsoleteVersionException e =
          assertThrows(ObsoleteVersionException.class, () -> store.put(bytes("a"), new Versioned(bytes("old"), obsolete)));
      assertEquals(obsolete, e.written());
      assertEquals(clock(1, 2), e.stored());
      assertTrue(e.getMessage().startsWith("store test, key 61: "), e.getMessage());
    }
    assertEquals("two", get("a"));
  }

  @Test
  void concurrentVersionsAreKeptUntilOneSupersedesThem() {
    put("a", "x", 1, 1);
    put("a", "y", 2, 1);
    put("a", "z", 3, 1);
    assertEquals("x y z", get("a"));
    assertEquals(3, records());
    assertEquals(List.of(clock(1, 1), clock(2, 1), clock(3, 1)), store.getVersions(bytes("a")));
    put("a", "xy", 1, 1, 2, 1, 4, 1);
    assertEquals("xy z", get("a"));
    assertEquals(2, records());
    assertThrows(ObsoleteVersionException.class, () -> put("a", "w", 3, 1));
    put("a", "all", 1, 1, 2, 1, 3, 1, 4, 2);
    assertEquals("all", get("a"));
    assertEquals(1, records());
  }

  @Test
  void aSiblingIsSupersededAlone() {
    put("a", "x", 1, 1);
    put("a", "y", 2, 1);
    put("a", "z", 3, 1);
    put("a", "y2", 2, 2);
    assertEquals("x y2 z", get("a"));
    put("a", "z2", 3, 2);
    assertEquals("x y2 z2", get("a"));
    assertEquals(3, records());
  }

  @Test
  void keysThatContinueEachOtherDoNotMix() {
    for (String key : List.of("a", "a\0", "a\0\0", "a\0\1", "a\0\1\0\0")) {
      store.multiVersionPut(bytes(key), List.of(version(key + "-x", 1, 1), version(key + "-y", 2, 1)));
    }
    assertEquals("a-x a-y", get("a"));
    assertEquals("a\0-x a\0-y", get("a\0"));
    store.delete(bytes("a"), null);
    assertEquals("", get("a"));
    assertEquals("a\0\0-x a\0\0-y", get("a\0\0"));
    assertEquals("a\0\1-x a\0\1-y", get("a\0\1"));
    assertEquals(8, entries(store.entries()).size());
  }

  @Test
  void getAllGivesEachKeyItsVersions() {
    put("a", "one", 1, 1);
    put("b", "x", 1, 1);
    put("b", "y", 2, 1);
    List<List<Versioned>> found = store.getAll(List.of(bytes("b"), bytes("none"), bytes("a"), bytes("b")));
    assertEquals(List.of("x y", "", "one", "x y"), found.stream().map(Fixtures::values).toList());
    assertEquals(List.of(), store.getAll(List.of()));
  }

  // ---- several versions at once

  @Test
  void multiVersionPutReturnsWhatIsObsolete() {
    assertEquals(List.of(), store.multiVersionPut(bytes("a"), List.of(version("x", 1, 1), version("y", 2, 1), version("z", 3, 1))));
    assertEquals("x y z", get("a"));
    assertEquals(
        List.of(version("old", 2, 1)),
        store.multiVersionPut(bytes("a"), List.of(version("old", 2, 1), version("w", 4, 1), version("x2", 1, 2))));
    assertEquals("w x2 y z", get("a"));
    assertEquals(4, records());
  }

  @Test
  void multiVersionPutComparesItsVersionsWithEachOther() {
    assertEquals(List.of(), store.multiVersionPut(bytes("a"), List.of(version("x", 1, 1), version("x2", 1, 2))));
    assertEquals("x2", get("a"));
    List<Versioned> obsolete = store.multiVersionPut(bytes("b"), List.of(version("x2", 1, 2), version("x", 1, 1)));
    assertEquals(List.of(version("x", 1, 1)), obsolete);
    assertEquals("x2", get("b"));
    assertEquals(List.of(), store.multiVersionPut(bytes("b"), List.of()));
  }

  @Test
  void slotsAreUsedAgain() {
    for (int round = 1; round <= 50; ++round) {
      store.multiVersionPut(bytes("a"), List.of(version("x", 1, 2 * round + 1, 2, 2 * round), version("y", 1, 2 * round, 2, 2 * round + 1)));
      assertEquals("x y", get("a"));
      assertEquals(2, records());
    }
  }

  // ---- delete

  @Test
  void deleteWithoutAClockRemovesAllVersions() {
    assertFalse(store.delete(bytes("a"), null));
    store.multiVersionPut(bytes("a"), List.of(version("x", 1, 1), version("y", 2, 1)));
    assertTrue(store.delete(bytes("a"), null));
    assertEquals("", get("a"));
    assertEquals(0, records());
    assertFalse(store.delete(bytes("a"), null));
  }

  @Test
  void deleteWithAClockRemovesWhatItSupersedesOrEquals() {
    assertFalse(store.delete(bytes("a"), clock(1, 1)));
    store.multiVersionPut(bytes("a"), List.of(version("x", 1, 1), version("y", 2, 1), version("z", 3, 2)));
    assertFalse(store.delete(bytes("a"), clock(3, 1)), "an older clock deletes nothing");
    assertFalse(store.delete(bytes("a"), clock(4, 1)), "a concurrent clock deletes nothing");
    assertEquals("x y z", get("a"));
    assertTrue(store.delete(bytes("a"), clock(2, 1)), "a sibling");
    assertEquals("x z", get("a"));
    assertTrue(store.delete(bytes("a"), clock(1, 1)), "the head: the sibling takes its place");
    assertEquals("z", get("a"));
    assertEquals(1, records());
    assertTrue(store.delete(bytes("a"), clock(3, 9)));
    assertEquals(0, records());
  }

  @Test
  void aDeletedKeyTakesAnyVersion() {
    put("a", "x", 1, 5);
    store.delete(bytes("a"), clock(1, 5));
    put("a", "older", 1, 1);
    assertEquals("older", get("a"));
  }

  // ---- locks

  @Test
  void putAndUnlockReplacesAllVersions() {
    store.multiVersionPut(bytes("a"), List.of(version("x", 1, 1), version("y", 2, 1)));
    LockedKey locked = store.getAndLock(bytes("a"));
    assertEquals("x y", values(locked.versions()));
    assertEquals("a", text(locked.key()));
    store.putAndUnlock(locked, List.of(version("older", 1, 0)));
    assertEquals("older", get("a"));
    assertEquals(1, records());
    store.putAndUnlock(store.getAndLock(bytes("a")), List.of(version("x", 1, 1), version("y", 2, 1), version("z", 3, 1)));
    assertEquals("x y z", get("a"));
    store.putAndUnlock(store.getAndLock(bytes("a")), List.of());
    assertEquals(0, records());
  }

  @Test
  void aLockedKeyMakesOtherWritersWait() throws Exception {
    put("a", "x", 1, 1);
    LockedKey locked = store.getAndLock(bytes("a"));
    CountDownLatch started = new CountDownLatch(1);
    CompletableFuture<String> other =
        CompletableFuture.supplyAsync(
            () -> {
              started.countDown();
              put("a", "z", 1, 3);
              return get("a");
            });
    started.await();
    assertEquals("x", get("a"), "readers do not wait");
    store.putAndUnlock(locked, List.of(version("y", 1, 2)));
    assertEquals("z", other.get());
  }

  @Test
  void theThreadThatHoldsAKeyMayWriteIt() {
    LockedKey locked = store.getAndLock(bytes("a"));
    put("a", "x", 1, 1);
    assertThrows(IllegalStateException.class, () -> store.truncate());
    store.releaseLock(locked);
    assertEquals("x", get("a"));
    store.truncate();
  }

  @Test
  void aLockIsEndedOnceAndByItsThread() throws Exception {
    LockedKey locked = store.getAndLock(bytes("a"));
    Throwable failure =
        CompletableFuture.supplyAsync(() -> assertThrows(IllegalStateException.class, () -> store.releaseLock(locked))).get();
    assertTrue(failure.getMessage().contains("another thread"), failure.getMessage());
    store.releaseLock(locked);
    assertThrows(IllegalStateException.class, () -> store.releaseLock(locked));
    assertThrows(IllegalStateException.class, () -> store.putAndUnlock(locked, List.of(version("x", 1, 1))));
    assertEquals("", get("a"));
    put("a", "x", 1, 1);
  }

  @Test
  void aFailedPutUnlocks() throws Exception {
    LockedKey locked = store.getAndLock(bytes("a"));
    List<Versioned> withNull = new ArrayList<>();
    withNull.add(null);
    assertThrows(NullPointerException.class, () -> store.putAndUnlock(locked, withNull));
    CompletableFuture.runAsync(() -> put("a", "x", 1, 1)).get();
    assertEquals("x", get("a"));
  }

  // ---- scans

  @Test
  void scansSeeEveryVersionAndEachKeyOnce() {
    put("1a", "x", 1, 1);
    put("2b", "y", 1, 1);
    put("2b", "z", 2, 1);
    put("3c", "w", 1, 1);
    assertEquals(List.of("1a=x", "2b=y", "2b=z", "3c=w"), entries(store.entries()));
    assertEquals(List.of("1a", "2b", "3c"), keys(store.keys()));
    assertEquals(List.of("2b=y", "2b=z"), entries(store.entries(2)));
    assertEquals(List.of("2b"), keys(store.keys(2)));
    assertEquals(List.of(), entries(store.entries(4)));
    assertEquals(List.of(), keys(store.keys(65_535)));
    assertThrows(IllegalArgumentException.class, () -> store.keys(65_536));
    assertThrows(IllegalArgumentException.class, () -> store.entries(-1));
  }

  @Test
  void aPartitionIsNotMixedWithItsNeighbours() {
    StoreOptions options = new StoreOptions().partitioner(key -> (key[0] & 0xff) << 8 | key[1] & 0xff);
    try (VersionedStore many = VersionedStore.open(database, database.createKeyspace("partitions"), options)) {
      int[] partitions = {0, 1, 255, 256, 65_534, 65_535};
      for (int partition : partitions) {
        many.put(new byte[] {(byte) (partition >> 8), (byte) partition, 5}, version("p" + partition, 1, 1));
      }
      for (int partition : partitions) {
        try (Scan<Entry> scan = many.entries(partition)) {
          assertEquals("p" + partition, text(scan.next().version().value()));
          assertFalse(scan.hasNext());
        }
      }
      assertEquals(List.of(), keys(many.keys(2)));
    }
  }

  @Test
  void aScanShowsTheMomentItBegan() {
    put("1a", "x", 1, 1);
    put("1a", "y", 2, 1);
    try (Scan<Entry> scan = store.entries()) {
      put("1a", "xy", 1, 2, 2, 2);
      put("1b", "new", 1, 1);
      store.truncate();
      assertTrue(scan.hasNext());
      assertTrue(scan.hasNext(), "hasNext moves nothing");
      assertEquals("x", text(scan.next().version().value()));
      assertEquals("y", text(scan.next().version().value()));
      assertFalse(scan.hasNext());
      assertThrows(NoSuchElementException.class, scan::next);
      assertThrows(UnsupportedOperationException.class, scan::remove);
    }
    assertEquals(List.of(), entries(store.entries()));
  }

  @Test
  void aClosedScanIsAtItsEnd() {
    put("1a", "x", 1, 1);
    Scan<byte[]> scan = store.keys();
    scan.close();
    scan.close();
    assertFalse(scan.hasNext());
  }

  @Test
  void aStoreWithoutPartitionsRefusesPartitionScans() {
    Keyspace other = database.createKeyspace("plain");
    try (VersionedStore plain = VersionedStore.open(database, other, new StoreOptions())) {
      plain.put(bytes("a"), version("x", 1, 1));
      plain.put(bytes("a"), version("y", 2, 1));
      plain.put(new byte[0], version("e", 1, 1));
      assertFalse(plain.isPartitioned());
      assertEquals(List.of("=e", "a=x", "a=y"), entries(plain.entries()));
      assertEquals(List.of("", "a"), keys(plain.keys()));
      assertThrows(UnsupportedOperationException.class, () -> plain.keys(1));
      assertThrows(UnsupportedOperationException.class, () -> plain.entries(1));
    }
    assertTrue(store.isPartitioned());
  }

  // ---- truncate, batches, open and close

  @Test
  void truncateLeavesAnEmptyStoreThatWorks() {
    Keyspace neighbour = database.keyspace("neighbour");
    database.put(WriteOptions.DEFAULT.in(neighbour), bytes("k"), bytes("v"));
    put("1a", "x", 1, 1);
    put("1a", "y", 2, 1);
    store.truncate();
    assertEquals("", get("1a"));
    assertEquals(0, records());
    put("1a", "older", 1, 1);
    assertEquals("older", get("1a"));
    assertNotNull(database.get(ReadOptions.DEFAULT.in(neighbour), bytes("k")));
    reopen(PARTITIONED);
    assertEquals("older", get("1a"));
  }

  /**
   * A store without its mark does not open. Two writers wait for the first single writer: truncate, and then the second
   * single writer. The second one begins after the first write of truncate, and every later write waits for it.
   */
  @Test
  void truncateIsOneWriteThatKeepsTheMark() throws Exception {
    put("1a", "x", 1, 1);
    CompletableFuture<Void> truncate;
    CompletableFuture<byte[]> markThen;
    try (Transaction first = database.begin()) {
      first.setSavepoint();
      truncate = CompletableFuture.runAsync(store::truncate, command -> new Thread(command).start());
      Thread.sleep(300);
      markThen = CompletableFuture.supplyAsync(this::markInATransaction, command -> new Thread(command).start());
      Thread.sleep(300);
    }
    assertNotNull(markThen.get());
    truncate.get();
    assertEquals(0, records());
  }

  private byte[] markInATransaction() {
    try (Transaction second = database.begin()) {
      return second.get(keyspace, KeyLayout.MARK_KEY);
    }
  }

  @Test
  void truncateTakesTheSmallestAndTheLargestKeys() {
    Keyspace plain = database.createKeyspace("plain");
    try (VersionedStore other = VersionedStore.open(database, plain, new StoreOptions())) {
      byte[] largest = new byte[1000];
      Arrays.fill(largest, (byte) 0xff);
      for (byte[] key : List.of(new byte[0], new byte[1], largest, Arrays.copyOf(largest, 10))) {
        other.multiVersionPut(key, List.of(version("x", 1, 1), version("y", 2, 1)));
      }
      assertEquals(4, keys(other.keys()).size());
      other.truncate();
      assertEquals(List.of(), keys(other.keys()));
      other.put(new byte[0], version("alone", 1, 1));
      other.truncate();
      assertEquals(List.of(), keys(other.keys()));
      other.truncate();
    }
    VersionedStore.open(database, plain, new StoreOptions()).close();
  }

  @Test
  void truncateWorksInTheDefaultKeyspace() {
    put("1a", "neighbour", 1, 1);
    try (VersionedStore other = VersionedStore.open(database, Keyspace.DEFAULT, PARTITIONED)) {
      other.multiVersionPut(bytes("1a"), List.of(version("x", 1, 1), version("y", 2, 1)));
      other.put(bytes("9z"), version("z", 1, 1));
      other.truncate();
      assertEquals(List.of(), keys(other.keys()));
      other.put(bytes("1a"), version("older", 1, 0));
    }
    reopen(PARTITIONED);
    assertEquals("neighbour", get("1a"));
    try (VersionedStore other = VersionedStore.open(database, Keyspace.DEFAULT, PARTITIONED)) {
      assertEquals("older", values(other.get(bytes("1a"))));
    }
  }

  @Test
  void batchesBeginAndEndOnce() {
    reopen(new StoreOptions().name("test").partitioner(StoreTest::partition).synced(true));
    assertFalse(store.endBatch());
    assertTrue(store.beginBatch());
    assertFalse(store.beginBatch());
    put("a", "x", 1, 1);
    assertTrue(store.endBatch());
    assertFalse(store.endBatch());
    put("b", "y", 1, 1);
    reopen(PARTITIONED);
    assertEquals("x", get("a"));
    assertEquals("y", get("b"));
  }

  @Test
  void aStoreKeepsItsLayout() {
    put("a", "x", 1, 1);
    store.close();
    MergedbException e = assertThrows(MergedbException.class, () -> VersionedStore.open(database, keyspace, new StoreOptions()));
    assertEquals(MergedbException.Code.INVALID_ARGUMENT, e.code());
    assertTrue(e.getMessage().contains("partitioner"), e.getMessage());
    reopen(PARTITIONED);
    assertEquals("x", get("a"));
    VersionedStore.open(database, database.createKeyspace("plain"), new StoreOptions()).close();
    Keyspace plain = database.findKeyspace("plain");
    assertThrows(MergedbException.class, () -> VersionedStore.open(database, plain, PARTITIONED));
  }

  @Test
  void otherDataIsRefused() {
    Keyspace other = database.createKeyspace("other");
    database.put(WriteOptions.DEFAULT.in(other), bytes("k"), bytes("v"));
    MergedbException e = assertThrows(MergedbException.class, () -> VersionedStore.open(database, other, PARTITIONED));
    assertEquals(MergedbException.Code.INVALID_ARGUMENT, e.code());
    Keyspace newer = database.createKeyspace("newer");
    database.put(WriteOptions.DEFAULT.in(newer), KeyLayout.MARK_KEY, new byte[] {2, 0, 0});
    e = assertThrows(MergedbException.class, () -> VersionedStore.open(database, newer, PARTITIONED));
    assertEquals(MergedbException.Code.NOT_SUPPORTED, e.code());
  }

  @Test
  void aClosedStoreRefusesEveryCall() {
    put("a", "x", 1, 1);
    Versioned version = version("y", 1, 2);
    store.close();
    store.close();
    List<Runnable> calls =
        List.of(
            () -> store.get(bytes("a")),
            () -> store.getAll(List.of(bytes("a"))),
            () -> store.getVersions(bytes("a")),
            () -> store.put(bytes("a"), version),
            () -> store.multiVersionPut(bytes("a"), List.of(version)),
            () -> store.delete(bytes("a"), null),
            () -> store.getAndLock(bytes("a")),
            () -> store.keys(),
            () -> store.entries(),
            () -> store.keys(1),
            () -> store.entries(1),
            () -> store.beginBatch(),
            () -> store.endBatch(),
            () -> store.truncate());
    for (Runnable call : calls) {
      assertEquals(MergedbException.Code.CLOSED, assertThrows(MergedbException.class, call::run).code());
    }
    assertTrue(database.isOpen());
    assertEquals("test", store.name());
  }

  @Test
  void nullIsRefused() {
    assertThrows(NullPointerException.class, () -> store.get(null));
    assertThrows(NullPointerException.class, () -> store.put(null, version("x", 1, 1)));
    assertThrows(NullPointerException.class, () -> store.put(bytes("a"), null));
    assertThrows(NullPointerException.class, () -> store.multiVersionPut(bytes("a"), null));
    assertThrows(NullPointerException.class, () -> new Versioned(null, clock()));
    assertThrows(NullPointerException.class, () -> new Versioned(new byte[0], null));
    assertThrows(IllegalArgumentException.class, () -> VersionedStore.open(database, keyspace, new StoreOptions().lockStripes(0)));
    assertThrows(IllegalArgumentException.class, () -> VersionedStore.open(database, keyspace, new StoreOptions().readPool(-1)));
  }

  // ---- damage

  @Test
  void aDamagedHeadIsAnErrorAndDeleteHealsIt() {
    store.multiVersionPut(bytes("1a"), List.of(version("x", 1, 1), version("y", 2, 1)));
    put("1a\0\0", "neighbour", 1, 1);
    byte[] headKey = new KeyLayout(StoreTest::partition).headKey(bytes("1a"));
    database.put(WriteOptions.DEFAULT.in(keyspace), headKey, new byte[] {9, 9});
    VersionFormatException e = assertThrows(VersionFormatException.class, () -> store.get(bytes("1a")));
    assertTrue(e.getMessage().startsWith("store test, record 000131610000: expected a head"), e.getMessage());
    assertThrows(VersionFormatException.class, () -> put("1a", "z", 3, 1));
    assertThrows(VersionFormatException.class, () -> store.delete(bytes("1a"), clock(1, 1)));
    assertTrue(store.delete(bytes("1a"), null));
    assertEquals("", get("1a"));
    assertEquals(1, records());
    assertEquals("neighbour", get("1a\0\0"));
  }

  @Test
  void aMissingSiblingIsAnError() {
    store.multiVersionPut(bytes("1a"), List.of(version("x", 1, 1), version("y", 2, 1)));
    byte[] siblingKey = KeyLayout.siblingKey(new KeyLayout(StoreTest::partition).headKey(bytes("1a")), 1);
    assertNotNull(database.get(ReadOptions.DEFAULT.in(keyspace), siblingKey));
    database.put(WriteOptions.DEFAULT.in(keyspace), siblingKey, VersionRecord.siblingBytes(version("other", 5, 1)));
    assertThrows(VersionFormatException.class, () -> store.get(bytes("1a")), "another version");
    database.delete(WriteOptions.DEFAULT.in(keyspace), siblingKey);
    assertNull(database.get(ReadOptions.DEFAULT.in(keyspace), siblingKey));
    assertThrows(VersionFormatException.class, () -> store.get(bytes("1a")), "no record");
    try (Scan<Entry> scan = store.entries()) {
      assertThrows(VersionFormatException.class, scan::hasNext);
    }
  }
}
