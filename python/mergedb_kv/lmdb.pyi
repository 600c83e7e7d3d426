"""The types of mergedb_kv.lmdb, and what its native methods do."""

import types
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Generic, Literal, Optional, TypedDict, TypeVar, Union, overload

from . import _native
from ._types import Bytes, PathLike

_T = TypeVar("_T")
#: What a transaction returns: bytes, or memoryview if it was begun with buffers=True.
_V = TypeVar("_V", bound=Union[bytes, memoryview], covariant=True)

class _Stat(TypedDict):
    psize: int
    depth: int
    branch_pages: int
    leaf_pages: int
    overflow_pages: int
    entries: int

class _Info(TypedDict):
    map_addr: int
    map_size: int
    last_pgno: int
    last_txnid: int
    max_readers: int
    num_readers: int

class _EnvironmentFlags(TypedDict):
    subdir: bool
    readonly: bool
    metasync: bool
    sync: bool
    map_async: bool
    readahead: bool
    writemap: bool
    meminit: bool
    lock: bool

class _DatabaseFlags(TypedDict):
    reverse_key: bool
    dupsort: bool
    integerkey: bool
    integerdup: bool
    dupfixed: bool

__version__: str

@overload
def version() -> tuple[int, int, int]: ...
@overload
def version(subpatch: Literal[False]) -> tuple[int, int, int]: ...
@overload
def version(subpatch: Literal[True]) -> tuple[int, int, int, int]: ...
def enable_drop_gil() -> None: ...

class Error(Exception):
    MDB_HINT: ClassVar[str]
    what: str
    code: int
    reason: str
    def __init__(self, what: str, code: int = 0) -> None: ...

class KeyExistsError(Error):
    MDB_NAME: ClassVar[str]

class NotFoundError(Error):
    MDB_NAME: ClassVar[str]

class PageNotFoundError(Error):
    MDB_NAME: ClassVar[str]

class CorruptedError(Error):
    MDB_NAME: ClassVar[str]

class PanicError(Error):
    MDB_NAME: ClassVar[str]

class VersionMismatchError(Error):
    MDB_NAME: ClassVar[str]

class InvalidError(Error):
    MDB_NAME: ClassVar[str]

class MapFullError(Error):
    MDB_NAME: ClassVar[str]

class DbsFullError(Error):
    MDB_NAME: ClassVar[str]

class ReadersFullError(Error):
    MDB_NAME: ClassVar[str]

class TlsFullError(Error):
    MDB_NAME: ClassVar[str]

class TxnFullError(Error):
    MDB_NAME: ClassVar[str]

class CursorFullError(Error):
    MDB_NAME: ClassVar[str]

class PageFullError(Error):
    MDB_NAME: ClassVar[str]

class MapResizedError(Error):
    MDB_NAME: ClassVar[str]

class IncompatibleError(Error):
    MDB_NAME: ClassVar[str]

class BadRslotError(Error):
    MDB_NAME: ClassVar[str]

class BadTxnError(Error):
    MDB_NAME: ClassVar[str]

class BadValsizeError(Error):
    MDB_NAME: ClassVar[str]

class BadDbiError(Error):
    MDB_NAME: ClassVar[str]

class ReadonlyError(Error):
    MDB_NAME: ClassVar[str]

class InvalidParameterError(Error):
    MDB_NAME: ClassVar[str]

class LockError(Error):
    MDB_NAME: ClassVar[str]

class MemoryError(Error):
    MDB_NAME: ClassVar[str]

class DiskError(Error):
    MDB_NAME: ClassVar[str]

class _Database(_native.LmdbDatabase):
    def flags(self, txn: Optional[Transaction[Any]] = None) -> _DatabaseFlags: ...

