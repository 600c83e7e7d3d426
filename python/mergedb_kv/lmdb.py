"""The interface of py-lmdb 2.3 on mergedb.

    import mergedb_kv.lmdb as lmdb

The classes have py-lmdb's methods, arguments, results and exceptions. lmdb.pyi has the types. docs/api/python.md
lists the differences.
"""

from __future__ import annotations

import atexit
import errno
import os
import weakref

from . import _native, _paths

__version__ = "2.3.0"
_LMDB_VERSION = (0, 9, 24)

# include/lmdb.h
_NOSUBDIR = 0x4000
_NOSYNC = 0x10000
_RDONLY = 0x20000
_NOMETASYNC = 0x40000
_WRITEMAP = 0x80000
_MAPASYNC = 0x100000
_NOTLS = 0x200000
_NOLOCK = 0x400000
_NORDAHEAD = 0x800000
_NOMEMINIT = 0x1000000
_REVERSEKEY = 0x02
_DUPSORT = 0x04
_INTEGERKEY = 0x08
_DUPFIXED = 0x10
_INTEGERDUP = 0x20
_CREATE = 0x40000


class Error(Exception):
    """A call of LMDB failed.

    what: the call or the object; code: LMDB's code, or that of the system, 0 if neither has one; reason: the text of
    the code.
    """

    MDB_HINT = ""

    def __init__(self, what, code=0):
        self.what = what
        self.code = code
        self.reason = _native.lmdb_text(code)
        text = what
        if code:
            text = f"{what}: {self.reason}"
            if self.MDB_HINT:
                text += f" ({self.MDB_HINT})"
        super().__init__(text)


class KeyExistsError(Error):
    """The key exists."""

    MDB_NAME = "MDB_KEYEXIST"


class NotFoundError(Error):
    """The key or the named database does not exist."""

    MDB_NAME = "MDB_NOTFOUND"


class PageNotFoundError(Error):
    """Not raised by mergedb."""

    MDB_NAME = "MDB_PAGE_NOTFOUND"


class CorruptedError(Error):
    """The stored bytes are not the bytes that were written."""

    MDB_NAME = "MDB_CORRUPTED"


class PanicError(Error):
    """The environment had a fatal error."""

    MDB_NAME = "MDB_PANIC"


class VersionMismatchError(Error):
    """Not raised by mergedb."""

    MDB_NAME = "MDB_VERSION_MISMATCH"


class InvalidError(Error):
    """The path holds something else than a database of mergedb, or LMDB's own files."""

    MDB_NAME = "MDB_INVALID"


class MapFullError(Error):
    """More was written than map_size allows."""

    MDB_NAME = "MDB_MAP_FULL"
    MDB_HINT = "Please use a larger Environment(map_size=) parameter"


class DbsFullError(Error):
    """More databases are open than max_dbs allows."""

    MDB_NAME = "MDB_DBS_FULL"
    MDB_HINT = "Please use a larger Environment(max_dbs=) parameter"


class ReadersFullError(Error):
    """More readers are open than max_readers allows."""

    MDB_NAME = "MDB_READERS_FULL"
    MDB_HINT = "Please use a larger Environment(max_readers=) parameter"


class TlsFullError(Error):
    """Not raised by mergedb."""

    MDB_NAME = "MDB_TLS_FULL"


class TxnFullError(Error):
    """The transaction is too large."""

    MDB_NAME = "MDB_TXN_FULL"
    MDB_HINT = "Please do less work within your transaction"


class CursorFullError(Error):
    """Not raised by mergedb."""

    MDB_NAME = "MDB_CURSOR_FULL"


class PageFullError(Error):
    """Not raised by mergedb."""

    MDB_NAME = "MDB_PAGE_FULL"


class MapResizedError(Error):
    """Not raised by mergedb."""

    MDB_NAME = "MDB_MAP_RESIZED"


class IncompatibleError(Error):
    """The operation does not go with the database, or mergedb does not offer it, such as dupsort."""

    MDB_NAME = "MDB_INCOMPATIBLE"


class BadRslotError(Error):
    """The thread has a read transaction already."""

    MDB_NAME = "MDB_BAD_RSLOT"


class BadTxnError(Error):
    """The transaction must abort, or has an open child."""

    MDB_NAME = "MDB_BAD_TXN"


