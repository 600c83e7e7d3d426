"""Mistakes of callers are told in one line of words, with the names that the caller wrote.

test_every_function calls each public function and method of the package with wrong arguments, which it finds by
inspection. The other tests have the mistakes that are common.
"""

import inspect
import os
import shutil
import tempfile
import unittest

import mergedb_kv
import mergedb_kv.lmdb as lmdb
import mergedb_kv.plyvel as plyvel
from mergedb_kv import TransactionKind, merge
from support import DatabaseCase

#: Each text names what only the inside of the package knows.
INSIDE = ("incompatible function", "nanobind", "_native", "numbers()", "_options()", "make_operand", "Invoked", "\n", "std::")
WRONG = [
    (("text",), {}),
    ((5,), {}),
    ((None,), {}),
    ((b"a", "text"), {}),
    ((b"a", None), {}),
    ((b"a", b"a", "text"), {}),
    ((b"a",) * 12, {}),
    ((b"a",), {"no_such_name": 1}),
    ((b"a", b"b"), {"durability": "synced"}),
]
SPECIAL = {"__getitem__", "__setitem__", "__delitem__", "__contains__"}
SKIPPED = {"copyfd"}  # 5 is a descriptor


class FunctionTest(DatabaseCase):
    def callables(self):
        """Names and functions, of modules and of objects."""
        path = os.path.join(self.directory, "of-plyvel")
        level = plyvel.DB(path, create_if_missing=True)
        self.addCleanup(level.close)
        env = lmdb.open(os.path.join(self.directory, "of-lmdb"), max_dbs=4)
        self.addCleanup(env.close)
        transaction = self.db.transaction(TransactionKind.OPTIMISTIC)
        txn = env.begin(write=True)
        objects = [
            self.db,
            self.db.create_keyspace(b"k"),
            self.db.snapshot(),
            self.db.iterator(),
            self.db.items(),
            self.db.batch(),
            transaction,
            transaction.cursor(),
            level,
            level.prefixed_db(b"p"),
            level.snapshot(),
            level.iterator(),
            level.raw_iterator(),
            level.write_batch(),
            env,
            env.open_db(None),
            txn,
            txn.cursor(),
        ]
        for thing in [mergedb_kv, merge, plyvel, lmdb, *objects]:
            for name in dir(thing):
                if (name.startswith("_") and name not in SPECIAL) or name in SKIPPED:
                    continue
                try:
                    function = getattr(thing, name)
                except (mergedb_kv.Error, lmdb.Error):
                    continue
                is_error = inspect.isclass(function) and issubclass(function, (BaseException, tuple, int))
                if not callable(function) or is_error:
                    continue
                owner = thing.__name__ if inspect.ismodule(thing) else f"{type(thing).__module__}.{type(thing).__name__}"
                if inspect.isclass(function) and function.__module__ in ("mergedb_kv._views", "mergedb_kv._database"):
                    if function is not mergedb_kv.Database:
                        continue  # the package alone makes its objects
                yield f"{owner}.{name}", function

    def test_every_function(self):
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.directory)  # "text" is a path
        calls, wrong = 0, []
        for name, function in list(self.callables()):
            for arguments, named in WRONG:
                try:
                    result = function(*arguments, **named)
                    if hasattr(result, "close") and not hasattr(function, "__self__"):
                        result.close()
                except (TypeError, ValueError, AttributeError, RuntimeError) as error:
                    if isinstance(error, mergedb_kv.Error):
                        continue
                    calls += 1
                    told = [inside for inside in INSIDE if inside in str(error)]
                    if told:
                        wrong.append(f"{name}{arguments}{named}: {error}")
                except (KeyError, StopIteration, OverflowError, OSError, mergedb_kv.Error, lmdb.Error):
                    pass
        self.assertEqual(wrong, [])
        self.assertGreater(calls, 500)

    def check(self, text, function, *arguments, **named):
        with self.assertRaises((TypeError, ValueError)) as raised:
            function(*arguments, **named)
        self.assertEqual(str(raised.exception), text)

    def test_common_mistakes(self):
        db, open_ = self.db, lambda **options: mergedb_kv.open(self.path + "2", **options)
        self.check("open() has no option 'memry_bytes'; did you mean 'memory_bytes'?", open_, memry_bytes=1)
        self.check("open() has no option 'durabilty'; did you mean 'durability'?", open_, durabilty=1)
        self.check("open() has no option 'x'", open_, x=1)
        self.check(
            "open(): compression must be a Compression, for example Compression.LZ4, not str", open_, compression="zstd"
        )
        self.check("open(): mode must be a Mode, for example Mode.READ_ONLY, not str", open_, mode="r")
        self.check("open(): memory_bytes must be an int, not str", open_, memory_bytes="1")
        self.check("put(): durability must be int or None, not str", db.put, b"a", b"b", durability="synced")
        self.check("put() has no argument 'sync'", db.put, b"a", b"b", sync=True)
        self.check("__setitem__(): value must not be None", db.__setitem__, b"a", None)
        self.check("property(): name must be str, not bytes", db.property, b"x")
        self.check("name must be bytes, not str", db.create_keyspace, "users")
        self.check("name must be bytes, not str", db.open_keyspace, "users")
        self.check("delta must be from 0 to 18446744073709551615, is -1", merge.add_u64, -1)
        self.check("delta must be an int, not str", merge.add_i64, "1")
        self.check("a bytes-like object is required, not 'str'", db.get, "a")
        self.check(
            "plyvel.DB() has no option 'create_if_mising'; did you mean 'create_if_missing'?",
            plyvel.DB,
            self.path + "3",
            create_if_mising=True,
        )
        text = "update() takes no keywords, since keys are bytes: give update({b'a': ...})"
        self.check(text, db.update, a=b"1")
        self.check(text, db.update, {b"b": b"1"}, a=b"1")
        self.assertEqual(list(db), [])

    def test_timeouts(self):
        for timeout in (1e30, float("inf"), 1e13, 0, 1e-9, 0.5, None, 2**80):
            with self.db.transaction(timeout=timeout) as transaction:
                transaction[b"a"] = b"1"
        for timeout in (float("nan"), -1):
            self.assertRaisesRegex(ValueError, "timeout must be", self.db.transaction, timeout=timeout)
        self.check("timeout must be a number of seconds or None, not str", self.db.transaction, timeout="1")

    def test_clear_in_any_order(self):
        orders = {
            "reverse": lambda a, b: (a < b) - (a > b),
            "length first": lambda a, b: ((len(a), a) > (len(b), b)) - ((len(a), a) < (len(b), b)),
        }
        for name, order in orders.items():
            with mergedb_kv.open(self.path + name, comparator=order, comparator_name=name.encode()) as db:
                for keys in ([], [b""], [b"a"], [b"a", b"b"], [b"", b"\xff", b"zz", b"y" * 10, b"a"]):
                    db.update({key: b"1" for key in keys})
                    self.assertEqual(len(db), len(keys))
                    db.clear()
                    self.assertEqual(list(db), [], (name, keys))
        self.db.update({b"": b"1", b"\xff" * 20: b"2"})
        self.db.clear()
        self.assertEqual(list(self.db), [])


if __name__ == "__main__":
    unittest.main()