class Environment(_native.LmdbEnvironment):
    readonly: bool
    def __init__(
        self,
        path: PathLike,
        map_size: int = 10485760,
        subdir: bool = True,
        readonly: bool = False,
        metasync: bool = True,
        sync: bool = True,
        map_async: bool = False,
        mode: int = 0o755,
        create: bool = True,
        readahead: bool = True,
        writemap: bool = False,
        meminit: bool = True,
        max_readers: int = 126,
        max_dbs: int = 0,
        max_spare_txns: int = 1,
        lock: bool = True,
    ) -> None: ...
    def __enter__(self) -> Environment: ...
    def __exit__(
        self,
        *exception: Union[type[BaseException], BaseException, types.TracebackType, None],
    ) -> None: ...
    def path(self) -> str: ...
    def flags(self) -> _EnvironmentFlags: ...
    def info(self) -> _Info: ...
    def stat(self) -> _Stat: ...
    def copy(self, path: PathLike, compact: bool = False, txn: Optional[Transaction[Any]] = None) -> None: ...
    def copyfd(self, fd: int, compact: bool = False, txn: Optional[Transaction[Any]] = None) -> None: ...
    def set_mapsize(self, map_size: int) -> None: ...
    def open_db(
        self,
        key: Optional[Bytes] = None,
        txn: Optional[Transaction[Any]] = None,
        reverse_key: bool = False,
        dupsort: bool = False,
        create: bool = True,
        integerkey: bool = False,
        integerdup: bool = False,
        dupfixed: bool = False,
    ) -> _Database: ...
    @overload
    def dbs(self, txn: None = None) -> list[bytes]: ...
    @overload
    def dbs(self, txn: Transaction[_V]) -> list[_V]: ...
    @overload
    def begin(
        self,
        db: Optional[_Database] = None,
        parent: Optional[Transaction[Any]] = None,
        write: bool = False,
        buffers: Literal[False] = False,
    ) -> Transaction[bytes]: ...
    @overload
    def begin(
        self, db: Optional[_Database], parent: Optional[Transaction[Any]], write: bool, buffers: Literal[True]
    ) -> Transaction[memoryview]: ...
    @overload
    def begin(
        self,
        db: Optional[_Database] = None,
        parent: Optional[Transaction[Any]] = None,
        write: bool = False,
        *,
        buffers: Literal[True],
    ) -> Transaction[memoryview]: ...

open = Environment

class Transaction(_native.LmdbTransaction, Generic[_V]):
    env: Environment
    @overload
    def __init__(
        self: Transaction[bytes],
        env: Environment,
        db: Optional[_Database] = None,
        parent: Optional[Transaction[Any]] = None,
        write: bool = False,
        buffers: Literal[False] = False,
    ) -> None: ...
    @overload
    def __init__(
        self: Transaction[memoryview],
        env: Environment,
        db: Optional[_Database],
        parent: Optional[Transaction[Any]],
        write: bool,
        buffers: Literal[True],
    ) -> None: ...
    @overload
    def __init__(
        self: Transaction[memoryview],
        env: Environment,
        db: Optional[_Database] = None,
        parent: Optional[Transaction[Any]] = None,
        write: bool = False,
        *,
        buffers: Literal[True],
    ) -> None: ...
    def __enter__(self) -> Transaction[_V]: ...
    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        value: Optional[BaseException],
        traceback: Optional[types.TracebackType],
    ) -> None: ...
    def cursor(self, db: Optional[_Database] = None) -> Cursor[_V]: ...
    def stat(self, db: Optional[_Database] = None) -> _Stat: ...
    @overload
    def get(self, key: Bytes, default: None = None, db: Optional[_Database] = None) -> Optional[_V]: ...
    @overload
    def get(self, key: Bytes, default: _T, db: Optional[_Database] = None) -> Union[_V, _T]: ...
    def replace(self, key: Bytes, value: Bytes, db: Optional[_Database] = None) -> Optional[_V]: ...
    def pop(self, key: Bytes, db: Optional[_Database] = None) -> Optional[_V]: ...

