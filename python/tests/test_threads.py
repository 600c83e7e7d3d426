"""Threads, forks and the end of the interpreter."""

import itertools
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import unittest

import mergedb_kv
from mergedb_kv import plyvel
from support import DatabaseCase, Gate


class ThreadTest(DatabaseCase):
    def run_threads(self, functions):
        failures = []

        def run(function):
            try:
                function()
            except mergedb_kv.ClosedError:
                pass
            except BaseException as error:  # noqa: B902
                failures.append(error)

        threads = [threading.Thread(target=run, args=(function,)) for function in functions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_a_close_while_threads_read_and_write(self):
        for _ in range(5):
            db = mergedb_kv.open(self.path + "2", write_buffer_bytes=1 << 16)
            running = threading.Barrier(7)

            def forever(step):
                running.wait()
                while True:
                    step()

            def write_batch():
                with db.batch() as batch:
                    batch[b"b"] = b"2" * 100

            def use_snapshot():
                with db.snapshot() as snapshot:
                    snapshot.get(b"a")
                    list(snapshot.items())

            def use_iterator():
                with db.iterator() as it:
                    moved = it.seek_to_last()
                    while moved:
                        it.entry()
                        moved = it.prev()

            def close():
                running.wait()
                time.sleep(0.05)
                db.close()

            steps = [
                lambda: db.put(os.urandom(3), b"x" * 200),
                lambda: list(db.items()),
                lambda: (db.get_view(b"a"), db.get_many([b"a", b"b"])),
                write_batch,
                use_snapshot,
                use_iterator,
            ]
            self.run_threads([lambda step=step: forever(step) for step in steps] + [close])
            self.assertTrue(db.closed)

    def test_threads_that_share_an_iterator_get_busy_and_no_crash(self):
        self.fill(2000)
        iterator = self.db.iterator()

        def step():
            for _ in range(300):
                try:
                    if iterator.seek(os.urandom(1)):
                        iterator.value
                    iterator.seek_to_first()
                    while iterator.next():
                        iterator.entry()
                        if os.urandom(1) == b"\0":
                            break
                except (mergedb_kv.BusyError, mergedb_kv.NotFoundError):
                    pass

        self.run_threads([step] * 4)

    def test_threads_that_share_a_batch_a_transaction_and_a_cursor(self):
        self.fill(200)
        batch, transaction = self.db.batch(), self.db.transaction(mergedb_kv.TransactionKind.OPTIMISTIC)
        cursor = transaction.cursor()

        def use_batch():
            batch.put(b"shared", os.urandom(50))
            batch.write()
            batch.clear()

        def use_transaction():
            transaction.put(os.urandom(1), b"1")
            transaction.get(b"key000001")

        def use_cursor():
            moved = cursor.first()
            while moved and os.urandom(1) != b"\0":
                cursor.entry()
                moved = cursor.next()

        def step():
            for _ in range(300):
                for use in (use_batch, use_transaction, use_cursor):
                    try:
                        use()
                    except (mergedb_kv.BusyError, mergedb_kv.NotFoundError):
                        pass

        self.run_threads([step] * 4)
        transaction.rollback()
        use_batch()
        self.assertEqual(len(self.db), 201)

    def test_a_close_while_threads_use_plyvel(self):
        for _ in range(5):
            db = plyvel.DB(self.path + "2", create_if_missing=True)
            prefixed = db.prefixed_db(b"p")
            running = threading.Barrier(6)

            def forever(step):
                running.wait()
                while True:
                    step()

            def write_batch():
                with prefixed.write_batch() as batch:
                    batch.put(os.urandom(1), b"1")

            def use_snapshot():
                with db.snapshot() as snapshot:
                    list(snapshot)

            def use_raw_iterator():
                with db.raw_iterator() as it:
                    it.seek_to_last()
                    while it.valid():
                        it.item()
                        it.prev()

            def close():
                running.wait()
                time.sleep(0.02)
                db.close()

            put, scan = lambda: db.put(os.urandom(2), b"1"), lambda: list(prefixed)
            steps = [put, scan, write_batch, use_snapshot, use_raw_iterator]
            self.run_threads([lambda step=step: forever(step) for step in steps] + [close])
            self.assertTrue(db.closed)

    def test_a_bytearray_that_changes_during_its_put(self):
        value, is_over = bytearray(1_000_000), threading.Event()

        def change():
            for byte in itertools.cycle(b"ab"):
                if is_over.is_set():
                    return
                value[:] = bytes([byte]) * len(value)

        thread = threading.Thread(target=change)
        thread.start()
        try:
            for _ in range(100):
                self.db.put(b"a", value)
                self.assertEqual(len(set(self.db.get(b"a"))), 1)  # the bytes of one moment
        finally:
            is_over.set()
            thread.join()

    def test_threads_that_share_a_scan(self):
        self.fill(20_000)
        scan = iter(self.db.items())
        seen = []

        def step():
            while True:
                try:
                    entry = next(scan, None)
                except mergedb_kv.BusyError:
                    continue
                if entry is None:
                    return
                seen.append(entry)

        self.run_threads([step] * 4)
        self.assertEqual(len(seen), 20_000)
        self.assertEqual(len(set(seen)), 20_000)

    def test_other_threads_run_while_a_call_waits(self):
        transaction = self.db.transaction()
        written = threading.Event()

        def write():
            self.db[b"a"] = b"1"
            written.set()

        writer = threading.Thread(target=write)
        writer.start()  # it waits in the engine; with the GIL held, this thread would never commit
        self.assertFalse(written.wait(0.05))
        transaction.commit()
        writer.join()
        self.assertEqual(self.db[b"a"], b"1")


class SharedTransactionTest(DatabaseCase):
    """The ends of a transaction while another thread is in one of its calls."""

    def setUp(self):
        super().setUp()
        self.gate = Gate()
        self.gated = mergedb_kv.open(self.path + "2", comparator=self.gate, comparator_name=b"test.gate")
        self.addCleanup(self.gated.close)
        self.gated.update({b"a": b"1", b"b": b"2"})

    def hold(self, transaction, inside=None):
        """A thread in a call of the transaction, until the gate opens."""
        self.gate.shut(inside)
        self.addCleanup(self.gate.open)
        thread = threading.Thread(target=lambda: transaction.get(b"b"))
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.gate.open)
        self.assertTrue(self.gate.reached.wait(60))

    def test_a_commit_is_refused_and_the_transaction_stays_open(self):
        with self.gated.transaction() as transaction:
            transaction[b"c"] = b"3"
            self.hold(transaction)
            self.assertRaises(mergedb_kv.BusyError, transaction.commit)
            self.assertTrue(transaction.is_open)
            self.gate.open()
            while True:
                try:
                    transaction.commit()
                    break
                except mergedb_kv.BusyError:
                    time.sleep(0.001)
            self.assertFalse(transaction.is_open)
        self.assertEqual(self.gated[b"c"], b"3")

    def test_a_rollback_waits_for_the_call(self):
        transaction = self.gated.transaction()
        transaction[b"c"] = b"3"
        self.hold(transaction)
        rollbacks = [threading.Thread(target=transaction.rollback) for _ in range(3)]
        for rollback in rollbacks:
            rollback.start()
        time.sleep(0.05)
        self.assertTrue(transaction.is_open)
        self.assertRaises(mergedb_kv.BusyError, transaction.put, b"d", b"4")
        self.gate.open()
        for rollback in rollbacks:
            rollback.join(60)
            self.assertFalse(rollback.is_alive())
        self.assertFalse(transaction.is_open)
        with self.gated.transaction(timeout=60) as after:
            self.assertNotIn(b"c", after)

    def test_a_block_whose_commit_is_refused_rolls_back(self):
        def open_when_it_rolls_back():
            while True:
                try:
                    transaction.put(b"d", b"4")
                except mergedb_kv.BusyError as error:
                    if "rolls" in str(error):
                        return self.gate.open()
                time.sleep(0.001)

        opener = threading.Thread(target=open_when_it_rolls_back)
        with self.assertRaises(mergedb_kv.BusyError):
            with self.gated.transaction() as transaction:
                transaction[b"c"] = b"3"
                self.hold(transaction)
                opener.start()
        opener.join()
        self.assertFalse(transaction.is_open)
        self.gated[b"d"] = b"4"  # waits for no transaction
        self.assertNotIn(b"c", self.gated)

    def test_a_rollback_in_a_callback_of_the_call_is_refused(self):
        seen = []
        transaction = self.gated.transaction()

        def inside():
            try:
                transaction.rollback()
            except mergedb_kv.Error as error:
                seen.append(type(error))

        self.hold(transaction, inside)
        self.gate.open()
        transaction.rollback()
        self.assertEqual(seen, [mergedb_kv.BusyError])

    def test_a_transaction_of_a_closed_database_ends_at_its_rollback(self):
        transactions = [self.gated.transaction(mergedb_kv.TransactionKind.OPTIMISTIC) for _ in range(2)]
        self.gated.close()
        self.assertRaises(mergedb_kv.ClosedError, transactions[0].commit)
        transactions[1].rollback()
        self.assertEqual([transaction.is_open for transaction in transactions], [False, False])


