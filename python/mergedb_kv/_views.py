"""What iterates: Entries, which a `for` loop uses, and Iterator, which moves in both directions."""

from __future__ import annotations

import collections.abc
from typing import Generic, TypeVar, cast

from . import _native
from ._types import Bound

T_co = TypeVar("T_co", covariant=True)

ITEMS, KEYS, VALUES = 0, 1, 2


class Entries(Generic[T_co]):
    """The entries of a range, in key order. Each iteration shows the state at its own start.

    It has no length, since list() would count the entries first.
    """

    def __init__(
        self, reader: _native.Reader, yields: int, start: Bound, stop: Bound, prefix: Bound, reverse: bool
    ) -> None:
        self._arguments = (reader, yields, start, stop, prefix)
        self._reverse = reverse

    def _scan(self, reverse: bool) -> collections.abc.Iterator[T_co]:
        reader, yields, start, stop, prefix = self._arguments
        return cast("collections.abc.Iterator[T_co]", _native.Scan(reader, yields, reverse, start, stop, prefix))

    def __iter__(self) -> collections.abc.Iterator[T_co]:
        return self._scan(self._reverse)

    def __reversed__(self) -> collections.abc.Iterator[T_co]:
        return self._scan(not self._reverse)


class Iterator(_native.Iterator):
    """Moves over the keys of one state, in both directions. Each move returns True if it reached a key.

    A new iterator stands at no key: seek first. One thread at a time may use it.
    """

    def entry(self) -> tuple[bytes, bytes]:
        """The key and the value at which the iterator stands."""
        return self.key, self.value

    def __enter__(self) -> "Iterator":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
