package dev.mergedb.kafka.streams;

import static dev.mergedb.kafka.streams.Fixture.bytes;
import static dev.mergedb.kafka.streams.Fixture.text;
import static dev.mergedb.kafka.streams.Fixture.utf8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.mergedb.Database;
import dev.mergedb.EntryIterator;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.DslStoreFormat;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.internals.SessionWindow;
import org.apache.kafka.streams.query.PositionBound;
import org.apache.kafka.streams.query.QueryConfig;
import org.apache.kafka.streams.query.WindowKeyQuery;
import org.apache.kafka.streams.query.WindowRangeQuery;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.WindowStore;
import org.apache.kafka.streams.state.WindowStoreIterator;
import org.apache.kafka.test.InternalMockProcessorContext;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Window and session stores beyond the published tests. */
class SegmentedStoreTest {
  private static final long MINUTE = 60_000;
  private static final long RETENTION = 10 * MINUTE;
  private static final long SEGMENT = RETENTION / 2;

  @TempDir Path directory;

  private InternalMockProcessorContext<?, ?> context;

  @BeforeEach
  void makeContext() {
    context = Fixture.context(directory);
  }

  private WindowStore<Bytes, byte[]> openWindows(boolean retainsDuplicates) {
    WindowStore<Bytes, byte[]> store =
        MergedbStores.windowStore(
                "windows",
                Duration.ofMillis(RETENTION),
                Duration.ofMillis(MINUTE),
                retainsDuplicates)
            .get();
    store.init(context, store);
    return store;
  }

  private SessionStore<Bytes, byte[]> openSessions() {
    SessionStore<Bytes, byte[]> store =
        MergedbStores.sessionStore("sessions", Duration.ofMillis(RETENTION)).get();
    store.init(context, store);
    return store;
  }

  private static List<String> drain(KeyValueIterator<Windowed<Bytes>, byte[]> entries) {
    List<String> result = new ArrayList<>();
    try (entries) {
      while (entries.hasNext()) {
        KeyValue<Windowed<Bytes>, byte[]> entry = entries.next();
        result.add(
            entry.key.key()
                + "@"
                + entry.key.window().start()
                + "-"
                + entry.key.window().end()
                + "="
                + text(entry.value));
      }
    }
    return result;
  }

  private static List<String> drainTimes(WindowStoreIterator<byte[]> entries) {
    List<String> result = new ArrayList<>();
    try (entries) {
      while (entries.hasNext()) {
        KeyValue<Long, byte[]> entry = entries.next();
        result.add(entry.key + "=" + text(entry.value));
      }
    }
    return result;
  }

  private int storedEntries(String store) {
    int count = 0;
    try (Database database = Database.open(directory.resolve("mergedb").resolve(store));
        EntryIterator entries = database.iterator()) {
      for (boolean there = entries.seekToFirst(); there; there = entries.next()) ++count;
    }
    return count;
  }

  @Test
  void expiredSegmentsAreRemoved() {
    WindowStore<Bytes, byte[]> store = openWindows(false);
    for (int minute = 0; minute < 60; ++minute)
      store.put(bytes("k"), utf8("v" + minute), minute * MINUTE);
    assertEquals(10, drain(store.all()).size());
    assertNull(store.fetch(bytes("k"), 49 * MINUTE));
    assertEquals("v50", text(store.fetch(bytes("k"), 50 * MINUTE)));
    store.close();
    // Stream time is minute 59, so what starts at minute 49 and before has expired. A segment has 5
    // minutes: the one that begins
    // at minute 45 is the first that is not all expired.
    assertEquals(15, storedEntries("windows"));
  }

  @Test
  void aRestartDoesNotForgetTheStreamTime() {
    WindowStore<Bytes, byte[]> store = openWindows(false);
    store.put(bytes("k"), utf8("old"), 2 * MINUTE);
    store.put(bytes("k"), utf8("new"), 11 * MINUTE);
    store.put(bytes("k"), null, 11 * MINUTE);
    store.commit(Map.of());
    store.close();
    WindowStore<Bytes, byte[]> again = openWindows(false);
    again.put(bytes("k"), utf8("late"), MINUTE);
    assertEquals(List.of("120000=old"), drainTimes(again.fetch(bytes("k"), 0, Long.MAX_VALUE)));
    again.close();
  }

  @Test
  void aStoreWithoutACommitTakesTheStreamTimeFromItsEntries() {
    WindowStore<Bytes, byte[]> store = openWindows(false);
    store.put(bytes("k"), utf8("new"), 30 * MINUTE);
    store.close();
    WindowStore<Bytes, byte[]> again = openWindows(false);
    again.put(bytes("k"), utf8("late"), MINUTE);
    assertEquals(1, drain(again.all()).size());
    again.close();
  }

