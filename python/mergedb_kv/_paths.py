"""The one conversion of paths, for every function of the package that takes one."""

from __future__ import annotations

import os

from ._types import PathLike


def encode(path: PathLike) -> bytes:
    """The bytes of a path. A str may have bytes that are no UTF-8, as os.fsdecode makes it (surrogateescape).

    ValueError if it has a null byte: the system would take the bytes before it for the path.
    """
    encoded = os.fsencode(path)
    if b"\0" in encoded:
        raise ValueError("embedded null byte in a path")
    return encoded
