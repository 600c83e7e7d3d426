package dev.mergedb.infinispan;

import dev.mergedb.Database;
import dev.mergedb.EntryIterator;
import dev.mergedb.IteratorOptions;
import dev.mergedb.Keyspace;
import dev.mergedb.Options;
import dev.mergedb.ReadOptions;
import io.reactivex.rxjava3.core.Flowable;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.infinispan.commons.marshall.WrappedByteArray;
import org.infinispan.commons.time.ControlledTimeService;
import org.infinispan.commons.util.IntSet;
import org.infinispan.commons.util.Util;
import org.infinispan.configuration.cache.CacheMode;
import org.infinispan.configuration.cache.Configuration;
import org.infinispan.configuration.cache.ConfigurationBuilder;
import org.infinispan.marshall.TestObjectStreamMarshaller;
import org.infinispan.marshall.persistence.impl.MarshalledEntryUtil;
import org.infinispan.metadata.EmbeddedMetadata;
import org.infinispan.metadata.Metadata;
import org.infinispan.persistence.spi.MarshallableEntry;
import org.infinispan.util.PersistenceMockUtil;

/**
 * A store in a directory of its own, without a cache, with a clock that the test moves. It can be stopped and started
 * again.
 */
final class StoreFixture implements AutoCloseable {
  static final int SEGMENTS = 64;

  final ControlledTimeService time = new ControlledTimeService();
  private final TestObjectStreamMarshaller marshaller = new TestObjectStreamMarshaller();
  private final Path directory = TestDirectories.make("fixture");
  private Consumer<MergedbStoreConfigurationBuilder> settings = builder -> {};
  private int segments = SEGMENTS;
  MergedbStore<Object, Object> store;

  /** For the next start. */
  StoreFixture settings(Consumer<MergedbStoreConfigurationBuilder> value) {
    settings = value;
    return this;
  }

  /** For the next start. */
  StoreFixture segments(int value) {
    segments = value;
    return this;
  }

  StoreFixture start() {
    ConfigurationBuilder builder = new ConfigurationBuilder();
    builder.clustering().cacheMode(CacheMode.LOCAL).hash().numSegments(segments);
    settings.accept(builder.persistence().addStore(MergedbStoreConfigurationBuilder.class).path(directory.toString()));
    Configuration configuration = builder.build();
    store = new MergedbStore<>();
    join(store.start(new PersistenceMockUtil.InvocationContextBuilder(getClass(), configuration, marshaller)
        .setTimeService(time)
        .setKeyPartitioner(configuration.clustering().hash().keyPartitioner()).build()));
    return this;
  }

  void stop() {
    join(store.stop());
  }

  /** The directory of the database. */
  Path database() {
    return directory.resolve("mock-cache").resolve("mergedb");
  }

  void put(int segment, Object key, Object value) {
    put(segment, key, value, -1);
  }

  void put(int segment, Object key, Object value, long lifespanMillis) {
    Metadata metadata = lifespanMillis < 0 ? null : new EmbeddedMetadata.Builder().lifespan(lifespanMillis).build();
    long now = lifespanMillis < 0 ? -1 : time.wallClockTime();
    join(store.write(segment, MarshalledEntryUtil.create(key, value, metadata, now, now, marshaller)));
  }

  Object get(int segment, Object key) {
    MarshallableEntry<Object, Object> entry = join(store.load(segment, key));
    return entry == null ? null : entry.getValue();
  }

  List<Object> keys(IntSet ofSegments) {
    return Flowable.fromPublisher(store.publishKeys(ofSegments, null)).toList().blockingGet();
  }

  long size(IntSet ofSegments) {
    return join(store.size(ofSegments));
  }

  List<MarshallableEntry<Object, Object>> purge() {
    return Flowable.fromPublisher(store.purgeExpired()).toList().blockingGet();
  }

  /** The keys of the expiry index, in the database as it is. */
  List<byte[]> dueKeys() {
    List<byte[]> found = new ArrayList<>();
    try (Database database = Database.open(database(), new Options().mode(Options.Mode.READ_ONLY))) {
      Keyspace keyspace = database.findKeyspace("expiry");
      try (EntryIterator due =
          database.iterator(IteratorOptions.DEFAULT.read(ReadOptions.DEFAULT.in(keyspace)).keysOnly(true))) {
        for (boolean isAtKey = due.seekToFirst(); isAtKey; isAtKey = due.next()) found.add(due.key());
      }
    }
    return found;
  }

  static WrappedByteArray bytes(int... values) {
    byte[] array = new byte[values.length];
    for (int i = 0; i < values.length; ++i) array[i] = (byte) values[i];
    return new WrappedByteArray(array);
  }

  static <T> T join(CompletionStage<T> stage) {
    try {
      return stage.toCompletableFuture().get(60, TimeUnit.SECONDS);
    } catch (java.util.concurrent.ExecutionException e) {
      if (e.getCause() instanceof RuntimeException cause) throw cause;
      throw new AssertionError(e);
    } catch (InterruptedException | java.util.concurrent.TimeoutException e) {
      throw new AssertionError(e);
    }
  }

  @Override
  public void close() {
    if (store != null) stop();
    marshaller.stop();
    Util.recursiveFileRemove(directory.toFile());
  }
}
