"""Databases, keyspaces, snapshots and write batches."""

from __future__ import annotations

import atexit
import functools
import sys
import types
import weakref
from collections.abc import Iterable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, Callable, Optional, TypeVar, Union, cast
from collections import abc

from . import _columns, _native, _paths
from ._columns import ArrowEntries, ColumnType
from ._errors import Error, InvalidArgumentError
from ._options import (
    Durability,
    Event,
    Metric,
    NumberOptions,
    OpenOptions,
    RepairReport,
    TraceReport,
    check_names,
    numbers,
)
from ._transaction import Transaction, TransactionKind, number_of
from ._types import Bound, Bytes, Order, PathLike
from ._views import ITEMS, KEYS, VALUES, Entries, Iterator

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")

_MISSING: Any = object()
#: The memory that a transaction may take, in bytes.
TRANSACTION_BYTES_MAX = 256 << 20
#: The size of the file of a trace, in bytes.
TRACE_BYTES_MAX = 1 << 30


class _Readable:
    """The reads that Database, Keyspace and Snapshot share."""

    if TYPE_CHECKING:
        # _native.Reader has these.
        def get(self, key: Bytes, default: Any = None, **options: bool) -> Any: ...
        def __getitem__(self, key: Bytes) -> bytes: ...

    def keys(
        self, start: Bound = None, stop: Bound = None, *, prefix: Bound = None, reverse: bool = False
    ) -> Entries[bytes]:
        """The keys from start (inclusive) to stop (exclusive) that begin with prefix. Values are not read."""
        return Entries(cast(_native.Reader, self), KEYS, start, stop, prefix, reverse)

    def items(
        self, start: Bound = None, stop: Bound = None, *, prefix: Bound = None, reverse: bool = False
    ) -> Entries[tuple[bytes, bytes]]:
        """The keys and values of a range, as in keys()."""
        return Entries(cast(_native.Reader, self), ITEMS, start, stop, prefix, reverse)

    def values(
        self, start: Bound = None, stop: Bound = None, *, prefix: Bound = None, reverse: bool = False
    ) -> Entries[bytes]:
        """The values of a range, as in keys()."""
        return Entries(cast(_native.Reader, self), VALUES, start, stop, prefix, reverse)

    def iterator(
        self, start: Bound = None, stop: Bound = None, *, prefix: Bound = None, keys_only: bool = False
    ) -> Iterator:
        """An iterator that seeks and moves in both directions, over the same range as keys()."""
        return Iterator(cast(_native.Reader, self), start, stop, prefix, keys_only)

    def to_numpy(
        self, start: Bound = None, stop: Bound = None,
        *, prefix: Bound = None, key_dtype: Any = None, value_dtype: Any = None, reverse: bool = False,
        limit: Optional[int] = None,
    ) -> tuple[Any, Any]:
        """The keys and the values of a range as two NumPy arrays, of at most `limit` entries.

        Each key has the bytes of one element of key_dtype, for example ">u8" or "S16"; likewise the values. Without a
        dtype the array is None. InvalidArgumentError if a key or a value has another size.
        """
        reader = cast(_native.Reader, self)
        return _columns.to_numpy(reader, start, stop, prefix, key_dtype, value_dtype, reverse, limit)

    def to_arrow(
        self, start: Bound = None, stop: Bound = None,
        *, prefix: Bound = None, key_type: ColumnType = "binary", value_type: ColumnType = "binary",
        reverse: bool = False, batch_rows: int = _columns.BATCH_ROWS,
    ) -> ArrowEntries:
        """The keys and the values of a range as Arrow record batches, for pyarrow.table(), polars.DataFrame() and others.

        A type is "binary", the number of bytes of a fixed-size binary column, a number type as "uint64" whose bytes
        are in the machine's order, or None for no column.
        """
        reader = cast(_native.Reader, self)
        return ArrowEntries(reader, start, stop, prefix, key_type, value_type, reverse, batch_rows)

    def __iter__(self) -> abc.Iterator[bytes]:
        return iter(self.keys())

    def __reversed__(self) -> abc.Iterator[bytes]:
        return iter(self.keys(reverse=True))

    def __len__(self) -> int:
        """The number of keys. The call reads all of them."""
        return sum(1 for _ in self.keys())

    def __bool__(self) -> bool:
        """True if there is a key. The call does not count the keys."""
        return any(True for _ in self.keys())



