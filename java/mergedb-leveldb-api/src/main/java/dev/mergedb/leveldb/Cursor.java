package dev.mergedb.leveldb;

import dev.mergedb.EntryIterator;
import dev.mergedb.MergedbException;
import java.util.AbstractMap;
import java.util.Map;
import java.util.NoSuchElementException;
import org.iq80.leveldb.DBIterator;

/**
 * An iterator with one position, as leveldbjni's: {@code next} returns the entry at the position and moves behind it, {@code prev}
 * moves to the entry before and returns it. Behind the last entry there is no previous one. {@code seekToLast} stands at the last
 * entry. A new iterator stands at the first entry.
 *
 * <p>For one thread at a time. An error of a move is thrown by the next call that needs its result, and by every one after it, until
 * the iterator is positioned anew.
 */
final class Cursor implements DBIterator {
  private final EntryIterator iterator;
  private boolean isNew = true;
  private MergedbException failure; // of the last move

  Cursor(EntryIterator iterator) {
    this.iterator = iterator;
  }

  /** True: it stands at an entry. */
  private boolean arrive() {
    if (isNew) {
      seekToFirst();
    }
    if (failure != null) {
      throw Errors.of(failure);
    }
    try {
      return iterator.isValid();
    } catch (MergedbException e) {
      throw Errors.of(e);
    }
  }

  private Map.Entry<byte[], byte[]> entry() {
    try {
      return new AbstractMap.SimpleImmutableEntry<>(iterator.key(), iterator.value());
    } catch (MergedbException e) {
      throw Errors.of(e);
    }
  }

  private void fail(MergedbException e) {
    if (e.code() == MergedbException.Code.CLOSED
        || e.code() == MergedbException.Code.SHUTTING_DOWN
        || e.code() == MergedbException.Code.BUSY) {
      throw Errors.of(e); // the position is as it was
    }
    failure = e;
  }

  private void step(boolean backwards) {
    try {
      if (backwards) {
        iterator.prev();
      } else {
        iterator.next();
      }
    } catch (MergedbException e) {
      fail(e);
    }
  }

  @Override
  public void seek(byte[] key) {
    Errors.checkNotNull(key, "key");
    try {
      iterator.seek(key);
      failure = null;
    } catch (MergedbException e) {
      fail(e);
      throw Errors.of(e);
    } finally {
      isNew = false;
    }
  }

  @Override
  public void seekToFirst() {
    try {
      iterator.seekToFirst();
      failure = null;
    } catch (MergedbException e) {
      fail(e);
    } finally {
      isNew = false;
    }
  }

  @Override
  public void seekToLast() {
    try {
      iterator.seekToLast();
      failure = null;
    } catch (MergedbException e) {
      fail(e);
    } finally {
      isNew = false;
    }
  }

  @Override
  public boolean hasNext() {
    return arrive();
  }

  @Override
  public Map.Entry<byte[], byte[]> peekNext() {
    if (!arrive()) {
      throw new NoSuchElementException();
    }
    return entry();
  }

  @Override
  public Map.Entry<byte[], byte[]> next() {
    Map.Entry<byte[], byte[]> result = peekNext();
    step(false);
    return result;
  }

  /** Moves to the entry before, calls nothing else. False: there is none, and it stands at the first entry again. */
  private boolean back() {
    if (!arrive()) {
      return false;
    }
    step(true);
    if (arrive()) {
      return true;
    }
    seekToFirst();
    return false;
  }

  @Override
  public boolean hasPrev() {
    if (!back()) {
      return false;
    }
    step(false);
    return true;
  }

  @Override
  public Map.Entry<byte[], byte[]> peekPrev() {
    Map.Entry<byte[], byte[]> result = prev();
    step(false);
    return result;
  }

  @Override
  public Map.Entry<byte[], byte[]> prev() {
    if (!back()) {
      throw new NoSuchElementException();
    }
    return entry();
  }

  @Override
  public void remove() {
    throw new UnsupportedOperationException("LevelDB iterators do not support remove; call DB.delete");
  }

  @Override
  public void close() {
    iterator.close();
  }
}
