"""Handles of another open database are refused, in every call that takes a handle, and nothing changes.

Three environments: two databases, and the first one after a close and another open. Each call of CALLS gets a handle of
each of them, in a random order. A test fails if the package has a call with a handle that CALLS does not name.
MERGEDB_SEED=N repeats a run.
"""

import inspect
import os
import random
import shutil
import tempfile
import unittest

import mergedb_kv
import mergedb_kv.lmdb as lmdb
from mergedb_kv import TransactionKind, aio, merge

HANDLE_PARAMETERS = {"keyspace", "other", "db", "parent", "txn"}
#: Parameters of these names that are no handle of another object, or that are refused or without effect.
NO_HANDLES = {
    ("Environment", "copy", "txn"),  # a TypeError whatever it is
    ("Environment", "copyfd", "txn"),
    ("_Database", "flags", "txn"),  # the flags are those of the open
}


class Kv:
    """A database and one handle of each kind."""

    error = mergedb_kv.InvalidArgumentError

    def __init__(self, path, create):
        self.db = mergedb_kv.open(path)
        self.keyspace = self.db.create_keyspace(b"k", exist_ok=True)
        self.batch = self.db.batch()
        self.batch[b"foreign"] = b"1"
        self.transaction = self.db.transaction(TransactionKind.OPTIMISTIC)
        self.snapshot = self.db.snapshot()

    def close(self):
        self.db.close()

    def contents(self):
        return self.db.keyspaces(), dict(self.db.open_keyspace(b"k")), dict(self.db)


def batch_call(name, *arguments):
    def call(kv, other):
        batch = kv.keyspace.batch() if name == "put" else kv.db.batch()
        getattr(batch, name)(*arguments, keyspace=other.keyspace)
        batch.write()

    return call


def transaction_call(name, *arguments):
    return lambda kv, other: getattr(kv.transaction, name)(*arguments, keyspace=other.keyspace)


def append(kv, other):
    batch = kv.db.batch()
    batch.append(other.batch)
    batch.write()


CALLS = {
    ("Database", "drop_keyspace", "keyspace"): lambda kv, other: kv.db.drop_keyspace(other.keyspace),
    ("Snapshot", "keyspace", "keyspace"): lambda kv, other: kv.snapshot.keyspace(other.keyspace),
    ("WriteBatch", "append", "other"): append,
    ("WriteBatch", "put", "keyspace"): batch_call("put", b"a", b"1"),
    ("WriteBatch", "delete", "keyspace"): batch_call("delete", b"a"),
    ("WriteBatch", "delete_range", "keyspace"): batch_call("delete_range", b"a", b"b"),
    ("WriteBatch", "merge", "keyspace"): batch_call("merge", b"a", merge.append(b"1")),
    ("Transaction", "get", "keyspace"): transaction_call("get", b"a"),
    ("Transaction", "put", "keyspace"): transaction_call("put", b"a", b"1"),
    ("Transaction", "delete", "keyspace"): transaction_call("delete", b"a"),
    ("Transaction", "delete_range", "keyspace"): transaction_call("delete_range", b"a", b"b"),
    ("Transaction", "merge", "keyspace"): transaction_call("merge", b"a", merge.append(b"1")),
    ("Transaction", "cursor", "keyspace"): transaction_call("cursor"),
}


class Lmdb:
    error = lmdb.Error

    def __init__(self, path, create):
        self.env = lmdb.open(path, max_dbs=4)
        self.named = self.env.open_db(b"k")
        if create:
            with self.env.begin(write=True) as txn:
                txn.put(b"a", b"1")
                txn.put(b"b", b"2", db=self.named)
        self.txn = self.env.begin(write=True)
        self.reader = self.env.begin()

    def close(self):
        self.env.close()

    def contents(self):
        self.txn.abort()
        with self.env.begin() as txn:
            found = [list(txn.cursor()), list(txn.cursor(self.named)), self.env.dbs(txn)]
        self.txn = self.env.begin(write=True)
        return found


LMDB_CALLS = {
    ("Environment", "open_db", "txn"): lambda e, o: e.env.open_db(b"k", txn=o.txn),
    ("Environment", "dbs", "txn"): lambda e, o: e.env.dbs(o.reader),
    ("Environment", "begin", "db"): lambda e, o: e.env.begin(db=o.named).abort(),
    ("Environment", "begin", "parent"): lambda e, o: e.env.begin(parent=o.txn, write=True).abort(),
    ("Transaction", "__init__", "db"): lambda e, o: lmdb.Transaction(e.env, db=o.named).abort(),
    ("Transaction", "__init__", "parent"): lambda e, o: lmdb.Transaction(e.env, parent=o.txn, write=True).abort(),
    ("Transaction", "get", "db"): lambda e, o: e.reader.get(b"a", db=o.named),
    ("Transaction", "put", "db"): lambda e, o: e.txn.put(b"c", b"1", db=o.named),
    ("Transaction", "delete", "db"): lambda e, o: e.txn.delete(b"b", db=o.named),
    ("Transaction", "replace", "db"): lambda e, o: e.txn.replace(b"b", b"1", db=o.named),
    ("Transaction", "pop", "db"): lambda e, o: e.txn.pop(b"b", db=o.named),
    ("Transaction", "stat", "db"): lambda e, o: e.reader.stat(o.named),
    ("Transaction", "drop", "db"): lambda e, o: e.txn.drop(o.named, delete=False),
    ("Transaction", "cursor", "db"): lambda e, o: e.reader.cursor(o.named).close(),
    ("Cursor", "__init__", "db"): lambda e, o: lmdb.Cursor(o.named, e.reader).close(),
    ("Cursor", "__init__", "txn"): lambda e, o: lmdb.Cursor(e.named, o.reader).close(),
}


