package dev.mergedb.kafka.streams;

import dev.mergedb.EntryIterator;
import dev.mergedb.MergedbException;
import java.util.NoSuchElementException;
import java.util.function.Function;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.state.KeyValueIterator;

/**
 * The iterators of all stores: a look-ahead of one entry over an {@link EntryIterator}. Subclasses
 * say where it starts and which entry follows.
 *
 * <p>The store closes its open iterators when it closes; that may happen on another thread than the
 * iterator's. After it, {@link #whenStoreClosed()} says how a key-value iterator differs from one
 * of windows or sessions. After {@link #close()} every other method throws {@link
 * InvalidStateStoreException}.
 *
 * @param <K> type of the keys that the iterator returns
 */
abstract class StoreIterator<K>
    implements KeyValueIterator<K, byte[]>, StoreDatabase.OwnedIterator {
  private final StoreDatabase store;
  private final Function<byte[], K> decoder;
  private EntryIterator entries;
  private KeyValue<K, byte[]> next;
  private boolean hasStarted;
  private boolean isAtEnd;
  private boolean isClosed;
  private boolean isClosedByStore;

  StoreIterator(StoreDatabase store, Function<byte[], K> decoder) {
    this.store = store;
    this.decoder = decoder;
  }

  /** A new iterator of the engine. */
  abstract EntryIterator open();

  /** Go to the first entry. False: there is none. */
  abstract boolean first(EntryIterator at);

  /** Go to the entry after the one where `at` stands. False: there is none. */
  abstract boolean following(EntryIterator at);

  /** What {@link #hasNext} does once the store is closed: throw, or return false. */
  void whenStoreClosed() {
    throw new InvalidStateStoreException(
        "store " + store.name() + " is closed, and its iterators with it");
  }

  final StoreDatabase store() {
    return store;
  }

  /**
   * Open the engine's iterator now, so that it shows the entries as of this call. Without it, the
   * first use opens it.
   */
  final void openNow() {
    store.requireOpen();
    try {
      entries = open();
    } catch (MergedbException e) {
      throw store.translate(e);
    }
    store.own(this);
  }

  @Override
  public final synchronized boolean hasNext() {
    if (isClosedByStore) {
      whenStoreClosed();
      return false;
    }
    if (isClosed)
      throw new InvalidStateStoreException("store " + store.name() + ": the iterator is closed");
    if (next != null) return true;
    if (isAtEnd) return false;
    try {
      if (hasStarted ? following(entries) : start()) {
        next = KeyValue.pair(decoder.apply(entries.key()), entries.value());
      } else {
        isAtEnd = true;
      }
      return next != null;
    } catch (MergedbException e) {
      RuntimeException translated = store.translate(e);
      if (!(translated instanceof InvalidStateStoreException)) throw translated;
      whenStoreClosed();
      return false;
    } catch (InvalidStateStoreException e) {
      whenStoreClosed();
      return false;
    }
  }

  private boolean start() {
    if (entries == null) openNow();
    hasStarted = true;
    return first(entries);
  }

  @Override
  public final synchronized KeyValue<K, byte[]> next() {
    if (!hasNext()) throw new NoSuchElementException();
    KeyValue<K, byte[]> result = next;
    next = null;
    return result;
  }

  @Override
  public final synchronized K peekNextKey() {
    if (!hasNext()) throw new NoSuchElementException();
    return next.key;
  }

  @Override
  public final synchronized void close() {
    if (isClosed) return;
    isClosed = true;
    store.disown(this);
    closeEntries();
  }

  @Override
  public final synchronized void closeWithStore() {
    isClosedByStore = true;
    closeEntries();
  }

  private void closeEntries() {
    next = null;
    if (entries != null) entries.close();
  }

  /** An iterator over nothing, which needs no database. */
  static <K> KeyValueIterator<K, byte[]> none() {
    return new Empty<>();
  }

  /** Also a {@code WindowStoreIterator} where one is asked for. */
  static class Empty<K> implements KeyValueIterator<K, byte[]> {
    @Override
    public boolean hasNext() {
      return false;
    }

    @Override
    public KeyValue<K, byte[]> next() {
      throw new NoSuchElementException();
    }

    @Override
    public K peekNextKey() {
      throw new NoSuchElementException();
    }

    @Override
    public void close() {}
  }

  static final String INVALID_RANGE =
      "Returning empty iterator for fetch with invalid key range: from > to. This may be due to"
          + " range arguments set in the wrong order, or serdes that don't preserve ordering when"
          + " lexicographically comparing the serialized bytes. Note that the built-in numerical"
          + " serdes do not follow this for negative numbers";

  /** Are both there, and does `from` come after `to`? */
  static boolean isInverted(Bytes from, Bytes to) {
    return from != null && to != null && from.compareTo(to) > 0;
  }
}