def _bytes(what: str, given: Bytes) -> bytes:
    if isinstance(given, (bytes, bytearray, memoryview)):
        return bytes(given)
    raise TypeError(f"{what} must be bytes, not {type(given).__name__}")


class WriteBatch:
    """Changes that are written atomically: all of them, or none, now and after any crash.

    As a context manager it is written at the end of the block, and discarded after an exception.
    """

    def __init__(self, store: "_Writable", durability: Optional[Durability] = None) -> None:
        self._store = store
        self._durability = None if durability is None else Durability(durability)
        self._native = _native.Batch()

    def _id(self, keyspace: Optional["Keyspace"]) -> int:
        store = cast(_native.Store, self._store)
        return store.keyspace_id if keyspace is None else number_of(store, keyspace)

    def put(self, key: Bytes, value: Bytes, *, keyspace: Optional["Keyspace"] = None) -> None:
        self._native.put(key, value, self._id(keyspace))

    def __setitem__(self, key: Bytes, value: Bytes) -> None:
        self.put(key, value)

    def delete(self, key: Bytes, *, keyspace: Optional["Keyspace"] = None) -> None:
        """Deletes the key. It may be absent."""
        self._native.delete(key, self._id(keyspace))

    def __delitem__(self, key: Bytes) -> None:
        """As delete(): a batch reads nothing, so an absent key is no error."""
        self.delete(key)

    def delete_range(self, start: Bytes, stop: Bytes, *, keyspace: Optional["Keyspace"] = None) -> None:
        """Deletes the keys from start (inclusive) to stop (exclusive), also those that earlier changes put."""
        self._native.delete_range(start, stop, self._id(keyspace))

    def merge(self, key: Bytes, operand: Bytes, *, keyspace: Optional["Keyspace"] = None) -> None:
        self._native.merge(key, operand, self._id(keyspace))

    def append(self, other: "WriteBatch") -> None:
        """Adds the changes of another batch of the same database after those of this batch."""
        if not isinstance(other, WriteBatch):
            raise TypeError(f"other must be a WriteBatch, not {type(other).__name__}")
        if not cast(_native.Store, self._store)._shares_database(cast(_native.Store, other._store)):
            raise InvalidArgumentError("the batch was made for another open database")
        self._native.append(other._native)

    def clear(self) -> None:
        self._native.clear()

    def __len__(self) -> int:
        """The number of changes."""
        return self._native.count

    @property
    def bytes(self) -> int:
        """The size of the changes in the WAL, in bytes."""
        return self._native.bytes

    def write(self, durability: Optional[Durability] = None) -> None:
        """Writes the changes. The batch keeps them."""
        how = self._durability if durability is None else durability
        cast(_native.Store, self._store)._write(self._native.handle, how)

    def __enter__(self) -> "WriteBatch":
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        exception: Optional[BaseException],
        traceback: Optional[types.TracebackType],
    ) -> None:
        if kind is None and len(self) > 0:
            self.write()


