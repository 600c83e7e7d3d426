"""Every call of every class raises the right exception when its object, or the database below it, is at its end, and
in a child after a fork. mergedb_kv, mergedb_kv.plyvel and mergedb_kv.lmdb.

CALLS names each public call of a class with arguments. WITHOUT_ERROR names the calls that use nothing of the database,
and those that end an object. A test fails if a class has a call that no table names.
"""

import shutil
import tempfile
import unittest

import mergedb_kv
import mergedb_kv.lmdb as lmdb
import mergedb_kv.plyvel as plyvel
from mergedb_kv import merge
from mergedb_kv._transaction import Cursor
from support import DatabaseCase

SPECIAL = (
    "__getitem__ __setitem__ __delitem__ __contains__ __iter__ __reversed__ __len__ __bool__ __next__ __enter__ "
    "__exit__"
).split()
NONE = ()
A, AB = (b"a",), (b"a", b"b")

NO_DIRECTORY = tempfile.gettempdir() + "/mergedb-kv-no-copy"
LMDB_MOVES = (
    "count delete first first_dup item iternext iternext_dup iternext_nodup iterprev iterprev_dup iterprev_nodup key "
    "last last_dup next next_dup next_nodup prev prev_dup prev_nodup value __iter__"
)

READS = {
    **dict.fromkeys(["get", "get_view", "__getitem__", "__contains__"], A),
    **dict.fromkeys(["keys", "items", "values", "iterator", "__iter__", "__reversed__", "__len__", "__bool__"], NONE),
    "get_many": ([b"a"],),
    "to_arrow": NONE,
}
WRITES = {
    **dict.fromkeys(["put", "__setitem__", "setdefault", "delete_range"], AB),
    **dict.fromkeys(["delete", "__delitem__", "delete_prefix", "pop"], A),
    **dict.fromkeys(["popitem", "clear", "compact", "flush", "sync", "wait_for_compaction", "check_integrity"], NONE),
    "merge": (b"n", merge.add_u64(1)),
    "update": ({b"a": b"b"},),
    "property": ("mergedb.stats",),
    "approximate_sizes": ([AB],),
}
#: test_columns.py has the tests of to_numpy, put_numpy and put_arrow.
READER_WITHOUT_ERROR = {"closed", "keyspace_id", "to_numpy"}
STORE_WITHOUT_ERROR = READER_WITHOUT_ERROR | {"batch", "put_numpy", "put_arrow"}
MOVES = {
    **dict.fromkeys(["seek", "seek_for_prev"], A),
    **dict.fromkeys(["next", "prev", "key", "value", "entry"], NONE),
}
RAW_CALLS = {
    "seek": A,
    **dict.fromkeys("valid seek_to_first seek_to_last next prev key value item".split(), NONE),
}
BATCH_CALLS = {"put": AB, "delete": A, "clear": NONE, "write": NONE, "approximate_size": NONE, "__enter__": NONE}
CONTEXT = {"__enter__", "__exit__", "close"}

CALLS = {
    mergedb_kv.Database: {
        **READS,
        **WRITES,
        **dict.fromkeys(["snapshot", "keyspaces", "transaction", "metrics", "end_trace"], NONE),
        **dict.fromkeys(["create_keyspace", "open_keyspace", "drop_keyspace"], (b"k",)),
        **dict.fromkeys(["checkpoint", "start_trace"], (NO_DIRECTORY,)),
    },
    mergedb_kv.Keyspace: {**READS, **WRITES},
    mergedb_kv.Snapshot: dict(READS),
    mergedb_kv.Iterator: {**MOVES, **dict.fromkeys(["seek_to_first", "seek_to_last", "valid", "failed_key"], NONE)},
    mergedb_kv.WriteBatch: {"write": NONE},
    mergedb_kv.Transaction: {
        **dict.fromkeys(["get", "__getitem__", "__contains__", "delete", "__delitem__"], A),
        **dict.fromkeys(["put", "__setitem__", "delete_range"], AB),
        "merge": (b"n", merge.add_u64(1)),
        **dict.fromkeys(
            ["cursor", "set_savepoint", "rollback_to_savepoint", "release_savepoint", "commit"], NONE
        ),
    },
    Cursor: {
        **MOVES,
        **dict.fromkeys(["first", "last", "current", "delete"], NONE),
        **dict.fromkeys(["seek_exact", "put"], A),
    },
    plyvel.DB: {
        **dict.fromkeys(["get", "delete"], A),
        **dict.fromkeys(["put", "approximate_size"], AB),
        **dict.fromkeys(["iterator", "raw_iterator", "snapshot", "write_batch", "compact_range", "__iter__"], NONE),
        "approximate_sizes": (AB,),
        "get_property": (b"leveldb.stats",),
    },
    plyvel.PrefixedDB: {
        **dict.fromkeys(["get", "delete"], A),
        "put": AB,
        **dict.fromkeys(["iterator", "snapshot", "write_batch", "__iter__"], NONE),
    },
    plyvel.Snapshot: {"get": A, **dict.fromkeys(["iterator", "raw_iterator", "__iter__"], NONE)},
    plyvel.Iterator: {"seek": A, **dict.fromkeys("next __next__ prev seek_to_start seek_to_stop".split(), NONE)},
    plyvel.RawIterator: RAW_CALLS,
    plyvel.WriteBatch: BATCH_CALLS,
    lmdb.Environment: {
        **dict.fromkeys("begin flags info open_db stat sync reader_check readers dbs".split(), NONE),
        **dict.fromkeys(["max_key_size", "max_readers", "path"], NONE),
        "copy": (NO_DIRECTORY,),
        "copyfd": (0,),
        "set_mapsize": (1 << 24,),
    },
    lmdb.Transaction: {
        **dict.fromkeys(["get", "delete", "pop"], A),
        **dict.fromkeys(["put", "replace"], AB),
        **dict.fromkeys(["cursor", "stat", "id", "commit"], NONE),
    },
    lmdb.Cursor: {
        **dict.fromkeys(["get", "pop", "set_key", "set_range"], A),
        **dict.fromkeys(["put", "replace", "set_key_dup", "set_range_dup"], AB),
        **dict.fromkeys(LMDB_MOVES.split(), NONE),
        "putmulti": ([AB],),
        "getmulti": ([b"a"],),
    },
}