  @Test
  void theRetentionMayChange() {
    WindowStore<Bytes, byte[]> store = openWindows(false);
    for (int minute = 0; minute < 12; ++minute)
      store.put(bytes("k" + minute % 3), utf8("v" + minute), minute * MINUTE);
    store.commit(Map.of());
    store.close();
    for (long retention : new long[] {100 * RETENTION, 7 * MINUTE, RETENTION}) {
      WindowStore<Bytes, byte[]> changed =
          new MergedbWindowBytesStoreSupplier(
                  "windows", retention, MINUTE, false, DslStoreFormat.PLAIN)
              .get();
      changed.init(context, changed);
      // Entries that the first retention hid, but did not remove yet, are shown again by a longer
      // one.
      int expected = retention > RETENTION ? 12 : retention < RETENTION ? 7 : 8;
      assertEquals(expected, drain(changed.all()).size());
      for (int minute = 5; minute < 12; ++minute)
        assertEquals("v" + minute, text(changed.fetch(bytes("k" + minute % 3), minute * MINUTE)));
      if (retention == 7 * MINUTE) changed.put(bytes("k2"), utf8("v11"), 11 * MINUTE);
      changed.commit(Map.of());
      changed.close();
    }
    // Segments of 3.5 minutes: the one that begins at minute 3.5 was the first that was not all
    // expired.
    assertEquals(8, storedEntries("windows"));
  }

  @Test
  void duplicatesAreKept() {
    WindowStore<Bytes, byte[]> store = openWindows(true);
    for (String value : List.of("a", "b", "a")) store.put(bytes("k"), utf8(value), MINUTE);
    store.put(bytes("k"), null, MINUTE);
    assertEquals(
        List.of("60000=a", "60000=b", "60000=a"),
        drainTimes(store.fetch(bytes("k"), 0, 2 * MINUTE)));
    store.close();
  }

  @Test
  void theStoreClosesItsIterators() {
    WindowStore<Bytes, byte[]> windows = openWindows(false);
    SessionStore<Bytes, byte[]> sessions = openSessions();
    windows.put(bytes("k"), utf8("v"), 0);
    windows.put(bytes("k"), utf8("v"), 1);
    sessions.put(new Windowed<>(bytes("k"), new SessionWindow(0, 1)), utf8("v"));
    sessions.put(new Windowed<>(bytes("k"), new SessionWindow(5, 6)), utf8("v"));
    List<KeyValueIterator<Windowed<Bytes>, byte[]>> iterators =
        List.of(
            windows.all(),
            windows.backwardAll(),
            sessions.fetch(bytes("k")),
            sessions.findSessions(0, 9));
    iterators.forEach(iterator -> assertTrue(iterator.hasNext()));
    iterators.forEach(KeyValueIterator::next);
    windows.close();
    sessions.close();
    for (KeyValueIterator<Windowed<Bytes>, byte[]> iterator : iterators) {
      assertFalse(iterator.hasNext());
      iterator.close();
    }
    assertFalse(windows.all().hasNext());
    assertThrows(InvalidStateStoreException.class, () -> windows.fetch(bytes("k"), 0));
    assertThrows(InvalidStateStoreException.class, () -> windows.put(bytes("k"), utf8("v"), 0));
    assertThrows(InvalidStateStoreException.class, () -> sessions.fetchSession(bytes("k"), 0, 1));
  }

  /** As in the RocksDB store of Kafka Streams. */
  @Test
  void sessionsThatEndAtTheSameTimeComeByTheirStart() {
    SessionStore<Bytes, byte[]> store = openSessions();
    for (long start : new long[] {7, 3, 5})
      store.put(new Windowed<>(bytes("k"), new SessionWindow(start, 9)), utf8("v" + start));
    List<String> expected = new ArrayList<>(List.of("k@3-9=v3", "k@5-9=v5", "k@7-9=v7"));
    assertEquals(expected, drain(store.fetch(bytes("k"))));
    assertEquals(expected, drain(store.findSessions(bytes("k"), 0, 9)));
    Collections.reverse(expected);
    assertEquals(expected, drain(store.backwardFetch(bytes("k"))));
    assertEquals(expected, drain(store.backwardFindSessions(bytes("k"), 0, 9)));
    store.close();
  }

