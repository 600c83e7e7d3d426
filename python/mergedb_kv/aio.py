"""The calls of mergedb_kv for asyncio. No call blocks the event loop.

    from mergedb_kv import aio

    async with aio.open("/srv/data") as db:
        await db.put(b"fruit:apple", b"green")
        async for key, value in db.items(prefix=b"fruit:"):
            print(key, value)

Every call runs in a thread. A database has threads for reads and threads for writes, since a write may wait for a
transaction, and a read waits for no write. A transaction and a call that may last long have a thread of their own.

A task that has a single writer open writes through it: every other write of that task raises BusyError, as in the
blocking interface. Writes of other tasks wait for the end of the transaction, also those of tasks that the block of the
transaction makes: awaiting such a task inside the block would wait forever, so the logger "mergedb_kv.aio" warns of a
write that waits for longer than WARN_SECONDS there.

If a call is cancelled, its thread still ends it: a cancelled write may be written. The attribute `blocking` of
each object is the object of mergedb_kv, whose calls need no thread and take less time if they do not wait.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import logging
import types
import weakref
from collections.abc import AsyncIterator, Awaitable, Coroutine, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Callable, Generic, Literal, Optional, TypeVar, Union, cast, overload

import mergedb_kv as _blocking

from . import _native
from ._errors import AbortedError, BusyError, ClosedError
from ._options import Durability
from ._transaction import TransactionKind
from ._types import Bound, Bytes, PathLike

if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec

    P = ParamSpec("P")

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

#: The threads for reads, and as many for writes.
THREADS = 4

#: How long a write waits for the transaction of the task that made its own task before a warning.
WARN_SECONDS = 5.0

#: Where a call runs. One that runs alone has a thread of its own. A function of the program may write, or last long.
_Pool = Literal["reads", "writes", "alone", "function"]

#: The newest single writer of this task, or of the task that made it.
_begun: "contextvars.ContextVar[Optional[weakref.ref[Transaction]]]" = contextvars.ContextVar("_begun", default=None)
_log = logging.getLogger(__name__)


def _warn() -> None:
    _log.warning(
        "a write has waited %s s for the transaction of the task that made its task; if that task awaits the write "
        "inside the block of the transaction, neither ends: write through the transaction, or await after the block",
        WARN_SECONDS,
    )


def _own(argument: Any) -> Any:
    """The argument, or a copy of bytes that the program may change while a call that was cancelled still runs."""
    return bytes(argument) if isinstance(argument, (bytearray, memoryview)) else argument


def _close(thing: Union[_native.Scan, _blocking.Iterator]) -> None:
    try:
        thing.close()
    except BusyError:  # a cancelled call still runs; its thread has the last reference
        pass


def _alone() -> ThreadPoolExecutor:
    """A thread for a call that may last long, or for an object whose calls follow one another."""
    return ThreadPoolExecutor(1, "mergedb-aio")


async def _in_new_thread(make: Callable[[], T]) -> tuple[ThreadPoolExecutor, T]:
    """Returns a new thread, and what make() returned there.

    If the caller is cancelled first, nothing refers to that object, so it is closed where the thread ends.
    """
    thread = _alone()
    try:
        return thread, await asyncio.wrap_future(thread.submit(make))
    except BaseException:
        thread.shutdown(wait=False)
        raise


class _Opening(Generic[T]):
    """What is awaited, or entered by `async with`, to get an object."""

    def __init__(self, make: Callable[[], Awaitable[T]]) -> None:
        self._make = make
        self._made: Optional[T] = None

    def __await__(self) -> Generator[Any, None, T]:
        return self._make().__await__()

    async def __aenter__(self) -> T:
        self._made = await self._make()
        return cast(T, await cast(Any, self._made).__aenter__())

    async def __aexit__(self, *exception: Any) -> None:
        await cast(Any, self._made).__aexit__(*exception)


class _Threads:
    """The threads of a database."""

    def __init__(self, count: int) -> None:
        self.reads = ThreadPoolExecutor(count, "mergedb-aio-read")
        self.writes = ThreadPoolExecutor(count, "mergedb-aio-write")
        self.is_closed = False
        self._writer: Optional[weakref.ref[Transaction]] = None

    @property
    def writer(self) -> Optional["Transaction"]:
        """The newest single writer, if it is open. One that the program has forgotten is rolled back."""
        writer = None if self._writer is None else self._writer()
        return writer if writer is not None and writer.is_open else None

    @writer.setter
    def writer(self, writer: "Transaction") -> None:
        self._writer = weakref.ref(writer)

    async def run(self, pool: _Pool, function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        self.check_open()
        writer = self.writer if pool in ("writes", "function") else None
        if writer is None:
            return await self._submit(pool, function, *arguments, **options)
        if writer.task is asyncio.current_task():
            # WHY in that thread: the engine then raises BusyError instead of waiting for the end of the transaction.
            return await writer.submit(lambda _: function(*arguments, **options))
        begun = _begun.get()
        is_of_maker = begun is not None and begun() is writer
        del writer  # the program may forget it while this call waits
        if not is_of_maker:
            return await self._submit(pool, function, *arguments, **options)
        warning = asyncio.get_running_loop().call_later(WARN_SECONDS, _warn)
        try:
            return await self._submit(pool, function, *arguments, **options)
        finally:
            warning.cancel()

    async def _submit(self, pool: _Pool, function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        used = self.reads if pool == "reads" else self.writes if pool == "writes" else _alone()
        future = used.submit(function, *arguments, **options)
        if pool in ("alone", "function"):
            used.shutdown(wait=False)
        return await asyncio.wrap_future(future)

    def own_writer(self) -> Optional["Transaction"]:
        """The open single writer of this task."""
        writer = self.writer
        return writer if writer is not None and writer.task is asyncio.current_task() else None

    def check_open(self) -> None:
        if self.is_closed:
            raise ClosedError("the database is closed")

    def close(self) -> None:
        """The calls that have begun end."""
        self.is_closed = True
        self.reads.shutdown(wait=False)
        self.writes.shutdown(wait=False)


def _call(
    pool: _Pool, method: Callable[Concatenate[Any, P], T]
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """A method with the name, the arguments and the result of a method of `blocking`, which it calls in a thread."""
    name = method.__name__

    async def call(self: Any, /, *arguments: P.args, **options: P.kwargs) -> T:
        function: Callable[P, T] = getattr(self.blocking, name)
        own = functools.partial(function, *map(_own, arguments), **{key: _own(value) for key, value in options.items()})
        return await cast(_Threads, self._threads).run(pool, own)

    call.__name__, call.__doc__ = name, method.__doc__
    return call


def _scan(
    method: Callable[Concatenate[Any, P], _blocking.Entries[T]],
) -> Callable[Concatenate[Any, P], Entries[T]]:
    """As _call, for a method that returns entries and reads none."""
    name = method.__name__

    def scan(self: Any, /, *arguments: P.args, **options: P.kwargs) -> Entries[T]:
        return Entries(self._threads, getattr(self.blocking, name)(*arguments, **options))

    scan.__name__, scan.__doc__ = name, method.__doc__
    return scan


class Entries(Generic[T_co]):
    """The entries of a range, in key order, for `async for`. Each iteration shows the state at its own start."""

    def __init__(self, threads: _Threads, entries: "_blocking.Entries[T_co]") -> None:
        self._threads = threads
        self.blocking = entries

    async def __aiter__(self) -> AsyncIterator[T_co]:
        threads, entries = self._threads, self.blocking
        scan = cast(_native.Scan, await threads.run("reads", iter, entries))
        try:
            while block := await threads.run("reads", scan.next_block):
                for entry in block:
                    yield entry
        finally:
            _close(scan)


class Iterator:
    """As mergedb_kv.Iterator. One task at a time may use it."""

    def __init__(self, threads: _Threads, iterator: _blocking.Iterator) -> None:
        self._threads = threads
        self.blocking = iterator

    seek_to_first = _call("reads", _blocking.Iterator.seek_to_first)
    seek_to_last = _call("reads", _blocking.Iterator.seek_to_last)
    seek = _call("reads", _blocking.Iterator.seek)
    seek_for_prev = _call("reads", _blocking.Iterator.seek_for_prev)
    next = _call("reads", _blocking.Iterator.next)
    prev = _call("reads", _blocking.Iterator.prev)

    @property
    def valid(self) -> bool:
        return self.blocking.valid

    @property
    def key(self) -> bytes:
        return self.blocking.key

    @property
    def value(self) -> bytes:
        return self.blocking.value

    def entry(self) -> tuple[bytes, bytes]:
        """The key and the value at which the iterator stands."""
        return self.blocking.entry()

    def close(self) -> None:
        _close(self.blocking)

    async def __aenter__(self) -> "Iterator":
        return self

    async def __aexit__(self, *exception: object) -> None:
        self.close()


class _Readable:
    """The reads that Database, Keyspace and Snapshot share."""

    def __init__(self, threads: _Threads, reader: Any) -> None:
        self._threads = threads
        self.blocking = reader

    @overload
    async def get(self, key: Bytes, default: None = None) -> Optional[bytes]: ...
    @overload
    async def get(self, key: Bytes, default: T) -> Union[bytes, T]: ...
    async def get(self, key: Bytes, default: Optional[T] = None) -> Union[bytes, T, None]:
        return cast("Union[bytes, T, None]", await self._threads.run("reads", self.blocking.get, key, default))

    async def get_many(self, keys: Iterable[Bytes]) -> list[Optional[bytes]]:
        """The values of one state; None for an absent key."""
        return cast("list[Optional[bytes]]", await self._threads.run("reads", self.blocking.get_many, list(keys)))

    async def contains(self, key: Bytes) -> bool:
        return cast(bool, await self._threads.run("reads", self.blocking.__contains__, key))

    async def count(self) -> int:
        """The number of keys. The call reads all of them."""
        return await self._threads.run("alone", len, self.blocking)

    keys = _scan(_blocking.Database.keys)
    items = _scan(_blocking.Database.items)
    values = _scan(_blocking.Database.values)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self.keys().__aiter__()

    def iterator(
        self, start: Bound = None, stop: Bound = None, *, prefix: Bound = None, keys_only: bool = False
    ) -> _Opening[Iterator]:
        """An iterator that seeks and moves in both directions."""

        async def make() -> Iterator:
            options = dict(prefix=prefix, keys_only=keys_only)
            made = await self._threads.run("reads", self.blocking.iterator, start, stop, **options)
            return Iterator(self._threads, made)

        return _Opening(make)


class WriteBatch:
    """As mergedb_kv.WriteBatch. Changes are collected in memory, so only `write` is awaited.

    As an asynchronous context manager it is written at the end of the block, and discarded after an exception.
    """

    def __init__(self, threads: _Threads, batch: _blocking.WriteBatch) -> None:
        self._threads = threads
        self.blocking = batch

    def put(self, key: Bytes, value: Bytes, *, keyspace: Optional["Keyspace"] = None) -> None:
        self.blocking.put(key, value, keyspace=_keyspace(keyspace))

    def __setitem__(self, key: Bytes, value: Bytes) -> None:
        self.blocking.put(key, value)

    def delete(self, key: Bytes, *, keyspace: Optional["Keyspace"] = None) -> None:
        self.blocking.delete(key, keyspace=_keyspace(keyspace))

    __delitem__ = delete

    def delete_range(self, start: Bytes, stop: Bytes, *, keyspace: Optional["Keyspace"] = None) -> None:
        self.blocking.delete_range(start, stop, keyspace=_keyspace(keyspace))

    def merge(self, key: Bytes, operand: Bytes, *, keyspace: Optional["Keyspace"] = None) -> None:
        self.blocking.merge(key, operand, keyspace=_keyspace(keyspace))

    def clear(self) -> None:
        self.blocking.clear()

    def __len__(self) -> int:
        return len(self.blocking)

    async def write(self, durability: Optional[Durability] = None) -> None:
        """Writes the changes. The batch keeps them."""
        await self._threads.run("writes", self.blocking.write, durability)

    async def __aenter__(self) -> "WriteBatch":
        return self

    async def __aexit__(
        self,
        kind: Optional[type[BaseException]],
        exception: Optional[BaseException],
        traceback: Optional[types.TracebackType],
    ) -> None:
        if kind is None and len(self) > 0:
            await self.write()


class _Writable(_Readable):
    """The writes that Database and Keyspace share."""

    put = _call("writes", _blocking.Database.put)
    delete = _call("writes", _blocking.Database.delete)
    delete_range = _call("writes", _blocking.Database.delete_range)
    delete_prefix = _call("writes", _blocking.Database.delete_prefix)
    merge = _call("writes", _blocking.Database.merge)
    update = _call("writes", _blocking.Database.update)
    clear = _call("writes", _blocking.Database.clear)
    compact = _call("alone", _blocking.Database.compact)

    def batch(self, *, durability: Optional[Durability] = None) -> WriteBatch:
        """A batch whose changes are for this keyspace, unless they name another one."""
        return WriteBatch(self._threads, self.blocking.batch(durability=durability))

    async def run(self, function: Callable[[Any], T]) -> T:
        """Returns function(self.blocking), called in a thread: many calls for the cost of one change of threads."""
        return await self._threads.run("function", function, self.blocking)


class Keyspace(_Writable):
    """A named ordered map within a database."""

    blocking: _blocking.Keyspace

    @property
    def name(self) -> bytes:
        return self.blocking.name


def _keyspace(keyspace: Optional[Keyspace]) -> Optional[_blocking.Keyspace]:
    return None if keyspace is None else keyspace.blocking


class Snapshot(_Readable):
    """A state that stays readable until the snapshot is closed."""

    blocking: _blocking.Snapshot

    def keyspace(self, keyspace: Keyspace) -> "Snapshot":
        """The same state of a keyspace. Closing either of the two closes both."""
        return Snapshot(self._threads, self.blocking.keyspace(keyspace.blocking))

    def close(self) -> None:
        self.blocking.close()

    async def __aenter__(self) -> "Snapshot":
        return self

    async def __aexit__(self, *exception: object) -> None:
        self.close()


class Transaction:
    """As mergedb_kv.Transaction, in a thread of its own. One task at a time may use it.

    As an asynchronous context manager it commits at the end of the block, and rolls back after an exception.
    """

    def __init__(
        self, threads: _Threads, thread: ThreadPoolExecutor, transaction: _blocking.Transaction, kind: TransactionKind
    ) -> None:
        self._threads = threads
        self._thread = thread
        self.blocking = transaction
        self._is_single_writer = kind == TransactionKind.SINGLE_WRITER
        self._is_ending = False  # the last call of its thread was submitted
        self._adopt()
        if self._is_single_writer:
            threads.writer = self

    def _adopt(self) -> None:
        """From now on this task writes through it."""
        task = asyncio.current_task()
        # WHY weakly: a task that failed refers to its frames, and so to the transaction that it forgot.
        self._task = None if task is None else weakref.ref(task)
        if self._is_single_writer:
            _begun.set(weakref.ref(self))

    @property
    def task(self) -> Optional["asyncio.Task[Any]"]:
        """The task that writes through it; None if that has gone."""
        return None if self._task is None else self._task()

    @property
    def is_open(self) -> bool:
        return not self._is_ending and self.blocking.is_open

    async def run(self, function: Callable[[_blocking.Transaction], T]) -> T:
        """Returns function(self.blocking), called in the thread of the transaction."""
        if not self.is_open:
            raise AbortedError("the transaction has ended")
        task = self.task
        if task is None or task.done():  # asyncio.wait_for and gather begin it in a task of their own
            self._adopt()
        return await self.submit(function)

    async def submit(self, function: Callable[[_blocking.Transaction], T]) -> T:
        # WHY a shield: after a cancellation, the calls still run in their order.
        return await asyncio.shield(asyncio.wrap_future(self._thread.submit(function, self.blocking)))

    @overload
    async def get(self, key: Bytes, default: None = None, *, keyspace: Optional[Keyspace] = None) -> Optional[bytes]: ...
    @overload
    async def get(self, key: Bytes, default: T, *, keyspace: Optional[Keyspace] = None) -> Union[bytes, T]: ...
    async def get(
        self, key: Bytes, default: Optional[T] = None, *, keyspace: Optional[Keyspace] = None
    ) -> Union[bytes, T, None]:
        key = _own(key)
        return await self.run(lambda t: t.get(key, default, keyspace=_keyspace(keyspace)))

    async def put(self, key: Bytes, value: Bytes, *, keyspace: Optional[Keyspace] = None) -> None:
        key, value = _own(key), _own(value)
        await self.run(lambda t: t.put(key, value, keyspace=_keyspace(keyspace)))

    async def delete(self, key: Bytes, *, keyspace: Optional[Keyspace] = None) -> None:
        key = _own(key)
        await self.run(lambda t: t.delete(key, keyspace=_keyspace(keyspace)))

    async def delete_range(self, start: Bytes, stop: Bytes, *, keyspace: Optional[Keyspace] = None) -> None:
        start, stop = _own(start), _own(stop)
        await self.run(lambda t: t.delete_range(start, stop, keyspace=_keyspace(keyspace)))

    async def merge(self, key: Bytes, operand: Bytes, *, keyspace: Optional[Keyspace] = None) -> None:
        key, operand = _own(key), _own(operand)
        await self.run(lambda t: t.merge(key, operand, keyspace=_keyspace(keyspace)))

    async def commit(self) -> None:
        """Commits and ends the transaction, also if the call raises."""
        writer = self._threads.own_writer()
        if writer is None or writer is self:
            await self._end(self.run(lambda t: t.commit()))
        else:  # this task would wait for itself: the engine says so, in the thread of its single writer
            await self._end(writer.submit(lambda _: self.blocking.commit()))

    async def rollback(self) -> None:
        """Ends the transaction without its writes. Does nothing if it has ended."""
        if not self._is_ending:
            await self._end(self.submit(lambda t: t.rollback()))

    async def _end(self, last: Awaitable[None]) -> None:
        try:
            await last
        finally:
            if not self._is_ending:
                self._is_ending = True
                self._thread.submit(self.blocking.rollback)  # if the commit was refused
                self._thread.shutdown(wait=False)

    async def __aenter__(self) -> "Transaction":
        self._adopt()
        return self

    async def __aexit__(
        self,
        kind: Optional[type[BaseException]],
        exception: Optional[BaseException],
        traceback: Optional[types.TracebackType],
    ) -> None:
        if kind is None and self.is_open:
            await self.commit()
        else:
            await self.rollback()


class Database(_Writable):
    """As mergedb_kv.Database. aio.open() makes it. Any task of any event loop may use it."""

    blocking: _blocking.Database

    @property
    def closed(self) -> bool:
        return self.blocking.closed

    async def close(self) -> None:
        """Makes the WAL durable and releases the directory. Waits for the calls that run. May be repeated."""
        if self._threads.is_closed:
            return
        try:
            await self._threads.run("alone", self.blocking.close)
        finally:
            self._threads.close()

    def snapshot(self) -> _Opening[Snapshot]:
        async def make() -> Snapshot:
            return Snapshot(self._threads, await self._threads.run("reads", self.blocking.snapshot))

        return _Opening(make)

    async def create_keyspace(self, name: Bytes, *, exist_ok: bool = False) -> Keyspace:
        create = self.blocking.create_keyspace
        return Keyspace(self._threads, await self._threads.run("writes", create, name, exist_ok=exist_ok))

    async def open_keyspace(self, name: Bytes) -> Keyspace:
        return Keyspace(self._threads, await self._threads.run("reads", self.blocking.open_keyspace, name))

    async def drop_keyspace(self, keyspace: Union[Keyspace, Bytes]) -> None:
        given = keyspace.blocking if isinstance(keyspace, Keyspace) else keyspace
        await self._threads.run("writes", self.blocking.drop_keyspace, given)

    def transaction(
        self,
        kind: TransactionKind = TransactionKind.SINGLE_WRITER,
        *,
        durability: Optional[Durability] = None,
        timeout: Optional[float] = None,
        name: str = "",
    ) -> _Opening[Transaction]:
        """Begins a transaction. A single writer waits for the previous one in a thread of its own."""

        async def make() -> Transaction:
            self._threads.check_open()

            def begin() -> _blocking.Transaction:
                return self.blocking.transaction(kind, durability=durability, timeout=timeout, name=name)

            writer = self._threads.own_writer()
            if writer is not None and kind == TransactionKind.SINGLE_WRITER:
                await writer.submit(lambda _: begin().rollback())  # raises BusyError
            thread, begun = await _in_new_thread(begin)
            return Transaction(self._threads, thread, begun, kind)

        return _Opening(make)

    keyspaces = _call("reads", _blocking.Database.keyspaces)
    sync = _call("writes", _blocking.Database.sync)
    checkpoint = _call("alone", _blocking.Database.checkpoint)
    flush = _call("alone", _blocking.Database.flush)
    wait_for_compaction = _call("alone", _blocking.Database.wait_for_compaction)

    async def __aenter__(self) -> "Database":
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()


def open(path: PathLike, *, threads: int = THREADS, **options: Any) -> _Opening[Database]:
    """Opens the database in the directory `path`, or creates it: `async with aio.open(...) as db`, or await.

    threads: the number of threads for reads, and as many for writes. The other options are those of mergedb_kv.open.
    """

    async def make() -> Database:
        thread, opened = await _in_new_thread(lambda: _blocking.open(path, **options))
        thread.shutdown(wait=False)
        return Database(_Threads(threads), opened)

    return _Opening(make)
