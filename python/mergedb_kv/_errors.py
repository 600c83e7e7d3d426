"""The exceptions of mergedb_kv. All of them are an Error."""

from __future__ import annotations

import errno
import re
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

#: The parameters of functions whose signatures have no names.
_NAMES = {"__getitem__": ["key"], "__contains__": ["key"], "__setitem__": ["key", "value"], "named_operand": ["name", "operand"]}
#: Types that stand for themselves. What else a caller gives, for example an enum, may be one of them by inheritance.
_PLAIN = {"int", "bool", "float", "str", "bytes", "bytearray", "memoryview", "list", "tuple", "dict", "set", "NoneType"}
_ALSO = {"int": {"bool"}, "float": {"int", "bool"}, "None": {"NoneType"}}


def _words(alternatives: list[str]) -> str:
    return " or ".join(["bytes-like" if name == "object" else name for name in alternatives])


def _fault(name: str, wanted: str, given: str) -> Optional[str]:
    """What is wrong with an argument; None if its type alone shows nothing."""
    optional = re.fullmatch(r"(?:typing\.)?Optional\[(.*)\]", wanted)
    alternatives = [*optional[1].split(" | "), "None"] if optional else wanted.split(" | ")
    if given not in _PLAIN:
        return None
    for each in alternatives:
        if each == given or given in _ALSO.get(each, ()) or (each == "object" and given != "NoneType"):
            return None
        if each not in _PLAIN | {"object", "None"}:
            return None
    if given == "NoneType":
        return f"{name} must not be None"
    return f"{name} must be {_words(alternatives)}, not {given}"


def _explain(text: str) -> str:
    """One line for what nanobind says of wrong arguments."""
    name = text[: text.index("(): ")]
    signatures = re.findall(r"^ +\d+\. \w+\((.*)\) -> .*$", text, re.MULTILINE)
    called = text[text.index("Invoked with types: ") + len("Invoked with types: ") :].strip()
    by_name: dict[str, str] = {}
    if "kwargs = { " in called:
        called, named = called.split("kwargs = { ")
        by_name = dict(pair.split(": ", 1) for pair in named[:-2].split(", ") if ": " in pair)
    given = [each.strip() for each in called.split(",") if each.strip()]
    shown, used = [], given
    for signature in signatures:
        parameters = [each for each in re.split(r", (?![^\[]*\])", signature) if each not in ("/", "")]
        types = given
        if parameters and parameters[0] == "self":
            parameters, types = parameters[1:], given[1:]
        names = _NAMES.get(name, [])
        split = []
        for at, each in enumerate(parameters):
            parameter, _, wanted = each.partition(": ")
            wanted, _, default = wanted.partition(" = ")
            split.append((names[at] if at < len(names) and parameter.startswith("arg") else parameter, wanted, default))
        if len(signatures) == 1:
            known = {parameter: wanted for parameter, wanted, _ in split}
            unknown = [each for each in by_name if each not in known]
            if unknown:
                return f"{name}() has no argument {unknown[0]!r}"
            positional = split[: [*parameters, "*"].index("*")]
            pairs = [(p, w, g) for (p, w, _), g in zip(positional, types)]
            pairs += [(each, known[each], by_name[each]) for each in by_name]
            for parameter, wanted, got in pairs:
                fault = _fault(parameter, wanted, got)
                if fault is not None:
                    return f"{name}(): {fault}"
        shown.append(", ".join(f"{p}={d}" if d else p for p, _, d in split))
        used = [*types, *(f"{each}={by_name[each]}" for each in by_name)]
    accepted = " or ".join(f"({each})" for each in shown)
    hint = "; a number may be out of range" if "int" in used else ""
    return f"{name}() takes {accepted}, and was called with ({', '.join(used)}){hint}"


_native.set_explainer(_explain)
