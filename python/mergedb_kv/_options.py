"""The options of open, and the choices that have names."""

from __future__ import annotations

import enum
from typing import NamedTuple, Optional


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


#: Options that are int32_t in C.
_SMALL = ("mode", "style", "compression_upper", "compression_bottom", "bloom_bits_per_key", "open_tables_max")


class RepairReport(NamedTuple):
    """Lines for people."""

    damages: list[str]
    losses: list[str]
    actions: list[str]
    notes: list[str]


def numbers(
    *,
    mode: Mode = Mode.CREATE_IF_MISSING,
    style: Optional[Style] = None,
    memory_bytes: Optional[int] = None,
    write_buffer_bytes: Optional[int] = None,
    compression: Optional[Compression] = None,
    bottom_compression: Optional[Compression] = None,
    bloom_bits_per_key: Optional[int] = None,
    open_tables_max: Optional[int] = None,
    block_bytes: Optional[int] = None,
    write_delay_us_max: Optional[int] = None,
    finish_compactions_on_close: bool = False,
    use_mapped_wal_buffer: bool = True,
    blob_value_bytes_min: Optional[int] = None,
    wal_sync_interval_ms: Optional[int] = None,
    mapped_read_bytes_max: Optional[int] = None,
) -> dict[str, int]:
    """Returns the fields of mergedb_options. A field that is absent has the engine's default."""
    fields: dict[str, Optional[int]] = {
        "mode": mode,
        "style": style,
        "memory_bytes": memory_bytes,
        "write_buffer_bytes": write_buffer_bytes,
        "compression_upper": compression,
        "compression_bottom": compression if bottom_compression is None else bottom_compression,
        "open_tables_max": open_tables_max,
        "block_bytes": block_bytes,
        "write_delay_us_max": write_delay_us_max,
        "mapped_read_bytes_max": mapped_read_bytes_max,
        "finish_compactions_on_close": 1 if finish_compactions_on_close else None,
        "use_mapped_wal_buffer": None if use_mapped_wal_buffer else -1,
        # The C interface has -1 for "none", since its 0 is the default.
        "bloom_bits_per_key": -1 if bloom_bits_per_key == 0 else bloom_bits_per_key,
        "blob_value_bytes_min": -1 if blob_value_bytes_min == 0 else blob_value_bytes_min,
        "wal_sync_interval_ms": -1 if wal_sync_interval_ms == 0 else wal_sync_interval_ms,
    }
    checked: dict[str, int] = {}
    for name, value in fields.items():
        if value is None:
            continue
        if not isinstance(value, int):
            raise TypeError(f"{name} must be an int, not {type(value).__name__}")
        if name not in ("bloom_bits_per_key", "blob_value_bytes_min", "wal_sync_interval_ms", "use_mapped_wal_buffer"):
            if value < 0:
                raise ValueError(f"{name} must not be negative, is {value}")
        if value >= (1 << 31 if name in _SMALL else 1 << 63):
            raise ValueError(f"{name} is too large: {value}")
        checked[name] = int(value)
    return checked