class ForkTest(DatabaseCase):
    def test_a_child_gets_forked_errors(self):
        self.fill(10_000)
        iterator, snapshot, scan = self.db.iterator(), self.db.snapshot(), iter(self.db)
        keyspace, batch = self.db.create_keyspace(b"k"), self.db.batch()
        batch[b"a"] = b"1"
        iterator.seek_to_first()
        next(scan)

        def child():
            calls = [
                lambda: self.db.get(b"a"),
                lambda: self.db.put(b"child", b"1"),
                lambda: list(self.db),
                lambda: self.db.flush(),
                lambda: iterator.next(),
                lambda: snapshot.get(b"a"),
                lambda: list(scan),
                lambda: keyspace.put(b"child", b"1"),
                lambda: batch.write(),
                lambda: self.db.transaction(),
            ]
            outcomes = []
            for call in calls:
                try:
                    call()
                    outcomes.append("no error")
                except mergedb_kv.ForkedError:
                    outcomes.append("forked")
            self.db.close()
            return " ".join(outcomes)

        self.assertEqual(self.in_child(child), " ".join(["forked"] * 10))
        self.db[b"parent"] = b"1"
        self.assertNotIn(b"child", self.db)
        self.db.check_integrity()
        self.db.close()
        self.assertEqual(mergedb_kv.verify(self.path).damages, [])

    def test_a_child_may_open_its_own_database(self):
        def child():
            with mergedb_kv.open(self.path + "-child") as db:
                db[b"a"] = b"1"
            return "done"

        self.assertEqual(self.in_child(child), "done")
        with mergedb_kv.open(self.path + "-child") as db:
            self.assertEqual(db[b"a"], b"1")

    def test_children_of_a_pool_end_without_harm(self):
        self.fill(100)
        context = multiprocessing.get_context("fork")
        with context.Pool(2) as pool:
            self.assertEqual(pool.map(abs, [-1, -2]), [1, 2])
        self.db[b"a"] = b"1"
        self.assertEqual(len(self.db), 101)


