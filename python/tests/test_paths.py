"""Paths: every function that takes one accepts bytes, str and PathLike of any bytes, and refuses a null byte.

TAKERS names each such function. A test fails if the package has a function with a path that the table does not name.
"""

import asyncio
import contextlib
import inspect
import os
import pathlib
import shutil
import tempfile
import unittest

import mergedb_kv
import mergedb_kv.lmdb as lmdb
import mergedb_kv.plyvel as plyvel
from mergedb_kv import _native, aio

PATH_ANNOTATIONS = {"PathLike", "Name"}


def make(path):
    with mergedb_kv.open(path) as db:
        db[b"a"] = b"1"


def make_lmdb(path):
    with lmdb.open(path) as env, env.begin(write=True) as txn:
        txn.put(b"a", b"1")


def nothing(path):
    pass


def checkpoint(path):
    with tempfile.TemporaryDirectory() as directory, mergedb_kv.open(os.path.join(directory, "db")) as db:
        db[b"a"] = b"1"
        db.checkpoint(path)


def start_trace(path):
    with tempfile.TemporaryDirectory() as directory, mergedb_kv.open(os.path.join(directory, "db")) as db:
        db.start_trace(path)


def copy(path):
    with tempfile.TemporaryDirectory() as directory, lmdb.open(directory) as env:
        if b"\0" not in os.fsencode(path):
            os.mkdir(path)
        env.copy(path)


def aio_checkpoint(path):
    async def run():
        with tempfile.TemporaryDirectory() as directory:
            async with aio.open(os.path.join(directory, "db")) as db:
                await db.checkpoint(path)

    asyncio.run(run())


def aio_open(path):
    async def run():
        async with aio.open(path) as db:
            await db.put(b"a", b"1")

    asyncio.run(run())


def closed(function):
    def run(path):
        with contextlib.closing(function(path)):
            pass

    return run


#: The function, how to make what it needs at the path, and a call with the path.
TAKERS = {
    "mergedb_kv.open": (nothing, make),
    "mergedb_kv.Database": (nothing, closed(mergedb_kv.Database)),
    "mergedb_kv.Database.checkpoint": (nothing, checkpoint),
    "mergedb_kv.Database.start_trace": (nothing, start_trace),
    "mergedb_kv.destroy": (make, mergedb_kv.destroy),
    "mergedb_kv.verify": (make, mergedb_kv.verify),
    "mergedb_kv.repair": (make, mergedb_kv.repair),
    "mergedb_kv.aio.open": (nothing, aio_open),
    "mergedb_kv.aio.Database.checkpoint": (nothing, aio_checkpoint),
    "mergedb_kv.plyvel.DB": (nothing, closed(lambda path: plyvel.DB(path, create_if_missing=True))),
    "mergedb_kv.plyvel.destroy_db": (make, plyvel.destroy_db),
    "mergedb_kv.plyvel.repair_db": (make, plyvel.repair_db),
    "mergedb_kv.lmdb.Environment": (nothing, make_lmdb),
    "mergedb_kv.lmdb.open": (make_lmdb, closed(lambda path: lmdb.open(path, readonly=True, create=False))),
    "mergedb_kv.lmdb.Environment.copy": (nothing, copy),
}


def takes_path(function):
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a native function has no signature; test_the_native_layer covers them
        return False
    return any(p.name == "path" or p.annotation in PATH_ANNOTATIONS for p in parameters)


def found():
    """The public functions and methods with a path, by their names."""
    names = set()
    for module in (mergedb_kv, aio, plyvel, lmdb):
        for name, thing in vars(module).items():
            full = f"{module.__name__}.{name}"
            if name.startswith("_") or not getattr(thing, "__module__", "").startswith("mergedb_kv"):
                continue
            if module is not mergedb_kv and thing.__module__ != module.__name__:
                continue
            if not callable(thing):
                continue
            if takes_path(thing):
                names.add(full)
            if inspect.isclass(thing) and name == thing.__name__:  # lmdb.open is lmdb.Environment
                for method in vars(thing):
                    blocking = getattr(getattr(mergedb_kv, name, None), method, None) if module is aio else None
                    if method.startswith("_"):
                        continue
                    if takes_path(getattr(thing, method)) or (blocking is not None and takes_path(blocking)):
                        names.add(f"{full}.{method}")
    return names


class PathTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="mergedb-kv-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def under(self, name):
        return os.path.join(os.fsencode(self.directory), name)

    def test_every_function_with_a_path_is_named(self):
        self.assertEqual(found(), set(TAKERS))

    def test_a_null_byte_is_refused_and_nothing_is_touched(self):
        for name, (prepare, call) in TAKERS.items():
            for victim in (b"victim-bytes", b"victim-str", b"victim-path"):
                path = self.under(name.encode() + victim)
                make_lmdb(path) if ".lmdb." in name else make(path)
                before = sorted(os.listdir(path))
                forged = path + b"\0.old"
                given = {
                    b"victim-bytes": forged,
                    b"victim-str": os.fsdecode(forged),
                    b"victim-path": pathlib.Path(os.fsdecode(forged)),
                }[victim]
                with self.subTest(name, given=given):
                    with self.assertRaisesRegex(ValueError, "embedded null byte"):
                        call(given)
                    self.assertEqual(sorted(os.listdir(path)), before)

    def test_bytes_str_and_paths_of_any_bytes_work(self):
        odd = b"caf\xe9 \xff\n\xe2\x98\x83"  # no UTF-8
        for number, (name, (prepare, call)) in enumerate(TAKERS.items()):
            for form in (bytes, os.fsdecode, lambda path: pathlib.Path(os.fsdecode(path))):
                path = self.under(b"%d" % number + odd + str(id(form)).encode())
                with self.subTest(name, form=form):
                    prepare(path)
                    call(form(path))
                    self.assertEqual(os.path.exists(path), "destroy" not in name)

    def test_other_types_are_type_errors(self):
        for name, (_, call) in TAKERS.items():
            if name.endswith("copy"):
                continue  # the test's own call needs a path
            with self.subTest(name):
                with self.assertRaises(TypeError):
                    call(5)

    def test_the_native_layer_refuses_null_bytes_too(self):
        victim = self.under(b"victim")
        make(victim)
        forged = victim + b"\0.old"
        db = mergedb_kv.open(self.under(b"other"))
        self.addCleanup(db.close)
        env = lmdb.open(os.fsdecode(self.under(b"env")))
        self.addCleanup(env.close)
        calls = [
            lambda: _native.destroy(forged),
            lambda: _native.run_repair(forged, True, False),
            lambda: _native.run_repair(forged, False, False),
            lambda: _native.Store(forged, {}, None, b"", None),
            lambda: _native.Store(self.under(b"new"), {}, lambda a, b: 0, b"order\0two", None),
            lambda: db._checkpoint(self.under(b"copy\0x"), True),
            lambda: db._start_trace(self.under(b"trace\0x"), 1, False, 0),
            lambda: _native.LmdbEnvironment(forged, 0, 0o644, 1 << 20, 1, 1, 1),
            lambda: env._copy(forged, False),
            lambda: db.property("mergedb.stats\0x"),
            lambda: db.transaction(mergedb_kv.TransactionKind.OPTIMISTIC, name="a\0b"),
            lambda: env.open_db(b"a\0b"),
        ]
        for call in calls:
            with self.assertRaisesRegex(ValueError, "embedded null byte"):
                call()
        self.assertEqual(sorted(os.listdir(self.directory)), ["env", "other", "victim"])
        with mergedb_kv.open(victim) as opened:
            self.assertEqual(opened[b"a"], b"1")


if __name__ == "__main__":
    unittest.main()
