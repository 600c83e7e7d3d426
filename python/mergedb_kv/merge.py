"""Operands for Store.merge, WriteBatch.merge and Transaction.merge.

An operand is bytes that contain their own operation, so the database can apply it without the program.

    db.merge(b"visits", merge.add_u64(1))
    merge.to_u64(db[b"visits"])

The header include/mergedb/merge.h describes each type. Numbers are stored as 8 bytes, little-endian.
"""

from __future__ import annotations

import operator
import struct
from typing import Union

from . import _native
from ._types import Bytes


def _number(name: str, value: int, low: int, high: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an int, not {type(value).__name__}") from None
    if not low <= number <= high:
        raise TypeError(f"{name} must be from {low} to {high}, is {number}")
    return number


def _u64(name: str, value: int) -> int:
    return _number(name, value, 0, (1 << 64) - 1)


def _i64(name: str, value: int) -> int:
    return _number(name, value, -(1 << 63), (1 << 63) - 1)


def _f64(name: str, value: float) -> float:
    if not hasattr(value, "__float__") and not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be a float, not {type(value).__name__}")
    return float(value)


def _operand(
    type: int,
    *,
    u64: int = 0,
    i64: int = 0,
    f64: float = 0.0,
    data: Bytes = b"",
    delimiter: Bytes = b"",
    cap_bytes: int = 0,
    keep_oldest: bool = False,
) -> bytes:
    for given in (data, delimiter):
        if given is None:
            raise TypeError("a bytes-like object is required, not 'NoneType'")
    return _native.make_operand(type, u64, i64, f64, data, delimiter, cap_bytes, keep_oldest)


def add_u64(delta: int) -> bytes:
    """A sum modulo 2**64."""
    return _operand(1, u64=_u64("delta", delta))


def add_i64(delta: int, *, fail_on_overflow: bool = False) -> bytes:
    """A sum. One out of range reads as the nearest int64, or raises MergeError if fail_on_overflow is true."""
    return _operand(3 if fail_on_overflow else 2, i64=_i64("delta", delta))


def add_f64(delta: float) -> bytes:
    return _operand(4, f64=_f64("delta", delta))


def max_u64(value: int) -> bytes:
    return _operand(5, u64=_u64("value", value))


def max_i64(value: int) -> bytes:
    return _operand(6, i64=_i64("value", value))


def max_f64(value: float) -> bytes:
    return _operand(7, f64=_f64("value", value))


def max_bytes(value: Bytes) -> bytes:
    return _operand(8, data=value)


def min_u64(value: int) -> bytes:
    return _operand(9, u64=_u64("value", value))


def min_i64(value: int) -> bytes:
    return _operand(10, i64=_i64("value", value))


def min_f64(value: float) -> bytes:
    return _operand(11, f64=_f64("value", value))


def min_bytes(value: Bytes) -> bytes:
    return _operand(12, data=value)


def and_(mask: Bytes) -> bytes:
    return _operand(13, data=mask)


def or_(mask: Bytes) -> bytes:
    return _operand(14, data=mask)


def xor(mask: Bytes) -> bytes:
    return _operand(15, data=mask)


def append(value: Bytes, *, delimiter: Bytes = b"", cap_bytes: int = 0, keep_oldest: bool = False) -> bytes:
    """Appends bytes. The value is cut to cap_bytes bytes, at its front unless keep_oldest is true. 0: no limit."""
    cap = _u64("cap_bytes", cap_bytes)
    return _operand(16, data=value, delimiter=delimiter, cap_bytes=cap, keep_oldest=bool(keep_oldest))


def first(timestamp: int, value: Bytes) -> bytes:
    """The bytes with the smallest timestamp."""
    return _operand(17, u64=_u64("timestamp", timestamp), data=value)


def last(timestamp: int, value: Bytes) -> bytes:
    """The bytes with the largest timestamp."""
    return _operand(18, u64=_u64("timestamp", timestamp), data=value)


def json_patch(patch: Bytes) -> bytes:
    """A JSON merge patch (RFC 7396)."""
    return _operand(19, data=patch)


def put(value: Bytes) -> bytes:
    """Replaces any value."""
    return _operand(20, data=value)


def named(name: str, operand: Bytes) -> bytes:
    """An operator of RocksDB by its name: uint64add, stringappend, max, put, bytesxor."""
    return _native.named_operand(name, operand)


def _unpack(format: str, value: Bytes) -> Union[int, float]:
    if len(value) != 8:
        raise ValueError(f"a number has 8 bytes, the value has {len(value)}")
    number: Union[int, float] = struct.unpack(format, value)[0]
    return number


def to_u64(value: Bytes) -> int:
    return int(_unpack("<Q", value))


def to_i64(value: Bytes) -> int:
    return int(_unpack("<q", value))


def to_f64(value: Bytes) -> float:
    return float(_unpack("<d", value))


def from_u64(number: int) -> bytes:
    return struct.pack("<Q", _u64("number", number))


def from_i64(number: int) -> bytes:
    return struct.pack("<q", _i64("number", number))


def from_f64(number: float) -> bytes:
    return struct.pack("<d", _f64("number", number))
