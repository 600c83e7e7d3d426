"""The interface of plyvel 1.5 on mergedb.

    import mergedb_kv.plyvel as plyvel

The classes have plyvel's methods, arguments and results. docs/api/python.md lists the differences. DB converts a
LevelDB directory in place: docs/api/moving-from-leveldb.md.
"""

from __future__ import annotations

import os
from typing import Any, Optional, Union

from . import _native, _paths
from ._database import Database, destroy, repair
from ._errors import BusyError, ClosedError, CorruptionError, Error, NotFoundError, StorageError
from ._options import Compression, Durability, Mode, check_names
from ._types import Bytes, Order, PathLike

__leveldb_version__ = "1.23"
__version__ = "1.5.1"

Name = PathLike

_LEVELDB_WRITE_BUFFER_BYTES = 4 << 20
_DEFAULT_MEMORY_BYTES = 256 << 20

__all__ = ["DB", "CorruptionError", "Error", "IOError", "IteratorInvalidError", "destroy_db", "repair_db"]

IOError = StorageError


class IteratorInvalidError(Error):
    """The raw iterator stands at no key."""


def _path(name: Name) -> bytes:
    if not isinstance(name, (str, bytes, os.PathLike)):
        raise TypeError("'name' arg must be a byte string, a unicode string or a path")
    return _paths.encode(name)


def _number(name: str, value: Optional[int], low: int, high: int) -> Optional[int]:
    """LevelDB clips numbers to a range; so does this function."""
    if value is None:
        return None
    if not isinstance(value, int):
        raise TypeError(f"'{name}' must be an integer, not {type(value).__name__}")
    if value < 0:
        raise OverflowError(f"'{name}' must not be negative")
    return min(max(value, low), high)


def _options(
    create_if_missing: bool = False,
    error_if_exists: bool = False,
    paranoid_checks: Optional[bool] = None,
    write_buffer_size: Optional[int] = None,
    max_open_files: Optional[int] = None,
    lru_cache_size: Optional[int] = None,
    block_size: Optional[int] = None,
    block_restart_interval: Optional[int] = None,
    max_file_size: Optional[int] = None,
    compression: Union[str, bytes, None] = "snappy",
    bloom_filter_bits: int = 0,
    comparator: Optional[Order] = None,
    comparator_name: Optional[bytes] = None,
) -> dict[str, Any]:
    _number("block_restart_interval", block_restart_interval, 0, 1 << 62)  # mergedb has no such options
    _number("max_file_size", max_file_size, 0, 1 << 62)
    if isinstance(compression, bytes):
        compression = compression.decode()
    if compression is not None and not isinstance(compression, str):
        raise TypeError("'compression' must be None or a string")
    if compression not in (None, "snappy"):
        raise ValueError("'compression' must be None or 'snappy'")
    if (comparator is None) != (comparator_name is None):
        raise ValueError("'comparator' and 'comparator_name' must be specified together")
    if comparator_name is not None and not isinstance(comparator_name, bytes):
        raise TypeError("'comparator_name' must be a byte string")
    write_buffer = _number("write_buffer_size", write_buffer_size, 1 << 16, 32 << 30)
    cache = _number("lru_cache_size", lru_cache_size, 0, 1 << 49)
    memory = None
    if cache is not None:
        write_buffer = write_buffer or _LEVELDB_WRITE_BUFFER_BYTES
        memory = cache + 2 * write_buffer
    elif write_buffer is not None:
        memory = max(_DEFAULT_MEMORY_BYTES, 3 * write_buffer)
    mode = Mode.CREATE_IF_MISSING if create_if_missing else Mode.MUST_EXIST
    if error_if_exists:
        mode = Mode.MUST_NOT_EXIST
    return {
        "mode": mode,
        "write_buffer_bytes": write_buffer,
        "memory_bytes": memory,
        "open_tables_max": _number("max_open_files", max_open_files, 16, 50_000),
        "block_bytes": _number("block_size", block_size, 1 << 10, 4 << 20),
        "compression": Compression.NONE if compression is None else Compression.SNAPPY,
        "bloom_bits_per_key": min(bloom_filter_bits, 64) if bloom_filter_bits > 0 else None,
        "comparator": comparator,
        "comparator_name": comparator_name,
    }


def _increment(prefix: bytes) -> Optional[bytes]:
    """The first key after all keys with this prefix; None if there is none."""
    short = prefix.rstrip(b"\xff")
    return short[:-1] + bytes([short[-1] + 1]) if short else None


def _durability(sync: Optional[bool]) -> Durability:
    return Durability.SYNCED if sync else Durability.PROCESS_CRASH