class BadValsizeError(Error):
    """The key is empty or longer than max_key_size(), or the value is too large."""

    MDB_NAME = "MDB_BAD_VALSIZE"


class BadDbiError(Error):
    """The handle of the database is not open."""

    MDB_NAME = "MDB_BAD_DBI"


class ReadonlyError(Error):
    """A write in a read-only transaction or environment."""

    MDB_NAME = "EACCES"


class InvalidParameterError(Error):
    """A parameter is invalid, or the database was dropped."""

    MDB_NAME = "EINVAL"


class LockError(Error):
    """Another process has the environment open, or this thread has an open write transaction."""

    MDB_NAME = "EAGAIN"


class MemoryError(Error):
    """An allocation failed."""

    MDB_NAME = "ENOMEM"


class DiskError(Error):
    """The disk is full."""

    MDB_NAME = "ENOSPC"


_FIRST_CODE = -30799
_CLASSES: dict[int, type[Error]] = dict(
    enumerate(
        (
            KeyExistsError,
            NotFoundError,
            PageNotFoundError,
            CorruptedError,
            PanicError,
            VersionMismatchError,
            InvalidError,
            MapFullError,
            DbsFullError,
            ReadersFullError,
            TlsFullError,
            TxnFullError,
            CursorFullError,
            PageFullError,
            MapResizedError,
            IncompatibleError,
            BadRslotError,
            BadTxnError,
            BadValsizeError,
            BadDbiError,
        ),
        _FIRST_CODE,
    )
)
_CLASSES.update(
    {
        errno.EACCES: ReadonlyError,
        errno.EINVAL: InvalidParameterError,
        errno.EAGAIN: LockError,
        errno.EBUSY: LockError,
        errno.ENOMEM: MemoryError,
        errno.ENOSPC: DiskError,
    }
)


def _make_error(what, code):
    return _CLASSES.get(code, Error)(what, code)


_native.set_lmdb_error_factory(_make_error)


def version(subpatch=False):
    """The version of LMDB's interface: major, minor, patch, and 0 for a copy without py-lmdb's patch."""
    return (*_LMDB_VERSION, 0) if subpatch else _LMDB_VERSION


def enable_drop_gil():
    """Does nothing: every call of the engine releases the GIL."""


def _unsigned(name, value, bits):
    number = int(value)
    if not 0 <= number < 1 << bits:
        raise OverflowError(f"{name} must be a number from 0 to 2**{bits} - 1")
    return number


def _bits(*flags):
    return sum(flag for flag, is_set in flags if is_set)


class _Database(_native.LmdbDatabase):
    """A database of an environment: what Environment.open_db() returns."""

    def flags(self, txn=None):
        """The flags with which the database was created."""
        bits = self._flags
        return {
            "reverse_key": bool(bits & _REVERSEKEY),
            "dupsort": bool(bits & _DUPSORT),
            "integerkey": bool(bits & _INTEGERKEY),
            "integerdup": bool(bits & _INTEGERDUP),
            "dupfixed": bool(bits & _DUPFIXED),
        }