class Cursor(_native.LmdbCursor, Generic[_V]):
    db: _Database
    txn: Transaction[_V]
    def __init__(self, db: _Database, txn: Transaction[_V]) -> None: ...
    def __enter__(self) -> Cursor[_V]: ...
    def __exit__(
        self,
        *exception: Union[type[BaseException], BaseException, types.TracebackType, None],
    ) -> None: ...
    def __iter__(self) -> Iterator[tuple[_V, _V]]: ...
    def key(self) -> _V: ...
    def value(self) -> _V: ...
    def item(self) -> tuple[_V, _V]: ...
    @overload
    def get(self, key: Bytes, default: None = None) -> Optional[_V]: ...
    @overload
    def get(self, key: Bytes, default: _T) -> Union[_V, _T]: ...
    @overload
    def getmulti(
        self,
        keys: Iterable[Bytes],
        dupdata: bool = False,
        dupfixed_bytes: Optional[int] = None,
        keyfixed: bool = False,
        values: Literal[True] = True,
    ) -> list[tuple[_V, _V]]: ...
    @overload
    def getmulti(
        self,
        keys: Iterable[Bytes],
        dupdata: bool = False,
        dupfixed_bytes: Optional[int] = None,
        keyfixed: bool = False,
        *,
        values: Literal[False],
    ) -> list[_V]: ...
    def replace(self, key: Bytes, val: Bytes) -> Optional[_V]: ...
    def pop(self, key: Bytes) -> Optional[_V]: ...
    @overload
    def iternext(self, keys: Literal[True] = True, values: Literal[True] = True) -> Iterator[tuple[_V, _V]]: ...
    @overload
    def iternext(self, keys: Literal[True] = True, *, values: Literal[False]) -> Iterator[_V]: ...
    @overload
    def iternext(self, keys: Literal[True], values: Literal[False]) -> Iterator[_V]: ...
    @overload
    def iternext(self, keys: Literal[False], values: bool = True) -> Iterator[_V]: ...
    @overload
    def iternext_dup(self, keys: Literal[False] = False, values: bool = True) -> Iterator[_V]: ...
    @overload
    def iternext_dup(self, keys: Literal[True], values: Literal[True] = True) -> Iterator[tuple[_V, _V]]: ...
    @overload
    def iternext_dup(self, keys: Literal[True], values: Literal[False]) -> Iterator[_V]: ...
    @overload
    def iternext_nodup(self, keys: bool = True, values: Literal[False] = False) -> Iterator[_V]: ...
    @overload
    def iternext_nodup(self, keys: Literal[True] = True, *, values: Literal[True]) -> Iterator[tuple[_V, _V]]: ...
    @overload
    def iternext_nodup(self, keys: Literal[True], values: Literal[True]) -> Iterator[tuple[_V, _V]]: ...
    @overload
    def iternext_nodup(self, keys: Literal[False], values: Literal[True]) -> Iterator[_V]: ...
    @overload
    def iterprev(self, keys: Literal[True] = True, values: Literal[True] = True) -> Iterator[tuple[_V, _V]]: ...
    @overload
    def iterprev(self, keys: Literal[True] = True, *, values: Literal[False]) -> Iterator[_V]: ...
    @overload
    def iterprev(self, keys: Literal[True], values: Literal[False]) -> Iterator[_V]: ...
    @overload
    def iterprev(self, keys: Literal[False], values: bool = True) -> Iterator[_V]: ...
    @overload
    def iterprev_dup(self, keys: Literal[False] = False, values: bool = True) -> Iterator[_V]: ...
    @overload
    def iterprev_dup(self, keys: Literal[True], values: Literal[True] = True) -> Iterator[tuple[_V, _V]]: ...
    @overload
    def iterprev_dup(self, keys: Literal[True], values: Literal[False]) -> Iterator[_V]: ...
    @overload
    def iterprev_nodup(self, keys: bool = True, values: Literal[False] = False) -> Iterator[_V]: ...
    @overload
    def iterprev_nodup(self, keys: Literal[True] = True, *, values: Literal[True]) -> Iterator[tuple[_V, _V]]: ...
    @overload
    def iterprev_nodup(self, keys: Literal[True], values: Literal[True]) -> Iterator[tuple[_V, _V]]: ...
    @overload
    def iterprev_nodup(self, keys: Literal[False], values: Literal[True]) -> Iterator[_V]: ...
    def _iter_from(self, key: Bytes, reverse: bool, /) -> Iterator[tuple[_V, _V]]: ...

__all__ = [
    "Cursor",
    "Environment",
    "Transaction",
    "_Database",
    "enable_drop_gil",
    "version",
    "BadDbiError",
    "BadRslotError",
    "BadTxnError",
    "BadValsizeError",
    "CorruptedError",
    "CursorFullError",
    "DbsFullError",
    "DiskError",
    "Error",
    "IncompatibleError",
    "InvalidError",
    "InvalidParameterError",
    "KeyExistsError",
    "LockError",
    "MapFullError",
    "MapResizedError",
    "MemoryError",
    "NotFoundError",
    "PageFullError",
    "PageNotFoundError",
    "PanicError",
    "ReadersFullError",
    "ReadonlyError",
    "TlsFullError",
    "TxnFullError",
    "VersionMismatchError",
]