class _Writable(_Readable):
    """The writes that Database and Keyspace share. MutableMapping's methods that read and then write are not atomic."""

    if TYPE_CHECKING:
        # _native.Store has these.
        def put(self, key: Bytes, value: Bytes, *, durability: Optional[int] = None) -> None: ...
        def delete(self, key: Bytes, *, durability: Optional[int] = None) -> None: ...
        def delete_range(self, start: Bytes, stop: Bytes, *, durability: Optional[int] = None) -> None: ...
        def __contains__(self, key: object) -> bool: ...
        def __setitem__(self, key: Bytes, value: Bytes) -> None: ...

    def __delitem__(self, key: Bytes) -> None:
        """Deletes the key; KeyError if it is absent. delete() does not read the key first."""
        if key not in self:
            raise KeyError(key)
        self.delete(key)

    def batch(self, *, durability: Optional[Durability] = None) -> WriteBatch:
        """A batch whose changes are for this keyspace, unless they name another one."""
        return WriteBatch(self, durability)

    def pop(self, key: Bytes, default: Any = _MISSING) -> Any:
        value = self.get(key)
        if value is not None:
            self.delete(key)
            return value
        if default is _MISSING:
            raise KeyError(key)
        return default

    def popitem(self) -> tuple[bytes, bytes]:
        """Removes and returns the first entry."""
        for key, value in self.items():
            self.delete(key)
            return key, value
        raise KeyError("the database has no keys")

    def setdefault(self, key: Bytes, default: Bytes = b"") -> bytes:
        value = self.get(key)
        if value is not None:
            return cast(bytes, value)
        self.put(key, default)
        return bytes(default)

    def update(
        self, other: Union[Mapping[bytes, Bytes], Iterable[tuple[Bytes, Bytes]]] = (), /, **named: Bytes
    ) -> None:
        """Writes all entries atomically, by one batch. Keys are bytes, so update(name=value) is a TypeError."""
        if named:
            key = next(iter(named))
            raise TypeError(f"update() takes no keywords, since keys are bytes: give update({{{key.encode()!r}: ...}})")
        pairs: Any = other
        if hasattr(other, "keys"):
            mapping = cast(Mapping[bytes, Bytes], other)
            pairs = mapping.items() if hasattr(other, "items") else ((key, mapping[key]) for key in mapping.keys())
        with self.batch() as batch:
            for key, value in pairs:
                batch.put(key, value)

    def put_numpy(
        self,
        keys: Any,
        values: Any,
        *,
        key_dtype: Any = None,
        value_dtype: Any = None,
        durability: Optional[Durability] = None,
        batch_bytes: int = _columns.BATCH_BYTES,
    ) -> None:
        """Writes one entry for each element of two NumPy arrays of the same length, with the bytes of the elements.

        With a dtype, the elements are converted to it first. Give key_dtype=">u8" for numbers: only the bytes of
        unsigned numbers with the highest byte first have the order of the numbers.
        The entries are written by several batches of about batch_bytes. Each batch is atomic.
        """
        store = cast(_native.Store, self)
        _columns.put_numpy(store, keys, values, key_dtype, value_dtype, durability, batch_bytes)

    def put_arrow(
        self,
        source: Any,
        *,
        key: str = "key",
        value: str = "value",
        durability: Optional[Durability] = None,
        batch_bytes: int = _columns.BATCH_BYTES,
    ) -> int:
        """Writes one entry for each row of an Arrow table, and returns their number.

        source: an object with __arrow_c_stream__, as tables and readers of record batches of pyarrow have.
        key, value: the names of two columns of a binary, string or fixed-width type.
        The entries are written by several batches of about batch_bytes. Each batch is atomic.
        """
        return _columns.put_arrow(cast(_native.Store, self), source, key, value, durability, batch_bytes)

    def clear(self) -> None:
        """Deletes all keys, by one write."""
        with self.iterator(keys_only=True) as it:
            if not it.seek_to_first():
                return
            first = it.key
            it.seek_to_last()
            last = it.key
        # WHY no range to behind the last key: only bytewise order has a next key.
        with self.batch() as batch:
            if first != last:
                batch.delete_range(first, last)
            batch.delete(last)


def _extend(native: type, methods: type) -> type:
    """A class derived from a native one, with the methods of another class. nanobind 2 allows one base only."""

    def fill(namespace: dict[str, Any]) -> None:
        for base in reversed(methods.__mro__[:-1]):
            skipped = ("__dict__", "__weakref__", "__doc__", "__module__")
            namespace.update({name: value for name, value in vars(base).items() if name not in skipped})

    return types.new_class(native.__name__, (native,), exec_body=fill)


if TYPE_CHECKING:

    class _Store(_native.Store, _Writable):  # type: ignore[misc]
        pass

    class _Reader(_native.Reader, _Readable):  # type: ignore[misc]
        pass

else:
    _Store = _extend(_native.Store, _Writable)
    _Reader = _extend(_native.Reader, _Readable)


class Keyspace(_Store):
    """A named ordered map within a database. Database.create_keyspace and open_keyspace make it."""

    name: bytes

    def __init__(self, parent: "Database", name: bytes, id: int) -> None:
        super().__init__(parent, id)
        self.name = name

    def clear(self) -> None:
        """Deletes all keys, by one write."""
        self._keyspace_write(False, self.keyspace_id, None)

    def __repr__(self) -> str:
        return f"<mergedb_kv.Keyspace {self.name!r}{' (closed)' if self.closed else ''}>"


class Snapshot(_Reader):
    """A state that stays readable until the snapshot is closed. What it can see stays on disk until then."""

    def __init__(self, reader: _native.Reader, snapshot: _native.OpenSnapshot, keyspace: int) -> None:
        super().__init__(reader, snapshot, keyspace)
        self._snapshot = snapshot

    def keyspace(self, keyspace: Keyspace) -> "Snapshot":
        """The same state of a keyspace. Closing either of the two closes both."""
        return Snapshot(self, self._snapshot, number_of(self, keyspace))

    def close(self) -> None:
        self._snapshot.close()

    def __enter__(self) -> "Snapshot":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _deliver(
    listener: Callable[[Event], object], name: str, time_us: int, fields: dict[str, Union[int, str]], json: str
) -> None:
    listener(Event(name, time_us / 1e6, fields, json))