class Environment(_native.LmdbEnvironment):
    """As lmdb.Environment: a directory of databases."""

    def __init__(
        self,
        path,
        map_size=10485760,
        subdir=True,
        readonly=False,
        metasync=True,
        sync=True,
        map_async=False,
        mode=0o755,
        create=True,
        readahead=True,
        writemap=False,
        meminit=True,
        max_readers=126,
        max_dbs=0,
        max_spare_txns=1,
        lock=True,
    ):
        name = _paths.encode(path)
        self.readonly = bool(readonly)
        self._path = os.fsdecode(name)
        self._options = {
            "subdir": bool(subdir),
            "readonly": self.readonly,
            "metasync": bool(metasync),
            "sync": bool(sync),
            "map_async": bool(map_async),
            "readahead": bool(readahead),
            "writemap": bool(writemap),
            "meminit": bool(meminit),
            "lock": bool(lock),
        }
        numbers = (
            _unsigned("map_size", map_size, 64),
            _unsigned("max_readers", max_readers, 32),
            _unsigned("max_dbs", max_dbs, 32),
            _unsigned("max_spare_txns", max_spare_txns, 31),
        )
        if create and subdir and not readonly:
            try:
                os.mkdir(name, mode)
            except FileExistsError:
                pass
            except OSError as error:
                raise _make_error(self._path, error.errno or 0) from error
        elif not create and not os.path.exists(name):
            raise _make_error(self._path, errno.ENOENT)
        flags = _NOTLS + _bits(
            (_NOSUBDIR, not subdir),
            (_RDONLY, readonly),
            (_NOMETASYNC, not metasync),
            (_NOSYNC, not sync),
            (_MAPASYNC, map_async),
            (_NORDAHEAD, not readahead),
            (_WRITEMAP, writemap),
            (_NOMEMINIT, not meminit),
            (_NOLOCK, not lock),
        )
        super().__init__(name, flags, mode & ~0o111, *numbers)
        self._main = _Database(self)
        _open_environments.add(self)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def path(self):
        """The path that the environment was opened with."""
        self._check_open("Environment.path")
        return self._path

    def flags(self):
        """The flags that the environment was opened with."""
        self._check_open("Environment.flags")
        return dict(self._options)

    def copy(self, path, compact=False, txn=None):
        """Makes a copy in a directory that exists."""
        _refuse_txn(txn)
        self._copy(_paths.encode(path), bool(compact))

    def copyfd(self, fd, compact=False, txn=None):
        """Writes a copy to a file descriptor, as a tar archive that Environment opens."""
        _refuse_txn(txn)
        self._copyfd(fd, bool(compact))

    def set_mapsize(self, map_size):
        """Changes how much may be written. Ends all read transactions."""
        self._set_mapsize(_unsigned("map_size", map_size, 64))

    def open_db(
        self,
        key=None,
        txn=None,
        reverse_key=False,
        dupsort=False,
        create=True,
        integerkey=False,
        integerdup=False,
        dupfixed=False,
    ):
        """Opens a named database, or the main one. Without a transaction, makes and commits one."""
        self._check_open("Environment.open_db")
        if key is None:
            if reverse_key or dupsort or integerkey or integerdup or dupfixed:
                raise ValueError("the main database has no flags")
            return self._main
        flags = _bits(
            (_REVERSEKEY, reverse_key),
            (_DUPSORT, dupsort),
            (_CREATE, create),
            (_INTEGERKEY, integerkey),
            (_INTEGERDUP, integerdup),
            (_DUPFIXED, dupfixed),
        )
        if txn is not None:
            self._check_same(txn)
            return _Database(txn, key, flags)
        with self.begin(write=not self.readonly) as own:
            return _Database(own, key, flags)

    def dbs(self, txn=None):
        """The names of the named databases."""
        if txn is not None:
            return self._names(txn)
        with self.begin() as own:
            return self._names(own)

    def begin(self, db=None, parent=None, write=False, buffers=False):
        """Begins a transaction."""
        return Transaction(self, db, parent, write, buffers)


def _refuse_txn(txn):
    if txn is not None:
        raise TypeError("a copy of the state of a transaction needs py-lmdb's patched LMDB")


class Transaction(_native.LmdbTransaction):
    """As lmdb.Transaction. `with` commits at its end, and aborts after an exception."""

    def __init__(self, env, db=None, parent=None, write=False, buffers=False):
        super().__init__(env, parent, bool(write), bool(buffers), env._main if db is None else db)
        self.env = env
        self._db = db

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        if kind is not None:
            self.abort()
            return
        try:
            self.commit()
        except BaseException:
            self.abort()  # another thread may be in a call
            raise

    def cursor(self, db=None):
        """A cursor over a database."""
        return Cursor(db or self._db or self.env._main, self)


class Cursor(_native.LmdbCursor):
    """As lmdb.Cursor."""

    def __init__(self, db, txn):
        super().__init__(db, txn)
        self.db = db
        self.txn = txn

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


open = Environment

_open_environments = weakref.WeakSet()


@atexit.register
def _close_all():
    """Closes every open environment before the interpreter ends."""
    for environment in list(_open_environments):
        environment.close()


__all__ = ["Cursor", "Environment", "Transaction", "_Database", "enable_drop_gil", "version", "Error"]
__all__ += sorted(each.__name__ for each in Error.__subclasses__())  # pyright: ignore[reportUnsupportedDunderAll]
