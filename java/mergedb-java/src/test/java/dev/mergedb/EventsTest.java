package dev.mergedb;

import static dev.mergedb.Testing.bytes;
import static dev.mergedb.Testing.fails;
import static dev.mergedb.Testing.small;
import static dev.mergedb.Testing.text;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.ref.WeakReference;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Listeners, the file LOG, metrics and traces: small databases; listeners that throw, call and close. */
class EventsTest {
  private static final int WAIT_SECONDS = 60;

  @TempDir Path folder;

  private Path directory() {
    return folder.resolve("db");
  }

  @Test
  void aListenerGetsEventsAndTheLogHasThem() throws Exception {
    Map<String, Event> events = new ConcurrentHashMap<>();
    Options options =
        small()
            .listener(event -> events.put(event.name(), event))
            .logBytesMax(64 << 10)
            .slowCallMicros(1)
            .keepSpaceAtRest(true);
    try (Database db = Database.open(directory(), options)) {
      for (int i = 0; i < 1000; ++i) {
        db.put(bytes("key" + i), new byte[100]);
      }
      db.flush();
    }
    Event flushed = events.get("flush_end");
    assertTrue((Long) flushed.fields().get("bytes") > 0, flushed::toString);
    assertEquals("OK", flushed.fields().get("status"));
    assertTrue(Duration.between(flushed.time(), Instant.now()).abs().toHours() < 1, flushed::toString);
    assertTrue(events.get("slow_call").json().contains("\"event\":\"slow_call\""));
    assertTrue(events.containsKey("close"), events::toString);
    assertTrue(Files.readString(directory().resolve("LOG")).contains("flush_end"));
  }

  @Test
  void aListenerMayCallItsDatabaseAndCloseIt() throws Exception {
    AtomicReference<Database> opened = new AtomicReference<>();
    AtomicReference<String> value = new AtomicReference<>();
    CountDownLatch isOpen = new CountDownLatch(1);
    CountDownLatch isClosed = new CountDownLatch(1);
    Consumer<Event> listener =
        event -> {
          try {
            isOpen.await();
          } catch (InterruptedException e) {
            throw new IllegalStateException(e);
          }
          if (event.name().equals("flush_end")) {
            value.set(text(opened.get().get(bytes("a"))));
            opened.get().close();
            isClosed.countDown();
          }
        };
    Database db = Database.open(directory(), small().listener(listener));
    opened.set(db);
    db.put(bytes("a"), bytes("1"));
    isOpen.countDown();
    try {
      db.flush();
    } catch (MergedbException e) {
      assertTrue(e.code() == MergedbException.Code.CLOSED || e.code() == MergedbException.Code.SHUTTING_DOWN, e::toString);
    }
    assertTrue(isClosed.await(WAIT_SECONDS, TimeUnit.SECONDS));
    assertEquals("1", value.get());
    assertFalse(db.isOpen());
  }

  @Test
  void whatAListenerThrowsEndsAtTheCall() {
    Queue<String> names = new ConcurrentLinkedQueue<>();
    Queue<String> lines = new ConcurrentLinkedQueue<>();
    Consumer<Event> listener =
        event -> {
          names.add(event.name());
          throw new StackOverflowError("of a listener");
        };
    try (Database db = Database.open(directory(), small().listener(listener).logger(lines::add))) {
      db.put(bytes("a"), bytes("1"));
      db.flush();
    }
    assertTrue(names.contains("flush_end") && names.contains("close"), names::toString);
    assertEquals(names.size(), lines.stream().filter(line -> line.contains("the event listener threw")).count());
  }

  @Test
  void theEngineGivesTheListenerBack() throws Exception {
    for (Options bad : new Options[] {small().blockBytes(1), small().bloomBitsPerKey(-2), small()}) {
      Consumer<Event> listener =
          new Consumer<>() {
            @Override
            public void accept(Event event) {}
          };
      WeakReference<Consumer<Event>> held = new WeakReference<>(listener);
      bad.listener(listener);
      listener = null;
      if (bad.lines().length != small().lines().length) {
        fails(MergedbException.Code.INVALID_ARGUMENT, () -> Database.open(directory(), bad).close());
      } else {
        Database.open(directory(), bad).close();
      }
      bad.listener(null);
      for (int i = 0; i < 100 && held.get() != null; ++i) {
        System.gc();
        Thread.sleep(10);
      }
      assertEquals(null, held.get());
    }
  }

  @Test
  void metricsAreThoseOfTheEngine() {
    try (Database db = Database.open(directory(), small())) {
      db.put(bytes("a"), bytes("1"));
      db.flush();
      Metric flushes = db.metrics().stream().filter(each -> each.name().equals("flushes")).findAny().orElseThrow();
      assertEquals(1, flushes.value());
      assertFalse(flushes.isGauge());
      assertFalse(flushes.unit().isEmpty() || flushes.help().isEmpty());
      assertTrue(db.metrics().stream().anyMatch(Metric::isGauge));
    }
  }

  @Test
  void aTraceRecordsTheCalls() throws Exception {
    Path file = folder.resolve("trace");
    try (Database db = Database.open(directory(), small())) {
      fails(MergedbException.Code.INVALID_ARGUMENT, db::endTrace);
      db.startTrace(file, TraceOptions.DEFAULT.recordValues(true));
      fails(MergedbException.Code.BUSY, () -> db.startTrace(folder.resolve("other"), TraceOptions.DEFAULT));
      db.put(bytes("a"), bytes("1"));
      db.get(bytes("a"));
      TraceReport report = db.endTrace();
      assertEquals(2, report.operations());
      assertEquals(0, report.lost());
      assertFalse(report.isFull());
      assertEquals(Files.size(file), report.bytes());
      fails(MergedbException.Code.INVALID_ARGUMENT, () -> db.startTrace(file, TraceOptions.DEFAULT));
      fails(
          MergedbException.Code.INVALID_ARGUMENT,
          () -> db.startTrace(folder.resolve("other"), TraceOptions.DEFAULT.bytesMax(1)));
    }
  }
}
