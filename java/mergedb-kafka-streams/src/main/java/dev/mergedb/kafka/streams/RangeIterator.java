package dev.mergedb.kafka.streams;

import dev.mergedb.Database;
import dev.mergedb.EntryIterator;
import dev.mergedb.IteratorOptions;
import java.util.Arrays;
import org.apache.kafka.common.utils.Bytes;

/**
 * The entries of a key-value store within the bounds of `options`, as of the moment when it is
 * made.
 */
final class RangeIterator extends StoreIterator<Bytes> {
  private final IteratorOptions options;
  private final boolean isForward;

  RangeIterator(StoreDatabase store, IteratorOptions options, boolean isForward) {
    super(store, Bytes::wrap);
    this.options = options;
    this.isForward = isForward;
    openNow();
  }

  /** The options for keys from `from` up to and including `to`; null is an open end. */
  static IteratorOptions inclusive(Bytes from, Bytes to) {
    IteratorOptions options = IteratorOptions.DEFAULT;
    if (from != null) options = options.lower(from.get());
    if (to != null) options = options.upper(Arrays.copyOf(to.get(), to.get().length + 1));
    return options;
  }

  @Override
  EntryIterator open() {
    return store().call((Database db) -> db.iterator(options));
  }

  @Override
  boolean first(EntryIterator at) {
    return isForward ? at.seekToFirst() : at.seekToLast();
  }

  @Override
  boolean following(EntryIterator at) {
    return isForward ? at.next() : at.prev();
  }
}
