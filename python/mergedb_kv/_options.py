"""The options of open, and the choices that have names."""

from __future__ import annotations

import difflib
import enum
from collections.abc import Mapping
from typing import Any, Callable, NamedTuple, Optional, TypedDict, Union

from ._types import Order


class Durability(enum.IntEnum):
    """When a write is durable."""

    #: It survives kill -9 once the call returns. A power loss may lose the newest writes.
    PROCESS_CRASH = 0
    #: It also survives a power loss once the call returns, as does every logged write before it.
    SYNCED = 1
    #: It is not written to the WAL. It is durable after the next flush or close.
    NO_WAL = 2


class Mode(enum.IntEnum):
    CREATE_IF_MISSING = 0
    MUST_EXIST = 1
    MUST_NOT_EXIST = 2
    READ_ONLY = 3


class Style(enum.IntEnum):
    LAZY = 1
    CASCADE = 2


class Compression(enum.IntEnum):
    NONE = 1
    SNAPPY = 2
    ZSTD = 3
    LZ4 = 4


class RepairReport(NamedTuple):
    """Lines for people."""

    damages: list[str]
    losses: list[str]
    actions: list[str]
    notes: list[str]


class Event(NamedTuple):
    """What a database did: docs/EVENTS.md lists the events and their fields."""

    name: str
    #: Seconds since 1970.
    time: float
    fields: dict[str, Union[int, str]]
    #: The event as a line of JSON, as the file LOG has it.
    json: str


class Metric(NamedTuple):
    """A counter or a gauge: docs/METRICS.md."""

    name: str
    value: int
    unit: str
    help: str
    is_gauge: bool


class TraceReport(NamedTuple):
    """What a trace has: docs/TRACE.md."""

    #: A batch counts as one.
    operations: int
    #: Left out, because the file could not be written as fast, or a batch was too large.
    lost: int
    #: The size of the file.
    bytes: int
    #: The trace ended at bytes_max.
    is_full: bool


class NumberOptions(TypedDict, total=False):
    """The options of open that are numbers, flags and choices. None, or an absent option, is the default of the engine."""

    # options: begin keywords (scripts/options.toml)
    mode: Optional[Mode]
    """A Mode. What an open does if there is a database, or none. Default: CREATE_IF_MISSING."""
    memory_bytes: Optional[int]
    """The memory for write buffers and the block cache together. Default: 256 MiB."""
    write_buffer_bytes: Optional[int]
    """Unflushed writes may take twice this many bytes of memory_bytes, standby memtable included. Default: an eighth
    of memory_bytes."""
    style: Optional[Style]
    """A Style. How background compactions arrange the data. Default: LAZY."""
    compression: Optional[Compression]
    """A Compression. The codec of new upper tables, which are rewritten soon. Default: LZ4."""
    bottom_compression: Optional[Compression]
    """A Compression. The codec of new bottommost tables, which stay. Default: LZ4."""
    bloom_bits_per_key: Optional[int]
    """Bits per key of the tables' bloom filters. 0: no filters. Default: 10."""
    block_bytes: Optional[int]
    """The target size of a table's blocks before compression. Default: 4,096."""
    blob_value_bytes_min: Optional[int]
    """Values of at least this many bytes are written once, to a blob file, and tables refer to them. 0: all values
    are stored in tables. Default: 768."""
    open_tables_max: Optional[int]
    """The maximum of open tables; half as many blob files may be open, too. Default: 1,000."""
    mapped_read_bytes_max: Optional[int]
    """Tables and blob files up to this many bytes together are mapped into memory and read in place. 0: no file is
    mapped. Default: half of the machine's memory."""
    write_delay_us_max: Optional[int]
    """The maximum delay of a put while the disk keeps up with the writes. Default: 10,000 microseconds."""
    finish_compactions_on_close: Optional[bool]
    """Close waits for running compactions. Default: no."""
    keep_space_at_rest: Optional[bool]
    """The space that a busy database reuses stays allocated when it is at rest, for benchmarks of the steady state.
    Default: no."""
    use_mapped_wal_buffer: Optional[bool]
    """Records go to a WAL buffer in a mapped file if the file system allows it, so a put needs no system call.
    Default: yes."""
    wal_sync_interval_ms: Optional[int]
    """An unsynced write is durable (it survives a power loss) at most this long after the call. 0: no limit in time.
    Default: 5,000 milliseconds."""
    log_bytes_max: Optional[int]
    """The files LOG and LOG.old of the directory hold the newest events as lines of JSON, at most this many bytes
    together. Default: no LOG is written."""
    slow_call_us: Optional[int]
    """A call that takes at least this long becomes an event with its breakdown. Default: calls are not measured."""
    # options: end