def found(classes):
    """The calls with a handle. Native methods of mergedb_kv.lmdb have no signature: LMDB_NATIVE names them."""
    calls = set()
    for cls in classes:
        for name, method in vars(cls).items():
            if not inspect.isfunction(method) or (name.startswith("_") and name != "__init__"):
                continue
            for parameter in inspect.signature(method).parameters.values():
                if parameter.name in HANDLE_PARAMETERS:
                    calls.add((cls.__name__, name, parameter.name))
    return calls - NO_HANDLES


LMDB_NATIVE = {("Transaction", name, "db") for name in "get put delete replace pop stat drop".split()}
#: `other` of these is a mapping.
MAPPINGS = {("Database", "update", "other"), ("Keyspace", "update", "other")}


class HandleTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="mergedb-kv-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        seed = int(os.environ.get("MERGEDB_SEED", random.randrange(1 << 32)))
        self.random = random.Random(seed)
        print(f"MERGEDB_SEED={seed}", end=" ", flush=True)

    def test_every_call_with_a_handle_is_named(self):
        classes = [c for c in vars(mergedb_kv).values() if inspect.isclass(c)] + [mergedb_kv._transaction.Cursor]
        public = {call for call in found(classes) if call[1] != "__init__"}  # the package alone makes its objects
        self.assertEqual(public - MAPPINGS, set(CALLS))
        self.assertEqual(
            found([lmdb.Environment, lmdb.Transaction, lmdb.Cursor, lmdb._Database]) | LMDB_NATIVE,
            set(LMDB_CALLS),
        )

    def run_mixed(self, make, calls):
        paths = [os.path.join(self.directory, name) for name in ("a", "b")]
        old = make(paths[0], True)
        old.close()
        opened = [make(path, i == 1) for i, path in enumerate(paths)]
        for each in opened:
            self.addCleanup(each.close)
        before = [each.contents() for each in opened]
        mixed = [(name, call, one, other) for name, call in calls.items() for one in opened for other in [*opened, old]]
        self.random.shuffle(mixed)
        for name, call, one, other in mixed:
            if one is other:
                continue
            with self.subTest(name):
                with self.assertRaises(one.error):
                    call(one, other)
        self.assertEqual([each.contents() for each in opened], before)
        for name, call in calls.items():  # the same calls work with handles of their own
            with self.subTest(name):
                one = make(os.path.join(self.directory, "-".join(name)), True)
                self.addCleanup(one.close)
                call(one, one)

    def test_handles_of_mergedb_kv(self):
        self.run_mixed(Kv, CALLS)

    def test_handles_of_lmdb(self):
        self.run_mixed(Lmdb, LMDB_CALLS)

    def test_a_number_is_no_keyspace(self):
        kv = Kv(os.path.join(self.directory, "a"), True)
        self.addCleanup(kv.close)

        class Number:
            keyspace = 1

        for name, call in CALLS.items():
            if name[-1] == "keyspace":
                with self.subTest(name), self.assertRaises(TypeError):
                    call(kv, Number)


class AioTest(unittest.IsolatedAsyncioTestCase):
    async def test_a_keyspace_of_another_database(self):
        directory = tempfile.mkdtemp(prefix="mergedb-kv-")
        self.addCleanup(shutil.rmtree, directory, ignore_errors=True)
        async with aio.open(directory + "/a") as a, aio.open(directory + "/b") as b:
            mine, other = await a.create_keyspace(b"mine"), await b.create_keyspace(b"other")
            await mine.put(b"k", b"v")
            for call in (
                lambda: a.drop_keyspace(other),
                lambda: a.run(lambda db: db.drop_keyspace(other.blocking)),
            ):
                with self.assertRaises(mergedb_kv.InvalidArgumentError):
                    await call()
            with self.assertRaises(mergedb_kv.InvalidArgumentError):
                a.batch().put(b"k", b"w", keyspace=other)
            async with a.snapshot() as snapshot:
                with self.assertRaises(mergedb_kv.InvalidArgumentError):
                    snapshot.keyspace(other)
            async with a.transaction() as transaction:
                with self.assertRaises(mergedb_kv.InvalidArgumentError):
                    await transaction.put(b"k", b"w", keyspace=other)
            self.assertEqual((await a.keyspaces(), await mine.get(b"k")), ([b"mine"], b"v"))


if __name__ == "__main__":
    unittest.main()
