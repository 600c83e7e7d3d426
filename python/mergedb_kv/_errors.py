"""The exceptions of mergedb_kv. All of them are an Error."""

from __future__ import annotations

import errno
from typing import Optional

from . import _native


class Error(Exception):
    """An operation of a database failed.

    outcome_unknown: True if the failed write may be present after the next open, completely or not at all.
    """

    outcome_unknown: bool = False


class NotFoundError(Error, KeyError):
    """The key, the keyspace or the database does not exist."""

    def __str__(self) -> str:  # KeyError shows the repr of its argument
        return Error.__str__(self)


class CorruptionError(Error):
    """The stored bytes are not the bytes that were written."""


class InvalidArgumentError(Error, ValueError):
    """The caller asked for something that can never work."""


class NotSupportedError(Error):
    """The request is valid, but this build, file or compaction style does not support it."""


class StorageError(Error, OSError):
    """The operating system returned an error."""


class NoSpaceError(StorageError):
    """The disk or the quota is full, or a transaction exceeds its memory. Writes work again when there is space."""


class BusyError(Error):
    """Another process, thread or transaction uses the object. Try again."""


class ConflictError(Error):
    """Another write conflicts with the transaction, which wrote nothing. Begin it again.

    key: the conflicting key; None if the database no longer knows it.
    """

    key: Optional[bytes] = None


class AbortedError(Error):
    """The transaction has ended."""


class ClosedError(Error, RuntimeError):
    """The database, snapshot or iterator is closed."""


class ForkedError(ClosedError):
    """The object comes from before a fork. The child process cannot use it."""


class MergeError(Error):
    """The merge operands of this key cannot be applied. Other keys work. A put or a delete repairs the key."""


class OutOfMemoryError(Error, MemoryError):
    """An allocation failed. If the call was a write, its outcome is unknown."""


_CLASSES: dict[int, type[Error]] = {
    1: NotFoundError,
    2: CorruptionError,
    3: InvalidArgumentError,
    4: NotSupportedError,
    5: StorageError,
    6: NoSpaceError,
    7: BusyError,
    8: ConflictError,
    9: AbortedError,
    10: ClosedError,
    11: MergeError,
    100: ClosedError,
    101: OutOfMemoryError,
}


def _make(code: int, message: str, outcome_unknown: bool, forked: bool) -> Error:
    """Returns the exception of a code of the C interface."""
    if forked:
        return ForkedError("the object was made before a fork; a child process opens its own database")
    error = _CLASSES.get(code, Error)(message)
    error.outcome_unknown = outcome_unknown
    if isinstance(error, NoSpaceError):
        error.errno = errno.ENOSPC
    return error


_native.set_error_factory(_make)