class OpenOptions(NumberOptions, total=False):
    """The options of open."""

    durability: Durability
    """The durability of writes that name none. Default: PROCESS_CRASH."""
    comparator: Optional[Order]
    """The order of the keys: f(a, b) -> int."""
    comparator_name: Optional[bytes]
    """Its name, which the database stores."""
    listener: Optional[Callable[[Event], object]]
    """Gets the events of the database, in a thread of its own, one at a time, in order. It may call the database. An
    exception ends at the call, and sys.unraisablehook gets it."""


class Row(NamedTuple):
    """How an option goes to the C interface."""

    field: str
    kind: type
    #: The value must be less.
    end: int
    #: 0 has a meaning, and C has -1 for it, since its 0 is the default.
    has_none: bool


ROWS: dict[str, Row] = {
    # options: begin rows (scripts/options.toml)
    "mode": Row("mode", Mode, 2147483648, False),
    "memory_bytes": Row("memory_bytes", int, 9223372036854775808, False),
    "write_buffer_bytes": Row("write_buffer_bytes", int, 9223372036854775808, False),
    "style": Row("style", Style, 2147483648, False),
    "compression": Row("compression_upper", Compression, 2147483648, False),
    "bottom_compression": Row("compression_bottom", Compression, 2147483648, False),
    "bloom_bits_per_key": Row("bloom_bits_per_key", int, 2147483648, True),
    "block_bytes": Row("block_bytes", int, 9223372036854775808, False),
    "blob_value_bytes_min": Row("blob_value_bytes_min", int, 9223372036854775808, True),
    "open_tables_max": Row("open_tables_max", int, 2147483648, False),
    "mapped_read_bytes_max": Row("mapped_read_bytes_max", int, 9223372036854775808, True),
    "write_delay_us_max": Row("write_delay_us_max", int, 9223372036854775808, False),
    "finish_compactions_on_close": Row("finish_compactions_on_close", bool, 2147483648, False),
    "keep_space_at_rest": Row("keep_space_at_rest", bool, 2147483648, False),
    "use_mapped_wal_buffer": Row("use_mapped_wal_buffer", bool, 2147483648, False),
    "wal_sync_interval_ms": Row("wal_sync_interval_ms", int, 9223372036854775808, True),
    "log_bytes_max": Row("log_bytes_max", int, 9223372036854775808, False),
    "slow_call_us": Row("slow_call_us", int, 9223372036854775808, False),
    # options: end
}


def check_names(options: Mapping[str, object], more: tuple[str, ...] = (), known: Any = None, what: str = "open()") -> None:
    """TypeError with the near name if an option has a name that `known`, a function, does not take; else ROWS has it."""
    names = [*ROWS, *more]
    if known is not None:
        names = [*(known.__kwdefaults__ or {}), *known.__code__.co_varnames[: known.__code__.co_argcount], *more]
    for name in options:
        if name in names:
            continue
        near = difflib.get_close_matches(name, names, 1)
        raise TypeError(f"{what} has no option {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))


def _number(name: str, row: Row, value: object) -> int:
    """Returns the field of C for a value of the program."""
    if row.kind is bool:
        return 1 if value else -1
    if not isinstance(value, int):
        wanted = "an int"
        if issubclass(row.kind, enum.Enum):
            wanted = f"a {row.kind.__name__}, for example {row.kind.__name__}.{list(row.kind)[-1].name}"
        raise TypeError(f"open(): {name} must be {wanted}, not {type(value).__name__}")
    if value < 0 and not row.has_none:
        raise ValueError(f"{name} must not be negative, is {value}")
    if value >= row.end:
        raise ValueError(f"{name} is too large: {value}")
    return -1 if value == 0 and row.has_none else int(value)


def numbers(options: Mapping[str, object]) -> dict[str, int]:
    """Returns the fields of mergedb_options. A field that is absent has the engine's default."""
    fields: dict[str, int] = {}
    for name, row in ROWS.items():
        value = options.get(name)
        if value is None and name == "bottom_compression":
            value = options.get("compression")
        if value is not None:
            fields[row.field] = _number(name, row, value)
    return fields