  /** Through the store that Kafka Streams wraps around ours: queries that users make pass it. */
  @Test
  void queriesFindWindowsAndSessions() {
    WindowStore<String, String> windows =
        Stores.windowStoreBuilder(
                MergedbStores.windowStore(
                    "windows", Duration.ofMillis(RETENTION), Duration.ofMillis(MINUTE), false),
                Serdes.String(),
                Serdes.String())
            .withLoggingDisabled()
            .build();
    SessionStore<String, String> sessions =
        Stores.sessionStoreBuilder(
                MergedbStores.sessionStore("sessions", Duration.ofMillis(RETENTION)),
                Serdes.String(),
                Serdes.String())
            .withLoggingDisabled()
            .build();
    windows.init(context, windows);
    sessions.init(context, sessions);
    windows.put("k", "v", MINUTE);
    sessions.put(new Windowed<>("k", new SessionWindow(0, MINUTE)), "s");
    QueryConfig config = new QueryConfig(false);
    Instant from = Instant.ofEpochMilli(0);
    Instant to = Instant.ofEpochMilli(2 * MINUTE);
    try (WindowStoreIterator<String> byKey =
        windows
            .query(
                WindowKeyQuery.<String, String>withKeyAndWindowStartRange("k", from, to),
                PositionBound.unbounded(),
                config)
            .getResult()) {
      assertEquals(KeyValue.pair(MINUTE, "v"), byKey.next());
      assertFalse(byKey.hasNext());
    }
    try (KeyValueIterator<Windowed<String>, String> byTime =
        windows
            .query(
                WindowRangeQuery.<String, String>withWindowStartRange(from, to),
                PositionBound.unbounded(),
                config)
            .getResult()) {
      assertEquals("v", byTime.next().value);
      assertFalse(byTime.hasNext());
    }
    try (KeyValueIterator<Windowed<String>, String> ofKey =
        sessions
            .query(WindowRangeQuery.<String, String>withKey("k"), PositionBound.unbounded(), config)
            .getResult()) {
      assertEquals(
          KeyValue.pair(new Windowed<>("k", new SessionWindow(0, MINUTE)), "s"), ofKey.next());
      assertFalse(ofKey.hasNext());
    }
    windows.close();
    sessions.close();
  }

  @Test
  void restoringDropsWhatHasExpired() {
    WindowStore<Bytes, byte[]> store = openWindows(false);
    List<KeyValue<byte[], byte[]>> changelog = new ArrayList<>();
    for (int minute = 0; minute < 60; ++minute) {
      changelog.add(KeyValue.pair(changelogKey("k", minute * MINUTE), utf8("v" + minute)));
    }
    changelog.add(KeyValue.pair(changelogKey("k", 55 * MINUTE), null));
    context.restore("windows", changelog);
    assertEquals(9, drain(store.all()).size());
    store.close();
    // Minutes 45 to 59 without the one that was deleted: the segment of minutes 45 to 49 is not all
    // expired.
    assertEquals(14, storedEntries("windows"));
  }

  private static byte[] changelogKey(String key, long start) {
    return ByteBuffer.allocate(key.length() + 12).put(utf8(key)).putLong(start).putInt(0).array();
  }

  /** The windows of each key, in the order in which they came. */
  private static Map<String, List<String>> byKey(List<String> entries) {
    Map<String, List<String>> result = new TreeMap<>();
    for (String entry : entries) {
      int at = entry.indexOf('@');
      result
          .computeIfAbsent(entry.substring(0, at), key -> new ArrayList<>())
          .add(entry.substring(at));
    }
    return result;
  }

  /**
   * The sessions of each key, in the order in which they came; those that end at the same time,
   * sorted. Kafka does not define their order: its RocksDB store returns the earliest start first,
   * its in-memory store the latest.
   */
  private static Map<String, List<String>> sessionsByKey(
      KeyValueIterator<Windowed<Bytes>, byte[]> sessions) {
    Map<String, List<String>> result = byKey(drain(sessions));
    for (List<String> ofKey : result.values()) {
      for (int from = 0, to; from < ofKey.size(); from = to) {
        to = from + 1;
        while (to < ofKey.size() && end(ofKey.get(to)).equals(end(ofKey.get(from)))) ++to;
        Collections.sort(ofKey.subList(from, to));
      }
    }
    return result;
  }

  /** "200" of "@100-200=v1". */
  private static String end(String session) {
    return session.substring(session.indexOf('-') + 1, session.indexOf('='));
  }

  /** Keys that are prefixes of each other, and whose bytes look like those of times. */
  private static Bytes key(Random random) {
    byte[] key = new byte[random.nextInt(5)];
    for (int i = 0; i < key.length; ++i)
      key[i] = (byte) (random.nextInt(6) == 0 ? -1 : random.nextInt(2));
    return Bytes.wrap(key);
  }