class DB:
    """As plyvel.DB."""

    def __init__(
        self, name: Name, *, create_if_missing: bool = False, error_if_exists: bool = False, **options: Any
    ) -> None:
        path = _path(name)
        check_names(options, (), _options, "plyvel.DB()")
        decoded = _options(create_if_missing, error_if_exists, **options)
        if error_if_exists and not create_if_missing:  # as LevelDB: the database must exist, and must not exist
            if not os.path.exists(os.path.join(path, b"CURRENT")):
                raise Error(f"{name!r}: does not exist (create_if_missing is false)")
        try:
            self._db = Database(path, **decoded)
        except BusyError as error:  # LevelDB's code for a locked directory
            raise IOError(str(error)) from error
        except NotFoundError as error:  # LevelDB makes its lock before it looks for a database
            if os.path.isdir(path) and not os.access(path, os.W_OK):
                raise IOError(f"{name!r}: the directory is read-only") from error
            raise
        self._name = name
        self._order: Optional[Order] = decoded["comparator"]

    @property
    def name(self) -> Name:
        return self._name

    @property
    def closed(self) -> bool:
        return self._db.closed

    def close(self) -> None:
        self._db.close()

    def get(
        self, key: bytes, default: Any = None, *, verify_checksums: Optional[bool] = False, fill_cache: bool = True
    ) -> Any:
        return self._db.get(key, default, verify_checksums=bool(verify_checksums), fill_cache=bool(fill_cache))

    def put(self, key: bytes, value: Bytes, *, sync: Optional[bool] = False) -> None:
        if sync:
            self._db.put(key, value, durability=Durability.SYNCED)
        else:
            self._db.put(key, value)

    def delete(self, key: bytes, *, sync: Optional[bool] = False) -> None:
        self._db.delete(key, durability=_durability(sync))

    def write_batch(self, *, transaction: bool = False, sync: Optional[bool] = False) -> "WriteBatch":
        return WriteBatch(self, b"", transaction, sync)

    def __iter__(self) -> "Iterator":
        return self.iterator()

    def iterator(self, **options: Any) -> "Iterator":
        return Iterator(self, self._db, b"", **options)

    def raw_iterator(self, *, verify_checksums: Optional[bool] = False, fill_cache: bool = True) -> "RawIterator":
        return RawIterator(self._db, verify_checksums, fill_cache)

    def snapshot(self) -> "Snapshot":
        return Snapshot(self, b"")

    def prefixed_db(self, prefix: bytes) -> "PrefixedDB":
        return PrefixedDB(db=self, prefix=prefix)

    def get_property(self, name: bytes) -> Optional[bytes]:
        if not isinstance(name, bytes):
            raise TypeError("'name' must be a byte string")
        text = name.decode("ascii", "replace")
        if text.startswith("leveldb.num-files-at-level"):
            # mergedb has sorted runs and no levels; level 0 shows all tables.
            return self._db.property("mergedb.tables") if text.endswith("level0") else b"0"
        return self._db.property({"leveldb.stats": "mergedb.stats", "leveldb.sstables": "mergedb.runs"}.get(text, text))

    def compact_range(self, *, start: Optional[bytes] = None, stop: Optional[bytes] = None) -> None:
        self._db.compact(start, stop)

    def approximate_size(self, start: bytes, stop: bytes) -> int:
        return self.approximate_sizes((start, stop))[0]

    def approximate_sizes(self, *ranges: tuple[bytes, bytes]) -> list[int]:
        pairs = []
        for start, stop in ranges:
            if not isinstance(start, bytes) or not isinstance(stop, bytes):
                raise TypeError("Start and stop of range must be byte strings")
            pairs.append((start, stop))
        return self._db.approximate_sizes(pairs)

    def __enter__(self) -> "DB":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<plyvel.DB with name {self._name!r}{' (closed)' if self.closed else ''} at {hex(id(self))}>"


