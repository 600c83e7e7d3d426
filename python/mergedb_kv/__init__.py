"""mergedb: an embedded ordered key-value store.

    import mergedb_kv

    with mergedb_kv.open("/srv/data") as db:
        db[b"fruit:apple"] = b"green"
        for key, value in db.items(prefix=b"fruit:"):
            print(key, value)

docs/api/python.md is a tour.
"""

from ._columns import ArrowEntries
from ._database import Database, Keyspace, Snapshot, WriteBatch, destroy, open, repair, verify
from ._errors import (
    AbortedError,
    BusyError,
    ClosedError,
    ConflictError,
    CorruptionError,
    Error,
    ForkedError,
    InvalidArgumentError,
    MergeError,
    NoSpaceError,
    NotFoundError,
    NotSupportedError,
    OutOfMemoryError,
    StorageError,
)
from ._options import Compression, Durability, Event, Metric, Mode, OpenOptions, RepairReport, Style, TraceReport
from ._transaction import Cursor, Transaction, TransactionKind
from ._views import Entries, Iterator
from . import merge, _native

__version__ = "0.1.0"
#: The version of the engine.
engine_version: str = _native.version()

__all__ = [
    "AbortedError",
    "ArrowEntries",
    "BusyError",
    "ClosedError",
    "Compression",
    "ConflictError",
    "CorruptionError",
    "Cursor",
    "Database",
    "Durability",
    "Entries",
    "Error",
    "Event",
    "ForkedError",
    "InvalidArgumentError",
    "Iterator",
    "Keyspace",
    "MergeError",
    "Metric",
    "Mode",
    "NoSpaceError",
    "NotFoundError",
    "NotSupportedError",
    "OpenOptions",
    "OutOfMemoryError",
    "RepairReport",
    "Snapshot",
    "StorageError",
    "Style",
    "TraceReport",
    "Transaction",
    "TransactionKind",
    "WriteBatch",
    "destroy",
    "engine_version",
    "merge",
    "open",
    "repair",
    "verify",
]