  @Test
  void randomWindowsAreAsInTheInMemoryStore() {
    Random random = Fixture.random("SegmentedStoreTest windows");
    WindowStore<Bytes, byte[]> store = openWindows(false);
    WindowStore<Bytes, byte[]> model =
        Stores.inMemoryWindowStore(
                "model", Duration.ofMillis(RETENTION), Duration.ofMillis(MINUTE), false)
            .get();
    model.init(context, model);
    long now = 0;
    for (int i = 0; i < 6_000; ++i) {
      now += random.nextInt(100) == 0 ? random.nextInt((int) SEGMENT) : random.nextInt(1_000);
      long time = Math.max(0, now - random.nextInt((int) (RETENTION + SEGMENT)));
      Bytes key = key(random);
      Bytes to = key(random);
      byte[] value = random.nextInt(5) == 0 ? null : utf8("v" + i);
      model.put(key, value, time);
      store.put(key, value, time);
      if (random.nextInt(200) == 0) {
        store.commit(Map.of());
        store.close();
        store = openWindows(false);
      }
      assertEquals(text(model.fetch(to, time)), text(store.fetch(to, time)));
      if (random.nextInt(10) != 0) continue;
      long from = Math.max(0, now - random.nextInt((int) RETENTION));
      long until = random.nextInt(4) == 0 ? Long.MAX_VALUE : from + random.nextInt((int) RETENTION);
      assertEquals(
          drainTimes(model.fetch(key, from, until)), drainTimes(store.fetch(key, from, until)));
      assertEquals(
          drainTimes(model.backwardFetch(key, from, until)),
          drainTimes(store.backwardFetch(key, from, until)));
      Bytes low = random.nextInt(5) == 0 ? null : key;
      Bytes high = random.nextInt(5) == 0 ? null : to;
      assertEquals(
          byKey(drain(model.fetch(low, high, from, until))),
          byKey(drain(store.fetch(low, high, from, until))));
      assertEquals(
          byKey(drain(model.backwardFetch(low, high, from, until))),
          byKey(drain(store.backwardFetch(low, high, from, until))));
      assertEquals(
          byKey(drain(model.fetchAll(from, until))), byKey(drain(store.fetchAll(from, until))));
      assertEquals(byKey(drain(model.all())), byKey(drain(store.all())));
    }
    store.close();
    model.close();
  }

  @Test
  void randomSessionsAreAsInTheInMemoryStore() {
    Random random = Fixture.random("SegmentedStoreTest sessions");
    SessionStore<Bytes, byte[]> store = openSessions();
    SessionStore<Bytes, byte[]> model =
        Stores.inMemorySessionStore("model", Duration.ofMillis(RETENTION)).get();
    model.init(context, model);
    long now = 0;
    long latestEnd = 0;
    Map<Integer, Windowed<Bytes>> put = new HashMap<>();
    for (int i = 0; i < 6_000; ++i) {
      now += random.nextInt(100) == 0 ? random.nextInt((int) SEGMENT) : random.nextInt(1_000);
      long end = Math.max(0, now - random.nextInt((int) (RETENTION + SEGMENT)));
      // Many sessions of one key end at the same time.
      if (random.nextBoolean()) end -= end % (MINUTE / 2);
      Windowed<Bytes> session =
          new Windowed<>(
              key(random), new SessionWindow(Math.max(0, end - random.nextInt((int) MINUTE)), end));
      latestEnd = Math.max(latestEnd, end);
      model.put(session, utf8("v" + i));
      store.put(session, utf8("v" + i));
      put.put(random.nextInt(50), session);
      Windowed<Bytes> removed = put.get(random.nextInt(50));
      if (removed != null && random.nextInt(3) == 0) {
        model.remove(removed);
        store.remove(removed);
      }
      if (random.nextInt(200) == 0) {
        store.commit(Map.of());
        store.close();
        store = openSessions();
      }
      assertEquals(
          text(model.fetchSession(session.key(), session.window().start(), end)),
          text(store.fetchSession(session.key(), session.window().start(), end)));
      if (random.nextInt(10) != 0) continue;
      Bytes key = key(random);
      Bytes to = key(random);
      long earliest = Math.max(0, now - random.nextInt((int) RETENTION));
      long latest = earliest + random.nextInt((int) RETENTION);
      assertEquals(
          sessionsByKey(model.findSessions(key, earliest, latest)),
          sessionsByKey(store.findSessions(key, earliest, latest)));
      assertEquals(
          sessionsByKey(model.findSessions(key, to, earliest, latest)),
          sessionsByKey(store.findSessions(key, to, earliest, latest)));
      assertEquals(
          sessionsByKey(model.backwardFindSessions(key, to, earliest, latest)),
          sessionsByKey(store.backwardFindSessions(key, to, earliest, latest)));
      long shown = Math.max(earliest, latestEnd - RETENTION + 1);
      assertEquals(
          sessionsByKey(model.findSessions(shown, latest)),
          sessionsByKey(store.findSessions(shown, latest)));
      assertEquals(sessionsByKey(model.fetch(key)), sessionsByKey(store.fetch(key)));
      assertEquals(sessionsByKey(model.fetch(null, to)), sessionsByKey(store.fetch(null, to)));
    }
    store.close();
    model.close();
  }
}