class ExitTest(DatabaseCase):
    def run_script(self, script):
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
        return subprocess.run(
            [sys.executable, "-c", script, self.path + "2"], env=environment, capture_output=True, text=True, timeout=120
        )

    def test_the_end_of_the_interpreter_closes_the_database(self):
        done = self.run_script(
            "import mergedb_kv, sys\n"
            "db = mergedb_kv.open(sys.argv[1], durability=mergedb_kv.Durability.NO_WAL)\n"
            "scan = iter(db); iterator = db.iterator(); transaction = db.transaction(mergedb_kv.TransactionKind.OPTIMISTIC)\n"
            "db[b'a'] = b'1'\n"
            "import ctypes; ctypes.pythonapi.Py_IncRef(ctypes.py_object(db))\n"  # no other way than atexit closes it
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with mergedb_kv.open(self.path + "2") as db:
            self.assertEqual(db[b"a"], b"1")

    def test_a_write_survives_kill(self):
        done = self.run_script(
            "import mergedb_kv, os, signal, sys\n"
            "db = mergedb_kv.open(sys.argv[1])\n"
            "db[b'a'] = b'1'\n"
            "os.kill(os.getpid(), signal.SIGKILL)\n"
        )
        self.assertEqual(done.returncode, -signal.SIGKILL)
        with mergedb_kv.open(self.path + "2") as db:
            self.assertEqual(db[b"a"], b"1")

    def test_a_database_without_references_is_closed(self):
        db = mergedb_kv.open(self.path + "2")
        scan = iter(db)
        del db
        with self.assertRaises(mergedb_kv.BusyError):
            mergedb_kv.open(self.path + "2")
        del scan
        mergedb_kv.open(self.path + "2").close()


if __name__ == "__main__":
    unittest.main()
