"""py-lmdb's interface: each class, what ends with what, and memory that stays valid. tests/clients/py_lmdb.py runs
py-lmdb's own tests."""

import ctypes
import gc
import itertools
import os
import random
import shutil
import struct
import tempfile
import threading
import time
import unittest

import mergedb_kv._native
import mergedb_kv.lmdb as lmdb

SEED = int(os.environ.get("SEED", time.time_ns() % 1_000_000))


class LmdbCase(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="mergedb-kv-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.env = self.open("db", max_dbs=4)

    def open(self, name, **options):
        env = lmdb.open(os.path.join(self.directory, name), **options)
        self.addCleanup(env.close)
        return env

    def fill(self, count=10):
        with self.env.begin(write=True) as txn:
            for i in range(count):
                txn.put(b"k%d" % i, b"v%d" % i)


class EnvironmentTest(LmdbCase):
    def test_what_it_says_of_itself(self):
        self.assertEqual(lmdb.version(), (0, 9, 24))
        self.assertEqual(lmdb.version(subpatch=True), (0, 9, 24, 0))
        self.assertIsNone(lmdb.enable_drop_gil())
        env = self.open("other", map_size=1 << 20, max_readers=7, sync=False, metasync=False, writemap=True, map_async=True)
        self.assertEqual(env.path(), os.path.join(self.directory, "other"))
        flags = env.flags()
        self.assertEqual([name for name in flags if not flags[name]], ["readonly", "metasync", "sync"])
        info = env.info()
        self.assertEqual((info["map_size"], info["max_readers"], info["last_txnid"]), (1 << 20, 7, 0))
        self.assertEqual((env.max_readers(), env.max_key_size(), env.reader_check()), (7, 511, 0))
        self.assertEqual(env.readers(), "(no active readers)\n")
        reader = env.begin()
        self.assertEqual(env.readers().count("\n"), 2)
        reader.abort()
        self.assertEqual(env.stat()["entries"], 0)
        env.sync(True)
        for wrong in ({"map_size": -1}, {"max_dbs": 1 << 32}, {"max_spare_txns": -1}):
            self.assertRaises(OverflowError, lmdb.open, self.directory, **wrong)

    def test_errors_have_a_class_and_a_code(self):
        with self.assertRaises(lmdb.Error) as caught:
            lmdb.open(os.path.join(self.directory, "absent"), create=False)
        self.assertIn("absent: No such file", str(caught.exception))
        self.assertEqual((caught.exception.code, caught.exception.reason), (2, "No such file or directory"))
        self.assertRaises(lmdb.LockError, lmdb.open, self.env.path())
        self.assertRaises(lmdb.InvalidParameterError, self.open, "x", max_readers=0)
        with self.env.begin() as txn:
            self.assertRaises(lmdb.ReadonlyError, txn.put, b"a", b"1")
            self.assertRaises(lmdb.BadValsizeError, txn.get, b"")
        with self.assertRaises(lmdb.MapFullError) as caught:
            with self.open("small", map_size=1).begin(write=True) as txn:
                txn.put(b"a", b"1")
        self.assertIn("map_size=", str(caught.exception))
        self.assertRaises(lmdb.ReadersFullError, lambda env: [env.begin() for _ in range(3)], self.open("y", max_readers=2))
        self.assertEqual(str(lmdb.Error("words")), "words")
        for code in range(-30799, -30779):
            with self.subTest(code):
                error = lmdb._make_error("call", code)
                self.assertTrue(error.reason.startswith(error.MDB_NAME + ":"), error.reason)

    def test_copy_and_copyfd(self):
        self.fill()
        for compact in False, True:
            target = os.path.join(self.directory, f"copy{compact}")
            self.assertRaises(lmdb.Error, self.env.copy, target)
            os.mkdir(target)
            self.env.copy(target, compact=compact)
            with lmdb.open(target) as copy, copy.begin() as txn:
                self.assertEqual(len(list(txn.cursor())), 10)
        with self.assertRaises(TypeError), self.env.begin() as txn:
            self.env.copy(self.directory, txn=txn)
        archive = os.path.join(self.directory, "archive")
        with open(archive, "wb") as file:
            self.env.copyfd(file.fileno())
        with lmdb.open(archive, subdir=False) as copy, copy.begin() as txn:
            self.assertEqual(txn.get(b"k3"), b"v3")

    def test_readonly(self):
        self.fill()
        reader = self.open("db", readonly=True)
        self.assertTrue(reader.readonly)
        with reader.begin() as txn:
            self.assertEqual(txn.get(b"k3"), b"v3")
        self.assertRaises(lmdb.ReadonlyError, reader.begin, write=True)

    def test_set_mapsize_ends_readers(self):
        self.fill()
        reader = self.env.begin()
        cursor = reader.cursor()
        writer = self.env.begin(write=True)
        self.assertRaises(lmdb.Error, self.env.set_mapsize, 1 << 21)
        writer.abort()
        self.env.set_mapsize(1 << 21)
        self.assertEqual(self.env.info()["map_size"], 1 << 21)
        self.assertRaises(lmdb.Error, reader.get, b"k1")
        self.assertRaises(lmdb.Error, cursor.first)
        self.fill(3)

    def test_no_symbol_of_lmdb_is_exported(self):
        library = ctypes.CDLL(mergedb_kv._native.__file__)
        self.assertTrue(hasattr(library, "PyInit__native"))
        for name in "mdb_env_create", "mdb_get", "mdb_strerror":
            self.assertFalse(hasattr(library, name), name)


class DatabaseTest(LmdbCase):
    def test_an_abort_waits_for_the_commit_of_a_child(self):
        for _ in range(200):
            parent = self.env.begin(write=True)
            child = self.env.begin(write=True, parent=parent)
            for i in range(50):
                child.put(b"%d" % i, b"x" * 200)

            def commit(child=child):
                try:
                    child.commit()
                except lmdb.Error:
                    pass

            thread = threading.Thread(target=commit)
            thread.start()
            parent.abort()
            thread.join()
            self.assertRaises(lmdb.Error, parent.put, b"key", b"value")
        self.assertEqual(self.env.stat()["entries"], 0)

    def test_an_abort_comes_to_its_end_beside_a_thread_that_writes(self):
        for ends_with_commit in True, False:
            txn = self.env.begin(write=True)
            errors = []

            def write(txn=txn, errors=errors):
                try:
                    while True:
                        txn.put(b"key", b"x" * 100_000)
                except lmdb.Error as error:
                    errors.append(str(error))

            thread = threading.Thread(target=write)
            thread.start()
            if ends_with_commit:
                try:
                    with txn:
                        pass
                except lmdb.Error:
                    pass
            else:
                txn.abort()
            thread.join()
            self.assertEqual(len(errors), 1)
            with self.env.begin(write=True) as after:
                after.put(b"after", b"")

    def test_named_databases(self):
        people = self.env.open_db(b"people")
        self.assertRaises(lmdb.NotFoundError, self.env.open_db, b"absent", create=False)
        self.assertRaises(TypeError, self.env.open_db, "people")
        self.assertRaises(ValueError, self.env.open_db, b"a\0b")
        self.assertRaises(ValueError, self.env.open_db, None, integerkey=True)
        with self.env.begin(write=True, db=people) as txn:
            txn.put(b"ann", b"1")
            txn.put(b"main", b"2", db=self.env.open_db())
            places = self.env.open_db(b"places", txn=txn)
            self.assertRaises(lmdb.DbsFullError, lambda: [self.env.open_db(b"%d" % i, txn=txn) for i in range(4)])
        self.assertEqual(self.env.dbs(), [b"0", b"1", b"people", b"places"])
        with self.env.begin(buffers=True) as txn:
            self.assertEqual([bytes(name) for name in self.env.dbs(txn)], self.env.dbs())
            self.assertEqual(bytes(txn.get(b"ann", db=people)), b"1")
            self.assertIsNone(txn.get(b"ann"))
            self.assertEqual(txn.stat(people)["entries"], 1)
            self.assertEqual(txn.stat(places)["entries"], 0)
            self.assertEqual(len(list(txn.cursor(people))), 1)
        with self.env.begin(write=True) as txn:
            txn.drop(people, delete=False)
            self.assertEqual(txn.stat(people)["entries"], 0)
            txn.drop(people)
            self.assertRaises(lmdb.InvalidParameterError, txn.get, b"ann", db=people)
            self.assertRaises(TypeError, txn.drop, None)
        self.assertEqual(self.env.dbs(), [b"0", b"1", b"places"])
        other = self.open("other", max_dbs=1).open_db(b"x")
        with self.env.begin() as txn:
            self.assertRaises(lmdb.Error, txn.get, b"a", db=other)
            self.assertRaises(lmdb.Error, txn.cursor, other)
        self.assertRaises(lmdb.Error, self.env.begin, db=other)

    def test_orders_of_keys(self):
        numbers = self.env.open_db(b"numbers", integerkey=True)
        reverse = self.env.open_db(b"reverse", reverse_key=True)
        self.assertEqual([name for name, is_set in numbers.flags().items() if is_set], ["integerkey"])
        self.assertEqual([name for name, is_set in reverse.flags(None).items() if is_set], ["reverse_key"])
        with self.env.begin(write=True) as txn:
            for i in 256, 1, 70000, 2:
                txn.put(struct.pack("I", i), b"", db=numbers)
            for key in b"ac", b"ba", b"cb":
                txn.put(key, b"", db=reverse)
            keys = [struct.unpack("I", key)[0] for key in txn.cursor(numbers).iternext(values=False)]
            self.assertEqual(keys, [1, 2, 256, 70000])
            self.assertEqual(list(txn.cursor(reverse).iternext(values=False)), [b"ba", b"cb", b"ac"])

    def test_dupsort_is_refused(self):
        for flags in {"dupsort": True}, {"dupsort": True, "dupfixed": True}, {"dupsort": True, "integerdup": True}:
            self.assertRaises(lmdb.IncompatibleError, self.env.open_db, b"x", **flags)
        self.fill()
        with self.env.begin() as txn, txn.cursor() as cursor:
            cursor.first()
            for call in cursor.first_dup, cursor.last_dup, cursor.count:
                self.assertRaises(lmdb.IncompatibleError, call)
            self.assertRaises(lmdb.IncompatibleError, cursor.set_key_dup, b"k1", b"v1")
            self.assertRaises(lmdb.IncompatibleError, cursor.set_range_dup, b"k1", b"v1")
            self.assertRaises(lmdb.IncompatibleError, cursor.getmulti, [b"k1"], dupdata=True, dupfixed_bytes=2)


class TransactionTest(LmdbCase):
    def test_each_call(self):
        with self.env.begin(write=True) as txn:
            self.assertIs(txn.env, self.env)
            self.assertEqual(txn.id(), 1)
            self.assertTrue(txn.put(bytearray(b"a"), memoryview(b"1")))
            self.assertFalse(txn.put(b"a", b"2", overwrite=False))
            self.assertFalse(txn.put(b"A", b"2", append=1))
            self.assertTrue(txn.put(b"b", b"2", append=True))
            self.assertEqual((txn.get(b"a"), txn.get(b"z"), txn.get(b"z", default=3)), (b"1", None, 3))
            self.assertEqual((txn.replace(b"a", b"4"), txn.replace(b"c", b"5")), (b"1", None))
            self.assertEqual((txn.pop(b"c"), txn.pop(b"c")), (b"5", None))
            self.assertEqual((txn.delete(b"b"), txn.delete(b"b", b"")), (True, False))
            self.assertRaises(TypeError, txn.put, "a", b"1")
            self.assertRaises(TypeError, txn.get, 1)
        with self.env.begin() as txn:
            self.assertEqual(list(txn.cursor()), [(b"a", b"4")])

    def test_with_rolls_back(self):
        with self.assertRaises(ZeroDivisionError), self.env.begin(write=True) as txn:
            txn.put(b"a", b"1")
            1 // 0
        self.assertEqual(self.env.stat()["entries"], 0)

    def test_nested(self):
        with self.env.begin(write=True) as outer:
            outer.put(b"a", b"1")
            with self.env.begin(write=True, parent=outer) as inner:
                inner.put(b"b", b"2")
                self.assertRaises(lmdb.BadTxnError, outer.get, b"a")
            inner = self.env.begin(write=True, parent=outer)
            inner.put(b"c", b"3")
            inner.abort()
            left = self.env.begin(write=True, parent=outer)  # the end of its parent ends it
            left.put(b"d", b"4")
        self.assertRaises(lmdb.Error, left.get, b"a")
        left.abort()
        with self.env.begin() as txn:
            self.assertEqual(list(txn.cursor().iternext(values=False)), [b"a", b"b"])
            self.assertRaises(lmdb.InvalidParameterError, self.env.begin, parent=txn)
        other = self.open("other")
        with other.begin(write=True) as txn:
            self.assertRaises(lmdb.Error, self.env.begin, parent=txn, write=True)

    def test_a_dropped_child_lets_its_parent_go_on(self):
        with self.env.begin(write=True) as outer:
            inner = self.env.begin(write=True, parent=outer)
            cursor = inner.cursor()
            cursor.put(b"x", b"1")
            del inner, cursor
            gc.collect()
            self.assertIsNone(outer.get(b"x"))

    def test_spare_readers_see_the_newest_state(self):
        for i in range(5):
            with self.env.begin(write=True) as txn:
                txn.put(b"i", b"%d" % i)
            with self.env.begin() as first, self.env.begin() as second:
                self.assertEqual((first.get(b"i"), second.get(b"i")), (b"%d" % i,) * 2)
        self.assertEqual(self.env.readers().count("\n"), 2)  # max_spare_txns is 1

    def test_nothing_is_usable_after_the_end(self):
        self.fill()
        for end in "commit", "abort":
            txn = self.env.begin(write=True)
            cursor, steps = txn.cursor(), txn.cursor().iternext()
            getattr(txn, end)()
            calls = (txn.commit, txn.cursor, txn.id, txn.stat, cursor.first, cursor.key, lambda: next(steps))
            for call in (*calls, lambda: txn.get(b"a"), lambda: txn.put(b"a", b""), lambda: cursor.put(b"a", b"")):
                self.assertRaises(lmdb.Error, call)
            txn.abort()
            cursor.close()
        txn = self.env.begin()
        cursor, database = txn.cursor(), self.env.open_db()
        self.env.close()
        self.env.close()
        txn.abort()
        for name in "begin path flags info stat readers max_readers max_key_size reader_check sync dbs open_db".split():
            self.assertRaises(lmdb.Error, getattr(self.env, name))
        for call in lambda: txn.get(b"a"), cursor.first, txn.commit, lambda: self.env.set_mapsize(1 << 20):
            self.assertRaises(lmdb.Error, call)
        self.assertFalse(database.flags()["dupsort"])


class CursorTest(LmdbCase):
    def test_moves_and_iterators_against_a_list(self):
        rand = random.Random(SEED)
        keys = sorted({b"%03d" % rand.randrange(1000) for _ in range(100)})
        items = [(key, key * 2) for key in keys]
        with self.env.begin(write=True) as txn:
            self.assertEqual(txn.cursor().putmulti(items, append=True), (len(items), len(items)))
        with self.env.begin() as txn, txn.cursor() as cursor:
            self.assertEqual((cursor.item(), cursor.key(), cursor.value()), ((b"", b""), b"", b""))
            self.assertEqual(list(cursor), items)
            self.assertEqual(list(cursor.iterprev(keys=False)), [value for _, value in items[::-1]])
            self.assertEqual(list(cursor.iternext_nodup()), keys)
            self.assertEqual(list(cursor.iterprev_nodup(True, True)), items[::-1])
            self.assertTrue(cursor.first() and not cursor.prev() and cursor.last() and not cursor.next())
            for _ in range(200):
                wanted = b"%03d" % rand.randrange(1000)
                behind = [item for item in items if item[0] >= wanted]
                before = [item for item in items if item[0] < wanted]
                with self.subTest(seed=SEED, wanted=wanted):
                    self.assertEqual(cursor.set_range(wanted), bool(behind))
                    self.assertEqual(cursor.item(), behind[0] if behind else (b"", b""))
                    self.assertEqual(cursor.set_key(wanted), wanted in keys)
                    self.assertEqual(cursor.get(wanted, 0), wanted * 2 if wanted in keys else 0)
                    if behind and cursor.set_range(wanted):
                        self.assertEqual(list(itertools.islice(cursor.iternext(), 3)), behind[:3])
                        cursor.set_range(wanted)
                        self.assertEqual((cursor.prev(), cursor.item()), (bool(before), before[-1] if before else (b"", b"")))
                    self.assertEqual(list(itertools.islice(cursor._iter_from(wanted, False), 2)), behind[:2])
            some = [keys[3], b"none", keys[1]]
            self.assertEqual(cursor.getmulti(some), [(keys[3], keys[3] * 2), (keys[1], keys[1] * 2)])
            self.assertEqual(cursor.getmulti(some, values=False), [keys[3], keys[1]])
            self.assertRaises(TypeError, cursor.getmulti, some, keyfixed=True)
            self.assertRaises(TypeError, cursor.getmulti, 1)

    def test_changes(self):
        with self.env.begin(write=True) as txn, txn.cursor() as cursor:
            self.assertIs(cursor.txn, txn)
            self.assertFalse(cursor.delete())
            self.assertTrue(cursor.put(b"a", b"1"))
            self.assertEqual(cursor.item(), (b"a", b"1"))
            self.assertFalse(cursor.put(b"a", b"2", overwrite=False))
            self.assertEqual((cursor.replace(b"a", b"3"), cursor.replace(b"b", b"4")), (b"1", None))
            self.assertEqual((cursor.pop(b"b"), cursor.pop(b"b")), (b"4", None))
            self.assertEqual(cursor.putmulti([(b"c", b"5"), (b"a", b"6")], overwrite=False), (2, 1))
            self.assertRaises(TypeError, cursor.putmulti, [b"ab"])
            self.assertRaises(TypeError, cursor.putmulti, [(b"a", b"b", b"c")])
            cursor.first()
            self.assertTrue(cursor.delete())
            self.assertEqual(cursor.item(), (b"c", b"5"))
            txn.put(b"c", b"7")  # the cursor shows it
            self.assertEqual(cursor.value(), b"7")
            cursor.close()
            cursor.close()
            self.assertRaises(lmdb.Error, cursor.first)

    def test_a_cursor_outlives_the_names_of_its_transaction(self):
        self.fill()
        steps = self.env.begin().cursor().iternext()
        gc.collect()
        self.assertEqual(len(list(steps)), 10)

    def test_keys_only_do_not_read_values(self):
        self.fill()
        with self.env.begin() as txn, txn.cursor() as cursor:
            for key in cursor.iternext(values=False):
                self.assertEqual(cursor.item(), (key, b"v" + key[1:]))


class BuffersTest(LmdbCase):
    def test_views_stay_right_after_the_transaction(self):
        self.fill()
        txn = self.env.begin(write=True, buffers=True)
        view, (key, value) = txn.get(b"k1"), next(iter(txn.cursor()))
        part = value[1:]
        self.assertTrue(view.readonly)
        for i in range(2000):
            txn.put(b"k%d" % i, b"x" * 100)
        old = txn.replace(b"k1", b"")
        txn.commit()
        self.env.close()
        gc.collect()
        self.assertEqual([bytes(each) for each in (view, key, value, part, old)], [b"v1", b"k0", b"v0", b"0", b"x" * 100])

    def test_large_values(self):
        big = os.urandom(1 << 20)
        with self.env.begin(write=True) as txn:
            txn.put(b"big", big)
        with self.env.begin() as txn, txn.cursor() as cursor:
            self.assertEqual(txn.get(b"big"), big)
            self.assertTrue(cursor.set_key(b"big"))
            self.assertEqual((cursor.value(), cursor.item(), list(cursor)), (big, (b"big", big), [(b"big", big)]))


class ThreadsTest(LmdbCase):
    def test_close_ends_a_thread_that_waits_for_the_writer(self):
        for _ in range(20):
            env = self.open("threads")
            writer = env.begin(write=True)
            raised = []

            def wait():
                try:
                    env.begin(write=True)
                except lmdb.Error as error:
                    raised.append(error)

            thread = threading.Thread(target=wait)
            thread.start()
            env.close()
            thread.join()
            self.assertEqual(len(raised), 1)
            self.assertRaises(lmdb.Error, writer.commit)

    def test_one_transaction_in_many_threads(self):
        self.fill(100)
        for is_write in False, True:
            txn = self.env.begin(write=is_write)
            wrong = []

            def work(seed):
                rand = random.Random(seed)
                for _ in range(300):
                    key = b"k%d" % rand.randrange(100)
                    try:
                        cursor = txn.cursor()
                        if cursor.set_key(key) and cursor.value() != b"v" + key[1:]:
                            wrong.append(key)
                        if is_write and rand.random() < 0.2:
                            txn.put(key, b"v" + key[1:])
                        if txn.get(key) != b"v" + key[1:]:
                            wrong.append(key)
                    except lmdb.Error as error:
                        if "another thread uses" not in str(error):
                            wrong.append(error)

            threads = [threading.Thread(target=work, args=(SEED + i,)) for i in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(wrong, [], f"seed {SEED}")
            txn.abort()

    def test_close_beside_readers_and_writers(self):
        for _ in range(10):
            env = self.open("beside")
            wrong = []

            def work(is_write):
                try:
                    while True:
                        with env.begin(write=is_write) as txn:
                            txn.put(b"a", b"1") if is_write else list(txn.cursor())
                except lmdb.Error:
                    pass
                except Exception as error:
                    wrong.append(error)

            threads = [threading.Thread(target=work, args=(i == 0,)) for i in range(3)]
            for thread in threads:
                thread.start()
            time.sleep(0.005)
            env.close()
            for thread in threads:
                thread.join()
            self.assertEqual(wrong, [])

    def test_a_writer_dropped_beside_a_close(self):
        for _ in range(20):
            env = self.open("dropped", sync=False)
            txn = env.begin(write=True)
            txn.put(b"a", b"1")
            thread = threading.Thread(target=env.close)
            thread.start()
            del txn
            thread.join()


class ForkTest(LmdbCase):
    def in_child(self, function):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                function()
                status = 0
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 0)

    def test_the_child_can_use_and_break_nothing(self):
        self.fill()
        held = [self.env.begin(write=True), self.env.begin()]
        held.append(held[0].cursor())
        held[0].put(b"k0", b"new")
        held.append(held[1].cursor().iternext())

        def child():
            for call in (
                self.env.begin,
                self.env.stat,
                held[0].commit,
                lambda: held[1].get(b"k0"),
                held[2].first,
                lambda: next(held[3]),
            ):
                try:
                    call()
                except lmdb.Error:
                    continue
                raise AssertionError(call)
            for each in held[:2]:
                each.abort()
            held[2].close()
            held.clear()
            gc.collect()
            self.env.close()

        self.in_child(child)
        self.assertEqual((held[1].get(b"k0"), next(held[3])), (b"v0", (b"k0", b"v0")))
        held[0].commit()
        with self.env.begin() as txn:
            self.assertEqual(txn.get(b"k0"), b"new")


if __name__ == "__main__":
    unittest.main()