class Database(_Store):
    """An ordered map from bytes to bytes in a directory, which one process uses.

    Any thread may call any method at any time, close included. After close, every call raises ClosedError. In a
    child process, after a fork, every call raises ForkedError.
    """

    def __init__(
        self,
        path: PathLike,
        *,
        durability: Durability = Durability.PROCESS_CRASH,
        comparator: Optional[Order] = None,
        comparator_name: Optional[bytes] = None,
        listener: Optional[Callable[[Event], object]] = None,
        **options: Unpack[NumberOptions],
    ) -> None:
        if (comparator is None) != (comparator_name is None):
            raise ValueError("comparator and comparator_name must be given together")
        if comparator is not None and not callable(comparator):
            raise TypeError("comparator must be callable")
        if comparator_name is not None and not isinstance(comparator_name, bytes):
            raise TypeError(f"comparator_name must be bytes, not {type(comparator_name).__name__}")
        if listener is not None and not callable(listener):
            raise TypeError("listener must be callable")
        check_names(options, ("durability", "comparator", "comparator_name", "listener"))
        name = b"" if comparator_name is None else comparator_name
        listens = None if listener is None else functools.partial(_deliver, listener)
        super().__init__(_paths.encode(path), numbers(options), comparator, name, listens)
        self.path: PathLike = path
        self._compares_in_python = comparator is not None
        self.durability = durability
        _open_databases.add(self)

    @property
    def durability(self) -> Durability:
        """The durability of writes that name none."""
        return Durability(self._durability)

    @durability.setter
    def durability(self, value: Durability) -> None:
        self._durability = int(Durability(value))

    def close(self) -> None:
        """Makes the WAL durable and releases the directory. Waits for calls of other threads. May be repeated."""
        self._close()

    def snapshot(self) -> Snapshot:
        return Snapshot(self, self._take_snapshot(), 0)

    def create_keyspace(self, name: Bytes, *, exist_ok: bool = False) -> Keyspace:
        """Creates a keyspace. If the name exists: the existing keyspace if exist_ok, else InvalidArgumentError."""
        return Keyspace(self, _bytes("name", name), self._open_keyspace(name, True, bool(exist_ok)))

    def open_keyspace(self, name: Bytes) -> Keyspace:
        """NotFoundError if no keyspace has this name."""
        return Keyspace(self, _bytes("name", name), self._open_keyspace(name, False, False))

    def keyspaces(self) -> list[bytes]:
        """The names of the keyspaces, sorted."""
        return self._list_keyspaces()

    def drop_keyspace(self, keyspace: Union[Keyspace, Bytes]) -> None:
        """Removes a keyspace with all of its keys, by one write."""
        if not isinstance(keyspace, Keyspace):
            keyspace = self.open_keyspace(keyspace)
        self._keyspace_write(True, number_of(self, keyspace), None)

    def transaction(
        self,
        kind: TransactionKind = TransactionKind.SINGLE_WRITER,
        *,
        durability: Optional[Durability] = None,
        bytes_max: int = TRANSACTION_BYTES_MAX,
        timeout: Optional[float] = None,
        name: str = "",
    ) -> Transaction:
        """Begins a transaction.

        timeout: how long a single writer waits for the previous one, in seconds; BusyError after that.
        """
        how = self.durability if durability is None else Durability(durability)
        return Transaction(self, TransactionKind(kind), how, bytes_max, timeout, name)

    def metrics(self) -> list[Metric]:
        """The present values of all counters and gauges."""
        return [Metric(*each) for each in self._metrics()]

    def start_trace(
        self, path: PathLike, *, sampling: int = 1, record_values: bool = False, bytes_max: int = TRACE_BYTES_MAX
    ) -> None:
        """Begins to record the calls on this database to a new file: docs/TRACE.md. end_trace() or close() ends it.

        sampling: one of so many keys and iterators is recorded.
        record_values: the bytes of values of up to 1 MiB are recorded, instead of their sizes.
        bytes_max: the trace ends when its file would exceed this size.
        """
        self._start_trace(_paths.encode(path), sampling, bool(record_values), bytes_max)

    def end_trace(self) -> TraceReport:
        """Ends the trace. InvalidArgumentError if none was started."""
        return TraceReport(*self._end_trace())

    def checkpoint(self, target: PathLike, *, may_link: bool = True) -> None:
        """Copies the database into the absent or empty directory `target`, while it is read and written."""
        self._checkpoint(_paths.encode(target), may_link)

    def __enter__(self) -> "Database":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<mergedb_kv.Database {self.path!r}{' (closed)' if self.closed else ''}>"