WITHOUT_ERROR = {
    mergedb_kv.Database: STORE_WITHOUT_ERROR | CONTEXT | {"durability"},
    mergedb_kv.Keyspace: STORE_WITHOUT_ERROR,
    mergedb_kv.Snapshot: READER_WITHOUT_ERROR | CONTEXT | {"keyspace"},
    mergedb_kv.Iterator: CONTEXT,
    mergedb_kv.WriteBatch: {"__enter__", "__exit__", "__len__", "bytes"}  # a batch is memory until it is written
    | {"put", "__setitem__", "delete", "__delitem__", "delete_range", "merge", "append", "clear"},
    mergedb_kv.Transaction: {"__enter__", "__exit__", "is_open", "rollback"},
    Cursor: set(),
    plyvel.DB: CONTEXT | {"closed", "name", "prefixed_db"},
    plyvel.PrefixedDB: {"db", "prefix", "prefixed_db"},
    plyvel.Snapshot: CONTEXT | {"release"},
    plyvel.Iterator: CONTEXT | {"__iter__"},
    plyvel.RawIterator: CONTEXT,
    plyvel.WriteBatch: {"__exit__", "append"},
    lmdb.Environment: CONTEXT,
    lmdb.Transaction: {"__enter__", "__exit__", "abort", "drop"},  # LmdbTest calls drop
    lmdb.Cursor: CONTEXT,
}


def public(cls):
    return {name for name in dir(cls) if not name.startswith("_") or name in SPECIAL}


def use(thing, name, arguments):
    """Reads the attribute, calls it, and reads what an iteration over the result gives first."""
    result = getattr(thing, name)
    if callable(result):
        result = result(*arguments)
    if hasattr(result, "__arrow_c_stream__"):
        result.__arrow_c_stream__()
    elif isinstance(result, mergedb_kv._database.Entries) or hasattr(result, "__next__"):
        next(iter(result), None)


def outcomes(things, expected, without_error=()):
    """The calls of CALLS that do not raise what is expected."""
    wrong = []
    for thing in things:
        for name, arguments in CALLS[type(thing)].items():
            if name in without_error:
                continue
            call = f"{type(thing).__module__}.{type(thing).__name__}.{name}"
            try:
                use(thing, name, arguments)
                wrong.append(f"{call}: no error")
            except expected:
                pass
            except Exception as error:
                wrong.append(f"{call}: {error!r}")
    return wrong


class TableTest(unittest.TestCase):
    def test_every_call_is_named(self):
        for cls, calls in CALLS.items():
            self.assertEqual(set(calls) | WITHOUT_ERROR[cls], public(cls), cls)
            self.assertEqual(set(calls) & WITHOUT_ERROR[cls], set(), cls)


