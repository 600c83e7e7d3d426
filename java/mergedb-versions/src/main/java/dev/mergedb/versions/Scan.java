package dev.mergedb.versions;

import dev.mergedb.EntryIterator;
import dev.mergedb.Snapshot;
import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Queue;

/**
 * Goes through keys or entries as of the moment when the scan was made. {@code hasNext} and {@code next} throw what the database throws; {@code remove} is
 * not supported. For one thread at a time. The caller closes it; until then the disk keeps what it can see.
 *
 * @param <T> what it gives
 */
public final class Scan<T> implements Iterator<T>, AutoCloseable {
  /** Turns a record into what the scan gives. */
  interface Step<T> {
    void take(byte[] recordKey, byte[] recordBytes, Queue<T> found);
  }

  private final Snapshot snapshot;
  private final EntryIterator records;
  private final Step<T> step;
  private final ArrayDeque<T> found = new ArrayDeque<>();
  private boolean isStarted;
  private boolean isDone;

  Scan(Snapshot snapshot, EntryIterator records, Step<T> step) {
    this.snapshot = snapshot;
    this.records = records;
    this.step = step;
  }

  @Override
  public boolean hasNext() {
    while (found.isEmpty() && !isDone) {
      boolean stands = isStarted ? records.next() : records.seekToFirst();
      isStarted = true;
      isDone = !stands;
      if (stands) {
        step.take(records.key(), records.value(), found);
      }
    }
    return !found.isEmpty();
  }

  @Override
  public T next() {
    if (!hasNext()) {
      throw new NoSuchElementException("the scan is at its end");
    }
    return found.remove();
  }

  /** Ends the scan. Idempotent. */
  @Override
  public void close() {
    isDone = true;
    found.clear();
    records.close();
    snapshot.close();
  }
}
