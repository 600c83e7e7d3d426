package dev.mergedb.infinispan;

import io.reactivex.rxjava3.core.Flowable;
import java.util.stream.IntStream;
import org.infinispan.marshall.TestObjectStreamMarshaller;
import org.infinispan.marshall.persistence.impl.MarshalledEntryUtil;
import org.infinispan.persistence.spi.MarshallableEntry;
import org.infinispan.persistence.spi.NonBlockingStore.SegmentedPublisher;
import org.reactivestreams.Subscriber;

/** Writes many entries by the store's batches. */
final class StoreBatches {
  private StoreBatches() {}

  /** Entries key0, key1, ...: key N is in segment N modulo the number of segments. */
  static void write(MergedbStore<Object, Object> store, int count, int segments, String value) {
    TestObjectStreamMarshaller marshaller = new TestObjectStreamMarshaller();
    try {
      for (int segment = 0; segment < segments; ++segment) {
        int first = segment;
        Flowable<MarshallableEntry<Object, Object>> entries =
            Flowable.fromStream(IntStream.iterate(first, i -> i < count, i -> i + segments)
            .mapToObj(i -> MarshalledEntryUtil.create((Object) ("key" + i), (Object) value, marshaller)));
        StoreFixture.join(store.batch(1, Flowable.empty(), Flowable.just(of(segment, entries))));
      }
    } finally {
      marshaller.stop();
    }
  }

  static <T> SegmentedPublisher<T> of(int segment, Flowable<T> entries) {
    return new SegmentedPublisher<>() {
      @Override
      public int getSegment() {
        return segment;
      }

      @Override
      public void subscribe(Subscriber<? super T> subscriber) {
        entries.subscribe(subscriber);
      }
    };
  }
}
