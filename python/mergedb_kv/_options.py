"""The options of open, and the choices that have names."""

from __future__ import annotations

import difflib
import enum
from typing import Any, NamedTuple, Optional


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


#: The options that the C interface has by other names.
_OF_OPEN = {"compression_upper": "compression", "compression_bottom": "bottom_compression"}
_ENUMS = {"mode": Mode, "style": Style, "compression": Compression, "bottom_compression": Compression}


def check_names(options: dict[str, Any], more: tuple[str, ...] = (), known: Any = None, what: str = "open()") -> None:
    """TypeError with the near name if an option has a name that `known`, a function, does not take."""
    function = numbers if known is None else known
    names = [*(function.__kwdefaults__ or {}), *function.__code__.co_varnames[: function.__code__.co_argcount], *more]
    for name in options:
        if name in names:
            continue
        near = difflib.get_close_matches(name, names, 1)
        raise TypeError(f"{what} has no option {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))


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
    log_bytes_max: Optional[int] = None,
    slow_call_us: Optional[int] = None,
    keep_space_at_rest: bool = False,
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
        "log_bytes_max": log_bytes_max,
        "slow_call_us": slow_call_us,
        "keep_space_at_rest": 1 if keep_space_at_rest else None,
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
            option = _OF_OPEN.get(name, name)
            kind = _ENUMS.get(option)
            wanted = "an int" if kind is None else f"a {kind.__name__}, for example {kind.__name__}.{list(kind)[-1].name}"
            raise TypeError(f"open(): {option} must be {wanted}, not {type(value).__name__}")
        if name not in ("bloom_bits_per_key", "blob_value_bytes_min", "wal_sync_interval_ms", "use_mapped_wal_buffer"):
            if value < 0:
                raise ValueError(f"{name} must not be negative, is {value}")
        if value >= (1 << 31 if name in _SMALL else 1 << 63):
            raise ValueError(f"{name} is too large: {value}")
        checked[name] = int(value)
    return checked