Mapping.register(Snapshot)  # pyright: ignore[reportAttributeAccessIssue]
MutableMapping.register(Database)  # pyright: ignore[reportAttributeAccessIssue]
MutableMapping.register(Keyspace)  # pyright: ignore[reportAttributeAccessIssue]

#: How often threads change while databases with a comparator are closed at the end of the interpreter.
_CLOSE_SWITCH_SECONDS = 1e-5

_open_databases: "weakref.WeakSet[Database]" = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Closes every open database before the interpreter ends."""
    databases = list(_open_databases)
    interval = sys.getswitchinterval()
    if any(database._compares_in_python for database in databases):
        # WHY: a close waits for a compaction. Beside busy threads each of its comparisons would wait for an interval.
        sys.setswitchinterval(_CLOSE_SWITCH_SECONDS)
    for database in databases:
        try:
            database.close()
        except Error:
            pass
    sys.setswitchinterval(interval)


# options: begin open (scripts/options.toml)
def open(path: PathLike, **options: Unpack[OpenOptions]) -> Database:
    """Opens the database in the directory `path`, or creates it.

    None, or an absent option, is the default of the engine. A TypeError names an option that does not exist.

    durability: a Durability, of the writes that name none; PROCESS_CRASH by default.
    mode: A Mode. What an open does if there is a database, or none. Default: CREATE_IF_MISSING.
    memory_bytes: The memory for write buffers and the block cache together. Default: 256 MiB.
    write_buffer_bytes: Unflushed writes may take twice this many bytes of memory_bytes, standby memtable included.
        Default: an eighth of memory_bytes.
    style: A Style. How background compactions arrange the data. Default: LAZY.
    compression: A Compression. The codec of new upper tables, which are rewritten soon. Default: LZ4.
    bottom_compression: A Compression. The codec of new bottommost tables, which stay. Default: LZ4.
    bloom_bits_per_key: Bits per key of the tables' bloom filters. 0: no filters. Default: 10.
    block_bytes: The target size of a table's blocks before compression. Default: 4,096.
    blob_value_bytes_min: Values of at least this many bytes are written once, to a blob file, and tables refer to them.
        0: all values are stored in tables. Default: 768.
    open_tables_max: The maximum of open tables; half as many blob files may be open, too. Default: 1,000.
    mapped_read_bytes_max: Tables and blob files up to this many bytes together are mapped into memory and read in
        place. 0: no file is mapped. Default: half of the machine's memory.
    write_delay_us_max: The maximum delay of a put while the disk keeps up with the writes. Default: 10,000
        microseconds.
    finish_compactions_on_close: Close waits for running compactions. Default: no.
    keep_space_at_rest: The space that a busy database reuses stays allocated when it is at rest, for benchmarks of the
        steady state. Default: no.
    use_mapped_wal_buffer: Records go to a WAL buffer in a mapped file if the file system allows it, so a put needs no
        system call. Default: yes.
    wal_sync_interval_ms: An unsynced write is durable (it survives a power loss) at most this long after the call. 0:
        no limit in time. Default: 5,000 milliseconds.
    log_bytes_max: The files LOG and LOG.old of the directory hold the newest events as lines of JSON, at most this many
        bytes together. Default: no LOG is written.
    slow_call_us: A call that takes at least this long becomes an event with its breakdown. Default: calls are not
        measured.
    comparator, comparator_name: the order of the keys, f(a, b) -> int, and its name, which the database stores.
    listener: gets each Event of the database, in a thread of its own, one at a time.
    """
    return Database(path, **options)
# options: end


def destroy(path: PathLike) -> None:
    """Removes the files of a database, and the directory if it is empty then. NotFoundError if there is none."""
    _native.destroy(_paths.encode(path))


def verify(path: PathLike) -> RepairReport:
    """Finds every damage of a database that no process has open, and changes nothing."""
    return RepairReport(*_native.run_repair(_paths.encode(path), False, False))


def repair(path: PathLike, *, dry_run: bool = False) -> RepairReport:
    """Repairs a database so that it opens again. Damaged files are moved to `lost` in its directory."""
    return RepairReport(*_native.run_repair(_paths.encode(path), True, dry_run))