class KvTest(DatabaseCase):
    def setUp(self):
        super().setUp()
        self.keyspace = self.db.create_keyspace(b"k")
        for store in (self.db, self.keyspace):
            store.update({b"a": b"1", b"b": b"2"})
        self.snapshot, self.iterator, self.batch = self.db.snapshot(), self.db.iterator(), self.db.batch()
        self.transaction = self.db.transaction(mergedb_kv.TransactionKind.OPTIMISTIC)
        self.transaction[b"t"] = b"1"
        self.transaction.set_savepoint()
        self.cursor = self.transaction.cursor()
        self.batch[b"a"] = b"1"
        self.iterator.seek_to_first()
        self.cursor.first()

    def of_database(self):
        return [
            self.db,
            self.keyspace,
            self.snapshot,
            self.snapshot.keyspace(self.keyspace),
            self.iterator,
            self.batch,
            self.transaction,
            self.cursor,
        ]

    def test_after_the_close_of_the_database(self):
        self.db.close()
        self.assertEqual(outcomes(self.of_database(), mergedb_kv.ClosedError), [])
        for _ in range(2):
            self.transaction.rollback()
            self.snapshot.close()
            self.iterator.close()
            self.db.close()

    def test_after_the_end_of_each_object(self):
        of_keyspace = self.snapshot.keyspace(self.keyspace)
        scan = iter(self.snapshot.items())
        self.snapshot.close()
        self.iterator.close()
        self.assertEqual(outcomes([self.snapshot, of_keyspace, self.iterator], mergedb_kv.ClosedError), [])
        self.assertRaises(mergedb_kv.ClosedError, next, scan)
        for end in (self.transaction.commit, self.transaction.rollback):
            end()
            self.assertEqual(outcomes([self.transaction], mergedb_kv.AbortedError), [])
            # The cursor stands at no key.
            self.assertEqual(outcomes([self.cursor], (mergedb_kv.AbortedError, mergedb_kv.NotFoundError)), [])
        self.assertEqual(self.db[b"t"], b"1")

    def test_in_a_child_after_a_fork(self):
        things = self.of_database()

        def child():
            wrong = outcomes(things, mergedb_kv.ForkedError)
            self.snapshot.close()
            self.iterator.close()
            self.db.close()
            return "\n".join(wrong)

        self.assertEqual(self.in_child(child), "")
        self.transaction.commit()
        self.assertEqual((self.db[b"t"], self.iterator.key), (b"1", b"a"))


class PlyvelTest(unittest.TestCase):
    in_child = DatabaseCase.in_child

    def setUp(self):
        self.path = tempfile.mkdtemp(prefix="mergedb-kv-")
        self.addCleanup(shutil.rmtree, self.path, ignore_errors=True)
        self.db = plyvel.DB(self.path, create_if_missing=True)
        self.addCleanup(self.db.close)
        for key in (b"a", b"b", b"pa", b"pb"):
            self.db.put(key, b"1")
        prefixed = self.db.prefixed_db(b"p")
        self.snapshot = self.db.snapshot()
        self.readers = [
            self.snapshot,
            prefixed.snapshot(),
            self.db.iterator(),
            self.db.iterator(reverse=True),
            prefixed.iterator(),
            self.snapshot.iterator(),
            self.db.raw_iterator(),
        ]
        self.things = [self.db, prefixed, self.db.write_batch(), prefixed.write_batch(), *self.readers]
        next(self.readers[2])
        self.readers[-1].seek_to_first()

    def test_after_the_close_of_the_database(self):
        self.db.close()
        self.assertEqual(outcomes(self.things, RuntimeError), [])
        for reader in self.readers:
            reader.close()

    def test_after_the_end_of_each_object(self):
        for reader in self.readers:
            reader.close()
            reader.close()
        self.assertEqual(outcomes(self.readers, RuntimeError), [])
        self.assertEqual(self.db.get(b"a"), b"1")

    def test_in_a_child_after_a_fork(self):
        def child():
            # A batch is memory of the child until it is written.
            wrong = outcomes(self.things, RuntimeError, {"write_batch", "__enter__"})
            for reader in self.readers:
                reader.close()
            self.db.close()
            return "\n".join(wrong)

        self.assertEqual(self.in_child(child), "")
        self.assertEqual((self.db.get(b"a"), next(self.readers[2])), (b"1", (b"b", b"1")))


class LmdbTest(unittest.TestCase):
    in_child = DatabaseCase.in_child

    def setUp(self):
        path = tempfile.mkdtemp(prefix="mergedb-kv-")
        self.addCleanup(shutil.rmtree, path, ignore_errors=True)
        self.env = lmdb.open(path)
        self.addCleanup(self.env.close)
        with self.env.begin(write=True) as txn:
            txn.put(b"a", b"1")
        self.transactions = [self.env.begin(), self.env.begin(write=True)]
        self.cursors = [txn.cursor() for txn in self.transactions]
        self.named = self.env.open_db(None)
        for cursor in self.cursors:
            cursor.first()

    def wrong(self, *things):
        found = outcomes(things, lmdb.Error)
        for txn in things:
            if isinstance(txn, lmdb.Transaction):
                self.assertRaises(lmdb.Error, txn.drop, self.named)
        return found

    def test_after_the_close_of_the_environment(self):
        self.env.close()
        self.assertEqual(self.wrong(self.env, *self.transactions, *self.cursors), [])
        for txn in self.transactions:
            txn.abort()

    def test_after_the_end_of_each_object(self):
        self.cursors[0].close()
        self.assertEqual(self.wrong(self.cursors[0]), [])
        self.transactions[0].abort()
        self.transactions[1].commit()
        self.assertEqual(self.wrong(*self.transactions, *self.cursors), [])
        self.assertEqual(self.env.stat()["entries"], 1)

    def test_in_a_child_after_a_fork(self):
        def child():
            wrong = self.wrong(self.env, *self.transactions, *self.cursors)
            for txn in self.transactions:
                txn.abort()
            self.env.close()
            return "\n".join(wrong)

        self.assertEqual(self.in_child(child), "")
        self.assertEqual([cursor.item() for cursor in self.cursors], [(b"a", b"1")] * 2)


if __name__ == "__main__":
    unittest.main()
