"""Columns of keys and values: NumPy arrays and Arrow record batches."""

from __future__ import annotations

from typing import Any, Optional, Union

from . import _native
from ._options import Durability
from ._types import Bound

#: "binary", a number of bytes, the name of a number type, or None for no column.
ColumnType = Union[str, int, None]

#: The rows of a record batch. A batch of large values has fewer.
BATCH_ROWS = 1 << 16
#: The bytes that one write has, about.
BATCH_BYTES = 1 << 20

#: The formats of Arrow's C data interface, and the number of bytes.
_NUMBERS = {
    "int8": ("c", 1),
    "uint8": ("C", 1),
    "int16": ("s", 2),
    "uint16": ("S", 2),
    "int32": ("i", 4),
    "uint32": ("I", 4),
    "int64": ("l", 8),
    "uint64": ("L", 8),
    "float32": ("f", 4),
    "float64": ("g", 8),
}


def _positive(name: str, value: int) -> int:
    if value <= 0:
        raise ValueError(f"{name} must be positive, is {value}")
    return value


def _dtype(name: str, given: Any) -> Any:
    """None, or a dtype whose elements are their bytes."""
    if given is None:
        return None
    import numpy

    dtype = numpy.dtype(given)
    if dtype.hasobject or dtype.itemsize == 0:
        raise ValueError(f'{name} must have a fixed number of bytes, for example "S16" or ">u8"; it is {dtype!r}')
    return dtype


def to_numpy(
    reader: _native.Reader, start: Bound, stop: Bound, prefix: Bound, key_dtype: Any, value_dtype: Any, reverse: bool,
    limit: Optional[int],
) -> tuple[Any, Any]:
    import numpy

    dtypes = [_dtype("key_dtype", key_dtype), _dtype("value_dtype", value_dtype)]
    widths = [None if dtype is None else dtype.itemsize for dtype in dtypes]
    keys, values, _ = _native.scan_fixed(reader, widths[0], widths[1], start, stop, prefix, reverse, limit)
    arrays = [
        None if dtype is None else numpy.frombuffer(column, dtype) for dtype, column in zip(dtypes, (keys, values))
    ]
    return arrays[0], arrays[1]


def put_numpy(
    store: _native.Store,
    keys: Any,
    values: Any,
    key_dtype: Any,
    value_dtype: Any,
    durability: Optional[Durability],
    batch_bytes: int,
) -> None:
    import numpy

    columns = []
    for name, given, dtype in (("keys", keys, key_dtype), ("values", values, value_dtype)):
        wanted = None if dtype is None else numpy.dtype(dtype)
        # WHY the base: NumPy would make a whole vector of each number.
        array = numpy.ascontiguousarray(given, None if wanted is None else wanted.base)
        if wanted is not None and wanted.shape and array.shape[1:] != wanted.shape:
            raise ValueError(f"the elements of the {name} have the shape {array.shape[1:]}, not {wanted.shape}")
        if array.dtype.hasobject:
            raise ValueError(f"{name} must have elements of a fixed number of bytes; the dtype is {array.dtype!r}")
        columns.append(array)
    count = len(columns[0])
    if count != len(columns[1]):
        raise ValueError(f"there are {count} keys and {len(columns[1])} values")
    how = store._durability if durability is None else durability
    raw = [array.ravel().view(numpy.uint8) for array in columns]
    _native.put_fixed(store, raw[0], raw[1], count, int(how), _positive("batch_bytes", batch_bytes))


def _arrow_column(name: str, given: ColumnType) -> list[tuple[str, str, int]]:
    """The name, the format and the width of a column. The width of a binary column is 0."""
    if given is None:
        return []
    if isinstance(given, int):
        return [(name, f"w:{_positive(name + '_type', given)}", given)]
    if given == "binary":
        return [(name, "z", 0)]
    if given in _NUMBERS:
        return [(name, *_NUMBERS[given])]
    names = ", ".join(["binary", *_NUMBERS])
    raise ValueError(f"{name}_type must be a number of bytes, None, or one of: {names}; it is {given!r}")


class ArrowEntries:
    """The entries of a range as Arrow record batches, with the columns `key` and `value`.

    Each reader gets the state at its own start. The batches are made while they are read.
    """

    def __init__(
        self, reader: _native.Reader, start: Bound, stop: Bound, prefix: Bound, key_type: ColumnType,
        value_type: ColumnType, reverse: bool, batch_rows: int,
    ) -> None:
        columns = _arrow_column("key", key_type) + _arrow_column("value", value_type)
        if not columns:
            raise ValueError("key_type and value_type are both None: there is no column")
        self._arguments = (reader, columns, _positive("batch_rows", batch_rows), start, stop, prefix, reverse)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A PyCapsule with a stream of record batches. The requested schema has no effect, as Arrow allows."""
        return _native.scan_arrow(*self._arguments)


def put_arrow(
    store: _native.Store, source: Any, key: str, value: str, durability: Optional[Durability], batch_bytes: int
) -> int:
    if not hasattr(source, "__arrow_c_stream__"):
        raise TypeError(f"{type(source).__name__} has no __arrow_c_stream__: give a table or a reader of record batches")
    how = store._durability if durability is None else durability
    capsule = source.__arrow_c_stream__()
    return _native.put_arrow(store, capsule, key, value, int(how), _positive("batch_bytes", batch_bytes))