class PrefixedDB:
    """As plyvel.PrefixedDB."""

    def __init__(self, *, db: DB, prefix: bytes) -> None:
        if not isinstance(prefix, bytes):
            raise TypeError("'prefix' must be a byte string")
        self._db = db
        self._prefix = prefix

    @property
    def db(self) -> DB:
        return self._db

    @property
    def prefix(self) -> bytes:
        return self._prefix

    def get(self, key: bytes, default: Any = None, **options: Any) -> Any:
        return self._db.get(self._prefix + key, default, **options)

    def put(self, key: bytes, value: Bytes, *, sync: Optional[bool] = False) -> None:
        self._db.put(self._prefix + key, value, sync=sync)

    def delete(self, key: bytes, *, sync: Optional[bool] = False) -> None:
        self._db.delete(self._prefix + key, sync=sync)

    def write_batch(self, *, transaction: bool = False, sync: Optional[bool] = False) -> "WriteBatch":
        return WriteBatch(self._db, self._prefix, transaction, sync)

    def __iter__(self) -> "Iterator":
        return self.iterator()

    def iterator(self, **options: Any) -> "Iterator":
        return Iterator(self._db, self._db._db, self._prefix, **options)

    def snapshot(self) -> "Snapshot":
        return Snapshot(self._db, self._prefix)

    def prefixed_db(self, prefix: bytes) -> "PrefixedDB":
        return PrefixedDB(db=self._db, prefix=self._prefix + prefix)

    def __repr__(self) -> str:
        return f"<plyvel.PrefixedDB with prefix {self._prefix!r} at {hex(id(self))}>"


class WriteBatch:
    """As plyvel.WriteBatch."""

    def __init__(self, db: DB, prefix: bytes, transaction: bool, sync: Optional[bool]) -> None:
        self._db = db
        self._prefix = prefix
        self._transaction = transaction
        self._sync = sync
        self._check_open()
        self._batch = _native.Batch()

    def _check_open(self) -> None:
        if self._db.closed:
            raise ClosedError("Database is closed")

    def put(self, key: bytes, value: Bytes) -> None:
        self._check_open()
        self._batch.put(self._prefix + key if self._prefix else key, value)

    def delete(self, key: bytes) -> None:
        self._check_open()
        self._batch.delete(self._prefix + key if self._prefix else key)

    def clear(self) -> None:
        self._check_open()
        self._batch.clear()

    def write(self) -> None:
        self._check_open()
        if self._batch.count > 0:
            self._db._db._write(self._batch.handle, _durability(self._sync))

    def approximate_size(self) -> int:
        self._check_open()
        return self._batch.bytes

    def append(self, source: "WriteBatch") -> None:
        self._check_open()
        self._batch.append(source._batch)

    def __enter__(self) -> "WriteBatch":
        self._check_open()
        return self

    def __exit__(self, kind: Optional[type[BaseException]], *exception: object) -> None:
        self._check_open()
        if not self._transaction or kind is None:
            self.write()
        self.clear()


_START, _BEFORE, _AFTER, _STOP = range(4)


