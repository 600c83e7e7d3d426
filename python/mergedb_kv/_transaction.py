"""Transactions and their cursors."""

from __future__ import annotations

import enum
import types
from typing import TYPE_CHECKING, Optional, TypeVar, Union, cast, overload

from . import _native
from ._errors import AbortedError, ClosedError, ConflictError
from ._options import Durability
from ._types import Bytes

if TYPE_CHECKING:
    from ._database import Keyspace

T = TypeVar("T")

_WAIT_FOREVER = 0
_TIMEOUT_SECONDS_MAX = 1e12
_MISSING = object()


class TransactionKind(enum.IntEnum):
    """The header include/mergedb/transaction.h describes the kinds. All of them are serializable."""

    #: One at a time. Every other write waits until it ends. It never conflicts.
    SINGLE_WRITER = 0
    #: Any number at a time. The commit raises ConflictError if another write has changed what it read.
    OPTIMISTIC = 1
    READ_ONLY = 2


def number_of(owner: Union[_native.Reader, _native.Transaction], keyspace: "Keyspace") -> int:
    """The number of a keyspace. InvalidArgumentError if the keyspace is of another open database than the owner."""
    if not isinstance(keyspace, _native.Store):
        raise TypeError(f"keyspace must be a Keyspace, not {type(keyspace).__name__}")
    return owner._number_of(keyspace)


class Cursor(_native.Cursor):
    """A cursor over the keys that a transaction sees. Each move returns True if it reached a key.

    After a write of the transaction, call current() before key and value.
    """

    def entry(self) -> tuple[bytes, bytes]:
        """The key and the value at which the cursor stands."""
        return self.key, self.value


def _microseconds(timeout: float) -> int:
    """At least 1. A wait that is too long for the engine has no limit."""
    if not hasattr(timeout, "__float__") and not hasattr(timeout, "__index__"):
        raise TypeError(f"timeout must be a number of seconds or None, not {type(timeout).__name__}")
    if timeout != timeout or timeout < 0:
        raise ValueError(f"timeout must be a number of seconds that is not negative, is {timeout}")
    return max(1, int(timeout * 1_000_000)) if timeout < _TIMEOUT_SECONDS_MAX else _WAIT_FOREVER


class Transaction:
    """Reads one state, together with its own writes, and commits all of its writes atomically, or none.

    As a context manager it commits at the end of the block, and rolls back after an exception.
    One thread at a time may use it.
    """

    def __init__(
        self,
        reader: _native.Reader,
        kind: TransactionKind,
        durability: Durability,
        bytes_max: int,
        timeout: Optional[float],
        name: str,
    ) -> None:
        wait_us = _WAIT_FOREVER if timeout is None else _microseconds(timeout)
        self._native = _native.Transaction(reader, int(kind), int(durability), bytes_max, wait_us, name)

    def _id(self, keyspace: Optional["Keyspace"]) -> int:
        return 0 if keyspace is None else number_of(self._native, keyspace)

    @property
    def is_open(self) -> bool:
        return self._native.is_open

    @overload
    def get(self, key: Bytes, default: None = None, *, keyspace: Optional["Keyspace"] = None) -> Optional[bytes]: ...
    @overload
    def get(self, key: Bytes, default: T, *, keyspace: Optional["Keyspace"] = None) -> Union[bytes, T]: ...
    def get(self, key: Bytes, default: Optional[T] = None, *, keyspace: Optional["Keyspace"] = None) -> Union[bytes, T, None]:
        return cast("Union[bytes, T, None]", self._native.get(key, default, self._id(keyspace)))

    def __getitem__(self, key: Bytes) -> bytes:
        value = self._native.get(key, _MISSING, 0)
        if value is _MISSING:
            raise KeyError(key)
        return cast(bytes, value)

    def __contains__(self, key: Bytes) -> bool:
        return self._native.get(key, None, 0) is not None

    def put(self, key: Bytes, value: Bytes, *, keyspace: Optional["Keyspace"] = None) -> None:
        self._native.put(key, value, self._id(keyspace))

    def __setitem__(self, key: Bytes, value: Bytes) -> None:
        self._native.put(key, value)

    def delete(self, key: Bytes, *, keyspace: Optional["Keyspace"] = None) -> None:
        """Deletes the key. It may be absent."""
        self._native.delete(key, self._id(keyspace))

    def __delitem__(self, key: Bytes) -> None:
        if key not in self:
            raise KeyError(key)
        self._native.delete(key)

    def delete_range(self, start: Bytes, stop: Bytes, *, keyspace: Optional["Keyspace"] = None) -> None:
        self._native.delete_range(start, stop, self._id(keyspace))

    def merge(self, key: Bytes, operand: Bytes, *, keyspace: Optional["Keyspace"] = None) -> None:
        self._native.merge(key, operand, self._id(keyspace))

    def cursor(self, *, keyspace: Optional["Keyspace"] = None) -> Cursor:
        return Cursor(self._native, self._id(keyspace))

    def set_savepoint(self) -> None:
        self._native.set_savepoint()

    def rollback_to_savepoint(self) -> None:
        """Undoes every write since the newest savepoint, and removes that savepoint."""
        self._native.rollback_to_savepoint()

    def release_savepoint(self) -> None:
        """Removes the newest savepoint and keeps the writes."""
        self._native.release_savepoint()

    def commit(self) -> None:
        """Commits and ends the transaction, also if the call raises.

        Beside a call of another thread on this transaction it raises BusyError, and the transaction stays open.
        """
        try:
            self._native.commit()
        except ConflictError as error:
            error.key = self._native.conflict_key
            raise

    def rollback(self) -> None:
        """Ends the transaction without its writes. Does nothing if it has ended.

        It waits for a call of another thread on this transaction.
        """
        try:
            self._native.rollback()
        except (AbortedError, ClosedError):
            pass

    def __enter__(self) -> "Transaction":
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        exception: Optional[BaseException],
        traceback: Optional[types.TracebackType],
    ) -> None:
        try:
            if kind is None and self.is_open:
                self.commit()
        finally:
            self.rollback()
