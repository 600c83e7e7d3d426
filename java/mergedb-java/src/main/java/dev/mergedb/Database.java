package dev.mergedb;

import java.io.IOException;
import java.lang.ref.Reference;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * An open database: an ordered map from bytes to bytes in one directory, and named keyspaces beside it.
 *
 * <p>Any number of threads may use one at once. {@link #close} waits for calls that other threads are in. After close
 * every call throws CLOSED; iterators, snapshots, transactions and cursors of it throw SHUTTING_DOWN and can still be
 * closed.
 *
 * <p>Arrays and buffers that go in are copied before the call returns. Arrays that come out belong to the caller. A
 * null argument is a NullPointerException with its name, a negative size an IllegalArgumentException. Keys have at
 * most 8 MiB, values at most 1 GiB: more is INVALID_ARGUMENT.
 *
 * <p>Any call may throw {@link MergedbException} with CORRUPTION, IO_ERROR, CLOSED, and OUT_OF_MEMORY; writes also
 * with NO_SPACE, and with NOT_SUPPORTED if the database is read-only. If {@link MergedbException#outcomeUnknown} is
 * true, the write may be there after the next open, whole or not at all.
 */
public final class Database implements AutoCloseable {
  private final Handle handle;
  final long number;
  final Object identity; // of the database in this process, for its keyspaces: the same after it is opened again
  private final Callbacks comparison; // null: bytewise
  private final Path directory;

  private Database(Path directory, long number, Callbacks callbacks) {
    this.directory = directory;
    this.number = number;
    this.identity = identity(directory, number);
    this.comparison = callbacks != null && callbacks.hasComparator() ? callbacks : null;
    this.handle = Handle.create(this, Handle.DATABASE, number, null);
  }

  /** The device and the number of the directory, where the system has them: the database may be moved between opens. */
  private static Object identity(Path directory, long number) {
    Object key = null;
    try {
      key = Files.readAttributes(directory, BasicFileAttributes.class).fileKey();
    } catch (IOException e) {
      // Somebody moved the directory since the open.
    }
    return key == null ? (Object) number : key;
  }

  /** The bytes of a path, as the operating system knows it, whatever the encoding of file names in this JVM is. */
  private static byte[] bytes(Path path, String name) {
    Objects.requireNonNull(path, name);
    if (path.getFileSystem() != FileSystems.getDefault()) {
      throw new IllegalArgumentException(name + " " + path + " is not a path of the default file system");
    }
    URI uri = path.toUri();
    String raw = uri.getRawPath();
    byte[] result = new byte[raw.length()];
    int size = 0;
    for (int i = 0; i < raw.length(); ++i) {
      char c = raw.charAt(i);
      if (c == '%') {
        result[size++] = (byte) Integer.parseInt(raw.substring(i + 1, i + 3), 16);
        i += 2;
      } else {
        result[size++] = (byte) c;
      }
    }
    if (size > 1 && result[size - 1] == '/') {
      --size; // toUri adds it to a directory
    }
    return Arrays.copyOf(result, size);
  }

  private static Callbacks callbacks(Options options) {
    return options.comparator == null && options.logger == null && options.listener == null
        ? null
        : new Callbacks(options.comparator, options.logger, options.listener, null);
  }

  private static byte[] comparatorName(Options options) {
    return options.comparator == null
        ? null
        : Limits.utf8(Objects.requireNonNull(options.comparator.name(), "comparator.name()"), "comparator.name()");
  }

  /**
   * Opens the database in a directory, or creates it, with all defaults.
   *
   * @param directory the directory; its parent must be there
   * @return the database, to be closed
   * @throws MergedbException as {@link #open(Path, Options)}
   */
  public static Database open(Path directory) {
    return open(directory, new Options());
  }

  /**
   * Opens the database in a directory. An open that fails changes no byte of any data file.
   *
   * @param directory the directory; its parent must be there
   * @param options how
   * @return the database, to be closed
   * @throws MergedbException NOT_FOUND: it must be there and is not. BUSY: another process, or this one, has it open.
   *     INVALID_ARGUMENT: options that contradict each other or the database. NOT_SUPPORTED: a foreign directory, or
   *     one of a newer version. CORRUPTION: {@link #verify} finds out more and {@link #repair} makes it open again.
   *     IO_ERROR, NO_SPACE
   */
  public static Database open(Path directory, Options options) {
    byte[] path = bytes(directory, "directory");
    Objects.requireNonNull(options, "options");
    Callbacks callbacks = callbacks(options);
    long number = Native.open(path, options.lines(), comparatorName(options), callbacks);
    Database database = new Database(directory, number, callbacks);
    if (callbacks != null && callbacks.failure() != null) {
      database.close();
      throw failed(callbacks.failure());
    }
    return database;
  }

  /**
   * Removes the files of a database, and the directory if that leaves it empty.
   *
   * @param directory the directory
   * @throws MergedbException NOT_FOUND: there is no database. BUSY: it is open. IO_ERROR
   */
  public static void destroy(Path directory) {
    Native.destroy(bytes(directory, "directory"));
  }

  /**
   * The version of the native library.
   *
   * @return such as 0.1.0
   */
  public static String version() {
    return Native.version();
  }

  private static Report inspect(Path directory, Options options, boolean repair, boolean dryRun) {
    byte[] path = bytes(directory, "directory");
    Objects.requireNonNull(options, "options");
    Callbacks callbacks = callbacks(options);
    byte[][][] lists = Native.inspect(path, repair, dryRun, options.lines(), comparatorName(options), callbacks);
    if (callbacks != null && callbacks.failure() != null) {
      throw failed(callbacks.failure());
    }
    return new Report(lines(lists[0]), lines(lists[1]), lines(lists[2]), lines(lists[3]));
  }

  private static List<String> lines(byte[][] texts) {
    List<String> result = new ArrayList<>(texts.length);
    for (byte[] text : texts) {
      result.add(new String(text, StandardCharsets.UTF_8));
    }
    return result;
  }

  /**
   * Finds every damage of a database that nobody has open. Changes nothing.
   *
   * @param directory the directory
   * @return what was found
   * @throws MergedbException NOT_FOUND: there is no database. BUSY: it is open. NOT_SUPPORTED: a newer version made
   *     it. INVALID_ARGUMENT: it has a comparator
   */
  public static Report verify(Path directory) {
    return verify(directory, new Options());
  }

  /**
   * Finds every damage of a database that nobody has open. Changes nothing.
   *
   * @param directory the directory
   * @param options with the comparator of the database
   * @return what was found
   * @throws MergedbException as {@link #verify(Path)}; INVALID_ARGUMENT: it has another comparator
   */
  public static Report verify(Path directory, Options options) {
    return inspect(directory, options, false, false);
  }

  /**
   * Makes a damaged database open again. What is damaged is moved to the folder {@code lost} of the directory. If it
   * is interrupted, call it again.
   *
   * @param directory the directory
   * @return what was damaged, lost and done
   * @throws MergedbException as {@link #verify(Path)}; IO_ERROR, NO_SPACE: nothing was lost, call it again
   */
  public static Report repair(Path directory) {
    return repair(directory, new Options(), false);
  }

  /**
   * Makes a damaged database open again.
   *
   * @param directory the directory
   * @param options with the comparator of the database
   * @param dryRun true: report the actions and the losses; change nothing
   * @return what was damaged, lost and done
   * @throws MergedbException as {@link #repair(Path)}
   */
  public static Report repair(Path directory, Options options, boolean dryRun) {
    return inspect(directory, options, true, dryRun);
  }

  private static MergedbException failed(Throwable cause) {
    return new MergedbException(
        MergedbException.Code.ABORTED,
        "the comparator threw " + cause + ", so the order of keys is unknown; correct the comparator and open the database again",
        true,
        cause);
  }

  /** Before a call: refuses if the comparator has failed. */
  private void ready() {
    if (comparison != null && comparison.failure() != null) {
      throw failed(comparison.failure());
    }
  }

  /** After a call: throws if the comparator has failed meanwhile, and keeps this reachable until here. */
  void checkComparator() {
    if (comparison != null && comparison.failure() != null) {
      throw failed(comparison.failure());
    }
    Reference.reachabilityFence(this);
  }

  /**
   * For range deletes. A comparator of Java's may throw while the engine compacts them, and the engine does not
   * notice every loss that follows.
   */
  void requireNoComparator() {
    if (comparison != null) {
      throw new MergedbException(
          MergedbException.Code.NOT_SUPPORTED,
          "a database with a comparator has no range deletes in Java; delete the keys one by one");
    }
  }

  private static WriteOptions of(WriteOptions options) {
    return Objects.requireNonNull(options, "options");
  }

  private static ReadOptions of(ReadOptions options) {
    return Objects.requireNonNull(options, "options");
  }

  /**
   * The buffer, if native code uses its bytes where they are; else null. Native code sees only an address, so a byte
   * is read here first: the JDK then refuses memory of an Arena that is closed or belongs to another thread.
   */
  private static ByteBuffer direct(ByteBuffer buffer) {
    if (!buffer.isDirect()) {
      return null;
    }
    if (buffer.hasRemaining()) {
      buffer.get(buffer.position());
    }
    return buffer;
  }

  private static byte[] array(ByteBuffer buffer) {
    if (buffer.isDirect()) {
      return null;
    }
    if (buffer.hasArray()) {
      return buffer.array();
    }
    byte[] copy = new byte[buffer.remaining()]; // read-only
    buffer.duplicate().get(copy);
    return copy;
  }

  private static int offset(ByteBuffer buffer) {
    return buffer.isDirect() ? buffer.position() : buffer.hasArray() ? buffer.arrayOffset() + buffer.position() : 0;
  }

  private static ByteBuffer key(ByteBuffer key) {
    Objects.requireNonNull(key, "key");
    Limits.keySize(key.remaining(), "key");
    return key;
  }

  // ---- writes

  /**
   * Sets a key of the default keyspace.
   *
   * @param key the key
   * @param value the value
   */
  public void put(byte[] key, byte[] value) {
    put(WriteOptions.DEFAULT, key, value);
  }

  /**
   * Sets a key.
   *
   * @param options durability and keyspace
   * @param key the key
   * @param value the value
   */
  public void put(WriteOptions options, byte[] key, byte[] value) {
    of(options);
    Limits.key(key);
    Limits.value(value);
    ready();
    Native.put(number, options.durability, options.keyspace.idIn(identity), key, value);
    checkComparator();
  }

  /**
   * Sets a key. The bytes are those between position and limit; positions and limits stay as they are. Direct buffers
   * are read where they are.
   *
   * @param options durability and keyspace
   * @param key the key
   * @param value the value
   */
  public void put(WriteOptions options, ByteBuffer key, ByteBuffer value) {
    of(options);
    key(key);
    Objects.requireNonNull(value, "value");
    Limits.valueSize(value.remaining());
    ready();
    Native.putBuffers(
        number, options.durability, options.keyspace.idIn(identity),
        direct(key), array(key), offset(key), key.remaining(),
        direct(value), array(value), offset(value), value.remaining());
    Reference.reachabilityFence(key);
    Reference.reachabilityFence(value);
    checkComparator();
  }

  /**
   * Removes a key of the default keyspace. Nothing happens if it is not there.
   *
   * @param key the key
   */
  public void delete(byte[] key) {
    delete(WriteOptions.DEFAULT, key);
  }

  /**
   * Removes a key. Nothing happens if it is not there.
   *
   * @param options durability and keyspace
   * @param key the key
   */
  public void delete(WriteOptions options, byte[] key) {
    of(options);
    Limits.key(key);
    ready();
    Native.delete(number, options.durability, options.keyspace.idIn(identity), key);
    checkComparator();
  }

  /**
   * Removes a key. The bytes are those between position and limit, which stay as they are.
   *
   * @param options durability and keyspace
   * @param key the key
   */
  public void delete(WriteOptions options, ByteBuffer key) {
    of(options);
    key(key);
    ready();
    Native.deleteBuffer(
        number, options.durability, options.keyspace.idIn(identity),
        direct(key), array(key), offset(key), key.remaining());
    Reference.reachabilityFence(key);
    checkComparator();
  }

  /**
   * Removes every key from begin on and before end, of the default keyspace. Costs what one write costs.
   *
   * @param begin the first key
   * @param end the first key behind the range
   * @throws MergedbException as {@link #deleteRange(WriteOptions, byte[], byte[])}
   */
  public void deleteRange(byte[] begin, byte[] end) {
    deleteRange(WriteOptions.DEFAULT, begin, end);
  }

  /**
   * Removes every key from begin on and before end. Costs what one write costs.
   *
   * @param options durability and keyspace
   * @param begin the first key
   * @param end the first key behind the range
   * @throws MergedbException INVALID_ARGUMENT: begin is after end. NOT_SUPPORTED: the database has a comparator
   */
  public void deleteRange(WriteOptions options, byte[] begin, byte[] end) {
    of(options);
    Limits.key(begin, "begin");
    Limits.key(end, "end");
    ready();
    requireNoComparator();
    Native.deleteRange(number, options.durability, options.keyspace.idIn(identity), begin, end);
    checkComparator();
  }

  /**
   * Removes every key that begins with these bytes, of the default keyspace.
   *
   * @param prefix the bytes
   * @throws MergedbException as {@link #deletePrefix(WriteOptions, byte[])}
   */
  public void deletePrefix(byte[] prefix) {
    deletePrefix(WriteOptions.DEFAULT, prefix);
  }

  /**
   * Removes every key that begins with these bytes. Bytewise databases only.
   *
   * @param options durability and keyspace
   * @param prefix the bytes
   * @throws MergedbException INVALID_ARGUMENT: the prefix is empty or has no byte but 0xff
   */
  public void deletePrefix(WriteOptions options, byte[] prefix) {
    of(options);
    Limits.key(prefix, "prefix");
    ready();
    Native.deletePrefix(number, options.durability, options.keyspace.idIn(identity), prefix);
    checkComparator();
  }

  /**
   * Applies an operand to a key of the default keyspace, whether it is there or not. Nothing is read.
   *
   * @param key the key
   * @param operand the operand
   */
  public void merge(byte[] key, Merge operand) {
    merge(WriteOptions.DEFAULT, key, operand);
  }

  /**
   * Applies an operand to a key, whether it is there or not. Nothing is read.
   *
   * @param options durability and keyspace
   * @param key the key
   * @param operand the operand
   */
  public void merge(WriteOptions options, byte[] key, Merge operand) {
    of(options);
    Limits.key(key);
    Objects.requireNonNull(operand, "operand");
    ready();
    Native.merge(
        number, options.durability, options.keyspace.idIn(identity), key,
        operand.type, operand.keep, operand.u64, operand.i64, operand.f64, operand.capBytes, operand.bytes,
        operand.delimiter, operand.name);
    checkComparator();
  }

  /**
   * Adds to a counter of the default keyspace: {@link Merge#addU64}.
   *
   * @param key the key
   * @param delta what is added, modulo 2^64
   */
  public void addU64(byte[] key, long delta) {
    addU64(WriteOptions.DEFAULT, key, delta);
  }

  /**
   * Adds to a counter: {@link Merge#addU64}.
   *
   * @param options durability and keyspace
   * @param key the key
   * @param delta what is added, modulo 2^64
   */
  public void addU64(WriteOptions options, byte[] key, long delta) {
    of(options);
    Limits.key(key);
    ready();
    Native.addU64(number, options.durability, options.keyspace.idIn(identity), key, delta);
    checkComparator();
  }

  /**
   * Applies a batch: all of it becomes visible and survives a crash, or none. The batch is left as it is.
   *
   * @param batch the batch
   */
  public void write(WriteBatch batch) {
    write(WriteOptions.DEFAULT, batch);
  }

  /**
   * Applies a batch: all of it becomes visible and survives a crash, or none. The batch is left as it is.
   *
   * @param options the durability
   * @param batch the batch
   * @throws MergedbException BUSY: another thread is inside the batch. INVALID_ARGUMENT: options with a keyspace,
   *     which is for the batch to say; a keyspace of another database in the batch; a range that begins after its end.
   *     NOT_SUPPORTED: the batch has a range delete, and the database a comparator
   */
  public void write(WriteOptions options, WriteBatch batch) {
    of(options);
    Objects.requireNonNull(batch, "batch");
    ready();
    batch.writeTo(this, options);
    checkComparator();
  }

  // ---- reads

  /**
   * Reads a key of the default keyspace.
   *
   * @param key the key
   * @return the value, or null: not there
   */
  public byte[] get(byte[] key) {
    return get(ReadOptions.DEFAULT, key);
  }

  /**
   * Reads a key.
   *
   * @param options keyspace and snapshot
   * @param key the key
   * @return the value, or null: not there
   * @throws MergedbException MERGE_FAILED: the operands of this key cannot be applied
   */
  public byte[] get(ReadOptions options, byte[] key) {
    of(options);
    Limits.key(key);
    ready();
    byte[] value = Native.get(number, options.keyspace.idIn(identity), options.snapshotNumber(), options.flags, key);
    Reference.reachabilityFence(options);
    checkComparator();
    return value;
  }

  /**
   * Reads a key into a buffer. As much of the value as fits goes to the position of the value buffer, which moves on
   * by that much. The key is what is between position and limit of its buffer, which stay as they are.
   *
   * @param options keyspace and snapshot
   * @param key the key
   * @param value where the value goes
   * @return -1: not there; else the size of the whole value in bytes
   * @throws IllegalArgumentException if the value buffer is read-only
   */
  public int get(ReadOptions options, ByteBuffer key, ByteBuffer value) {
    of(options);
    key(key);
    Objects.requireNonNull(value, "value");
    if (value.isReadOnly()) {
      throw new IllegalArgumentException("the value buffer is read-only");
    }
    ready();
    int room = value.remaining();
    int position = value.position();
    int size =
        Native.getBuffers(
            number, options.keyspace.idIn(identity), options.snapshotNumber(), options.flags,
            direct(key), array(key), offset(key), key.remaining(),
            direct(value), array(value), offset(value), room);
    Reference.reachabilityFence(key);
    Reference.reachabilityFence(value);
    Reference.reachabilityFence(options);
    checkComparator();
    if (size > 0) {
      value.position(position + Math.min(size, room));
    }
    return size;
  }

  /**
   * Reads several keys as of one moment.
   *
   * @param options keyspace and snapshot
   * @param keys the keys
   * @return a value for each key, in order; null: not there
   */
  public List<byte[]> multiGet(ReadOptions options, List<byte[]> keys) {
    of(options);
    byte[][] array = Objects.requireNonNull(keys, "keys").toArray(byte[][]::new);
    for (byte[] key : array) {
      Limits.key(key);
    }
    ready();
    byte[][] values =
        Native.multiGet(number, options.keyspace.idIn(identity), options.snapshotNumber(), options.flags, array);
    Reference.reachabilityFence(options);
    checkComparator();
    return Arrays.asList(values);
  }

  /**
   * A snapshot of the state as of now. To be closed.
   *
   * @return the snapshot
   */
  public Snapshot snapshot() {
    ready();
    Snapshot snapshot = new Snapshot(this, handle, Native.snapshotCreate(number));
    checkComparator();
    return snapshot;
  }

  /**
   * An iterator over the default keyspace as of now. To be closed.
   *
   * @return the iterator; it stands nowhere
   */
  public EntryIterator iterator() {
    return iterator(IteratorOptions.DEFAULT);
  }

  /**
   * An iterator. To be closed.
   *
   * @param options what it shows
   * @return the iterator; it stands nowhere
   */
  public EntryIterator iterator(IteratorOptions options) {
    ReadOptions read = Objects.requireNonNull(options, "options").read;
    ready();
    EntryIterator iterator =
        new EntryIterator(
            this,
            handle,
            Native.iteratorCreate(
                number, read.keyspace.idIn(identity), read.snapshotNumber(), read.flags,
                options.prefix, options.lower, options.upper, options.keysOnly));
    Reference.reachabilityFence(options);
    checkComparator();
    return iterator;
  }

  /**
   * Begins a single-writer transaction. To be closed.
   *
   * @return the transaction
   * @throws MergedbException as {@link #begin(TransactionOptions)}
   */
  public Transaction begin() {
    return begin(TransactionOptions.DEFAULT);
  }

  /**
   * Begins a transaction. To be closed.
   *
   * @param options its kind and limits
   * @return the transaction
   * @throws MergedbException BUSY: another single writer did not end in time, or belongs to this thread.
   *     NOT_SUPPORTED: a virtual thread begins a single writer
   */
  public Transaction begin(TransactionOptions options) {
    Objects.requireNonNull(options, "options");
    byte[] name = options.name == null ? null : Limits.utf8(options.name, "name");
    VirtualThreads.refuse(options.kind);
    ready();
    Transaction transaction =
        new Transaction(
            this,
            handle,
            Native.transactionBegin(
                number, options.kind.ordinal(), options.durability.ordinal(), options.bytesMax, options.waitMicrosMax,
                options.snapshot == null ? 0 : options.snapshot.number(), name));
    Reference.reachabilityFence(options);
    checkComparator();
    return transaction;
  }

  // ---- keyspaces

  private Keyspace open(String name, boolean create, boolean mayExist) {
    byte[] encoded = Limits.utf8(name, "name");
    ready();
    long id = Native.keyspaceOpen(number, false, encoded, create, mayExist);
    checkComparator();
    return id < 0 ? null : Keyspace.of(identity, (int) id);
  }

  /**
   * Creates a keyspace. Bytewise databases only.
   *
   * @param name 1 to 1,024 bytes in UTF-8
   * @return the keyspace
   * @throws MergedbException INVALID_ARGUMENT: there is one of this name
   */
  public Keyspace createKeyspace(String name) {
    return open(name, true, false);
  }

  /**
   * The keyspace of this name; it is created if it does not exist.
   *
   * @param name 1 to 1,024 bytes in UTF-8
   * @return the keyspace
   */
  public Keyspace keyspace(String name) {
    return open(name, true, true);
  }

  /**
   * The keyspace of this name.
   *
   * @param name the name
   * @return the keyspace, or null if it does not exist
   */
  public Keyspace findKeyspace(String name) {
    return open(name, false, true);
  }

  /**
   * All keyspaces but the default one, by name.
   *
   * @return a map of the caller's
   */
  public Map<String, Keyspace> keyspaces() {
    ready();
    byte[][][] lists = Native.keyspaceList(number, false);
    checkComparator();
    return keyspaceMap(identity, lists);
  }

  static Map<String, Keyspace> keyspaceMap(Object database, byte[][][] lists) {
    Map<String, Keyspace> result = new LinkedHashMap<>();
    for (int i = 0; i < lists[0].length; ++i) {
      result.put(
          new String(lists[0][i], StandardCharsets.UTF_8),
          Keyspace.of(database, ByteBuffer.wrap(lists[1][i]).getInt()));
    }
    return result;
  }

  private void remove(WriteOptions options, Keyspace keyspace, boolean clear) {
    of(options);
    int id = Objects.requireNonNull(keyspace, "keyspace").idIn(identity);
    ready();
    Native.keyspaceDrop(number, false, options.durability, options.keyspace.idIn(identity), id, clear);
    checkComparator();
  }

  /**
   * Removes a keyspace and all that is in it, by one write.
   *
   * @param keyspace not the default one
   */
  public void dropKeyspace(Keyspace keyspace) {
    dropKeyspace(WriteOptions.DEFAULT, keyspace);
  }

  /**
   * Removes a keyspace and all that is in it, by one write.
   *
   * @param options the durability; without a keyspace
   * @param keyspace not the default one
   * @throws MergedbException INVALID_ARGUMENT: it is the default one, or was dropped before
   */
  public void dropKeyspace(WriteOptions options, Keyspace keyspace) {
    remove(options, keyspace, false);
  }

  /**
   * Removes all that is in a keyspace, by one write.
   *
   * @param keyspace not the default one
   */
  public void clearKeyspace(Keyspace keyspace) {
    clearKeyspace(WriteOptions.DEFAULT, keyspace);
  }

  /**
   * Removes all that is in a keyspace, by one write.
   *
   * @param options the durability; without a keyspace
   * @param keyspace not the default one
   * @throws MergedbException INVALID_ARGUMENT: it is the default one, or was dropped before
   */
  public void clearKeyspace(WriteOptions options, Keyspace keyspace) {
    remove(options, keyspace, true);
  }

  /**
   * Compacts a range of a keyspace into the bottom run. Waits.
   *
   * @param keyspace the keyspace
   * @param lower the first key, or null: from the first one on
   * @param upper the first key behind the range, or null: to the last one
   */
  public void compactKeyspace(Keyspace keyspace, byte[] lower, byte[] upper) {
    compact(Objects.requireNonNull(keyspace, "keyspace").idIn(identity), lower, upper);
  }

  // ---- maintenance

  private void act(int what) {
    ready();
    Native.databaseDo(number, what);
    checkComparator();
  }

  /** Waits until everything that was written before the call is in tables and durable. */
  public void flush() {
    act(Native.FLUSH);
  }

  /** Waits until every write that returned before the call survives power loss. */
  public void syncWal() {
    act(Native.SYNC_LOG);
  }

  /** Waits until no background work is owed. */
  public void waitForCompactions() {
    act(Native.WAIT);
  }

  /**
   * Reads every byte of every live table and checks it.
   *
   * @throws MergedbException CORRUPTION: the first damage found
   */
  public void check() {
    act(Native.CHECK);
  }

  private void compact(int keyspace, byte[] lower, byte[] upper) {
    if (lower != null) {
      Limits.key(lower, "lower");
    }
    if (upper != null) {
      Limits.key(upper, "upper");
    }
    ready();
    Native.compact(number, keyspace, lower, upper);
    checkComparator();
  }

  /**
   * Compacts a range of the default keyspace into the bottom run. Waits.
   *
   * @param lower the first key, or null: from the first one on
   * @param upper the first key behind the range, or null: to the last one
   */
  public void compactRange(byte[] lower, byte[] upper) {
    compact(0, lower, upper);
  }

  /**
   * About how many bytes on disk ranges take. Unflushed writes are not counted.
   *
   * @param ranges the ranges
   * @return bytes, one number a range
   */
  public long[] approximateSizes(List<Range> ranges) {
    Range[] array = Objects.requireNonNull(ranges, "ranges").toArray(Range[]::new);
    byte[][] lowers = new byte[array.length][];
    byte[][] uppers = new byte[array.length][];
    for (int i = 0; i < array.length; ++i) {
      Objects.requireNonNull(array[i], "range");
      lowers[i] = Limits.key(array[i].lower(), "lower");
      uppers[i] = Limits.key(array[i].upper(), "upper");
    }
    ready();
    long[] sizes = Native.approximateSizes(number, lowers, uppers);
    checkComparator();
    return sizes;
  }

  /**
   * A property as text: mergedb.stats, mergedb.runs, mergedb.counters, mergedb.recovery and others.
   *
   * @param name the name
   * @return the text, or null: the name is unknown
   */
  public String property(String name) {
    byte[] encoded = Limits.utf8(name, "name");
    ready();
    byte[] text = Native.property(number, encoded);
    checkComparator();
    return text == null ? null : new String(text, StandardCharsets.UTF_8);
  }

  /**
   * The present values of all counters and gauges.
   *
   * @return a list of the caller's
   */
  public List<Metric> metrics() {
    ready();
    byte[][] lines = Native.metrics(number);
    checkComparator();
    List<Metric> result = new ArrayList<>(lines.length);
    for (String line : lines(lines)) {
      String[] parts = line.split("\t", 5);
      result.add(
          new Metric(parts[2], parts[3], parts[4], parts[0].equals("1"), Long.parseUnsignedLong(parts[1])));
    }
    return result;
  }

  /**
   * Begins to record the calls on this database to a new file. {@link #endTrace} or {@link #close} ends it.
   *
   * @param file a file that is not there
   * @param options what is recorded
   * @throws MergedbException INVALID_ARGUMENT: the file is there, or an option is out of its range. BUSY: a trace was
   *     started and not ended. IO_ERROR, NO_SPACE
   */
  public void startTrace(Path file, TraceOptions options) {
    byte[] path = bytes(file, "file");
    Objects.requireNonNull(options, "options");
    ready();
    Native.startTrace(number, path, options.sampling, options.recordValues, options.bytesMax);
    checkComparator();
  }

  /**
   * Ends the trace.
   *
   * @return what the trace has
   * @throws MergedbException INVALID_ARGUMENT: no trace was started. IO_ERROR, NO_SPACE: the file could not be written
   */
  public TraceReport endTrace() {
    ready();
    long[] n = Native.endTrace(number);
    checkComparator();
    return new TraceReport(n[0], n[1], n[2], n[3] != 0);
  }

  /**
   * Makes a copy with all defaults.
   *
   * @param target as {@link #checkpoint(Path, CheckpointOptions)}
   * @return what was copied
   */
  public CheckpointReport checkpoint(Path target) {
    return checkpoint(target, CheckpointOptions.DEFAULT);
  }

  /**
   * Makes a database of its own in another directory, while this one is read and written: everything that was written
   * before the call, and whole batches only. After a failure the target is as it was, and another call goes on with
   * what is there.
   *
   * @param target a directory that is not there, or is empty; its parent must be there
   * @param options how
   * @return what was copied
   * @throws MergedbException INVALID_ARGUMENT: something is there. ABORTED: the progress listener gave up.
   *     CORRUPTION, IO_ERROR, NO_SPACE
   */
  public CheckpointReport checkpoint(Path target, CheckpointOptions options) {
    byte[] path = bytes(target, "target");
    Objects.requireNonNull(options, "options");
    ready();
    Callbacks progress = new Callbacks(null, null, null, options.progress);
    try {
      long[] n = Native.checkpoint(number, path, options.mayLink, options.verify, progress);
      checkComparator();
      return new CheckpointReport(n[0], n[1], n[2], n[3], n[4], n[5]);
    } catch (MergedbException e) {
      if (progress.failure() != null && e.getCause() == null) {
        throw new MergedbException(e.code(), e.getMessage(), e.outcomeUnknown(), progress.failure());
      }
      throw e;
    }
  }

  /**
   * Whether close has not been called.
   *
   * @return false after close
   */
  public boolean isOpen() {
    return !handle.isClosed();
  }

  /**
   * Makes the WAL durable, stops background work and releases the lock. Waits for calls that other threads are in.
   * Nothing happens the second time.
   *
   * @throws MergedbException IO_ERROR, NO_SPACE: it is closed nevertheless, and only the promise of {@code kill -9}
   *     holds
   */
  @Override
  public void close() {
    handle.close();
  }

  @Override
  public String toString() {
    return "Database(" + directory + (isOpen() ? ")" : ", closed)");
  }
}