class Iterator:
    """As plyvel.Iterator: it stands in a gap between two entries, before the first or after the last."""

    def __init__(
        self,
        db: DB,
        reader: _native.Reader,
        db_prefix: bytes,
        *,
        reverse: bool = False,
        start: Optional[bytes] = None,
        stop: Optional[bytes] = None,
        include_start: bool = True,
        include_stop: bool = False,
        prefix: Optional[bytes] = None,
        include_key: bool = True,
        include_value: bool = True,
        verify_checksums: Optional[bool] = False,
        fill_cache: bool = True,
    ) -> None:
        if prefix is not None:
            if start is not None or stop is not None:
                raise TypeError("'prefix' cannot be used together with 'start' or 'stop'")
            start, include_start = db_prefix + prefix, True
            stop, include_stop = _increment(start), False
        elif db_prefix:
            if start is None:
                include_start = True
            if stop is None:
                include_stop = False
            start = db_prefix + (start or b"")
            stop = _increment(db_prefix) if stop is None else db_prefix + stop
        self._prefix = db_prefix
        self._include_key, self._include_value = include_key, include_value
        self._reverse = reverse
        self._order = db._order
        self._skipped = start if start is not None and not include_start else None
        self._last = stop if stop is not None and include_stop else None
        if self._order is None:  # the key after k in bytewise order is k and a zero byte
            start = start if self._skipped is None or start is None else start + b"\0"
            stop = stop if self._last is None or stop is None else stop + b"\0"
            self._skipped = self._last = None
        elif self._last is not None:
            stop = None
        self._it = _native.Iterator(
            reader, start, stop, None, not include_value, bool(verify_checksums), bool(fill_cache)
        )
        self._state = _STOP if reverse else _START

    def _settle(self, found: bool, forward: bool) -> bool:
        """With a comparator: moves past an excluded start. False outside of the range."""
        if found and self._skipped is not None and self._compare(self._it.key, self._skipped) == 0:
            found = self._it.next() if forward else False
        if found and self._last is not None and self._compare(self._it.key, self._last) > 0:
            found = False if forward else self._it.seek_for_prev(self._last)
        return found

    def _compare(self, a: bytes, b: bytes) -> int:
        assert self._order is not None
        return self._order(a, b)

    def _entry(self) -> Any:
        if self._include_key:
            key = self._it.key[len(self._prefix):] if self._prefix else self._it.key
            return (key, self._it.value) if self._include_value else key
        return self._it.value if self._include_value else None

    def _forward(self) -> Any:
        it, state = self._it, self._state
        if state == _AFTER:
            found = it.next()
        elif state == _START:
            found = it.seek_to_first()
        else:
            found = state == _BEFORE and it.valid
            if state == _STOP:
                it.valid  # raises if the iterator is closed
        if self._order is not None:
            found = self._settle(found, True)
        if not found:
            self._state = _STOP
            raise StopIteration
        self._state = _AFTER
        return self._entry()

    def _backward(self) -> Any:
        it, state = self._it, self._state
        if state == _BEFORE:
            found = it.prev()
        elif state == _STOP:
            found = it.seek_to_last()
        else:
            found = state == _AFTER and it.valid
            if state == _START:
                it.valid  # raises if the iterator is closed
        if self._order is not None:
            found = self._settle(found, False)
        if not found:
            self._state = _START
            raise StopIteration
        self._state = _BEFORE
        return self._entry()

    def __iter__(self) -> "Iterator":
        return self

    def __next__(self) -> Any:
        return self._backward() if self._reverse else self._forward()

    next = __next__

    def prev(self) -> Any:
        return self._forward() if self._reverse else self._backward()

    def seek_to_start(self) -> None:
        self._it.valid  # raises if the iterator is closed
        self._state = _START

    def seek_to_stop(self) -> None:
        self._it.valid  # raises if the iterator is closed
        self._state = _STOP

    def seek(self, target: bytes) -> None:
        found = self._it.seek(self._prefix + target if self._prefix else target)
        if self._order is not None:
            found = self._settle(found, True)
        self._state = _BEFORE if found else _STOP

    def close(self) -> None:
        self._it.close()

    def __enter__(self) -> "Iterator":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class RawIterator:
    """As plyvel.RawIterator."""

    def __init__(self, reader: _native.Reader, verify_checksums: Optional[bool], fill_cache: bool) -> None:
        self._it = _native.Iterator(reader, None, None, None, False, bool(verify_checksums), bool(fill_cache))

    def _check_valid(self) -> None:
        if not self._it.valid:
            raise IteratorInvalidError()

    def valid(self) -> bool:
        return self._it.valid

    def seek_to_first(self) -> None:
        self._it.seek_to_first()

    def seek_to_last(self) -> None:
        self._it.seek_to_last()

    def seek(self, target: bytes) -> None:
        self._it.seek(target)

    def next(self) -> None:
        self._check_valid()
        self._it.next()

    def prev(self) -> None:
        self._check_valid()
        self._it.prev()

    def key(self) -> bytes:
        self._check_valid()
        return self._it.key

    def value(self) -> bytes:
        self._check_valid()
        return self._it.value

    def item(self) -> tuple[bytes, bytes]:
        return self.key(), self.value()

    def close(self) -> None:
        self._it.close()

    def __enter__(self) -> "RawIterator":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class Snapshot:
    """As plyvel.Snapshot."""

    def __init__(self, db: DB, prefix: bytes) -> None:
        self._db = db
        self._prefix = prefix
        self._snapshot = db._db.snapshot()

    def get(
        self, key: bytes, default: Any = None, *, verify_checksums: Optional[bool] = False, fill_cache: bool = True
    ) -> Any:
        return self._snapshot.get(
            self._prefix + key if self._prefix else key,
            default,
            verify_checksums=bool(verify_checksums),
            fill_cache=bool(fill_cache),
        )

    def __iter__(self) -> Iterator:
        return self.iterator()

    def iterator(self, **options: Any) -> Iterator:
        return Iterator(self._db, self._snapshot, self._prefix, **options)

    def raw_iterator(self, *, verify_checksums: Optional[bool] = False, fill_cache: bool = True) -> RawIterator:
        return RawIterator(self._snapshot, verify_checksums, fill_cache)

    def close(self) -> None:
        self._snapshot.close()

    release = close

    def __enter__(self) -> "Snapshot":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def repair_db(name: Name, **options: Any) -> None:
    """Repairs a database of mergedb. The options are checked and have no effect."""
    path = _path(name)
    check_names(options, (), _options, "plyvel.repair_db()")
    _options(**options)
    repair(path)


def destroy_db(name: Name) -> None:
    destroy(_path(name))
