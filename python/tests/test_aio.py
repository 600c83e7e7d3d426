"""mergedb_kv.aio: the calls do what those of mergedb_kv do, and none blocks the event loop.

A call waits for a single writer that the test holds. While it waits, the loop counts its own turns. If the loop were
blocked, a watchdog would end the transaction after a minute, and the test would fail instead of waiting forever.
"""

import asyncio
import gc
import logging
import os
import shutil
import tempfile
import threading
import unittest

import mergedb_kv
from mergedb_kv import aio, merge
from support import Gate

TURNS = 20


class AioCase(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.directory = tempfile.mkdtemp(prefix="mergedb-kv-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.path = os.path.join(self.directory, "db")
        self.db = await aio.open(self.path)
        self.addAsyncCleanup(self.db.close)

    async def turns(self, task):
        """Lets the loop run while the task waits."""
        for _ in range(TURNS):
            self.assertFalse(task.done())
            await asyncio.sleep(0.002)

    def watch(self, transaction):
        """Returns an event that says that the watchdog ended the transaction."""
        fired = threading.Event()

        def end():
            fired.set()
            transaction.rollback()

        watchdog = threading.Timer(60, end)
        watchdog.start()
        self.addCleanup(watchdog.cancel)
        return fired

    def single_writer(self):
        """A transaction that every write waits for, and its watchdog."""
        transaction = self.db.blocking.transaction()
        return transaction, self.watch(transaction)


class LoopTest(AioCase):
    async def test_the_loop_runs_while_a_call_waits(self):
        async def batch():
            async with self.db.batch() as written:
                written[b"batch"] = b"1"

        async def transaction():
            async with self.db.transaction() as begun:
                await begun.put(b"transaction", b"1")

        calls = {
            b"put": lambda: self.db.put(b"put", b"1"),
            b"merge": lambda: self.db.merge(b"merge", merge.append(b"1")),
            b"update": lambda: self.db.update({b"update": b"1"}),
            b"batch": batch,
            b"transaction": transaction,
            b"run": lambda: self.db.run(lambda db: db.put(b"run", b"1")),
        }
        for key, call in calls.items():
            held, fired = self.single_writer()
            task = asyncio.ensure_future(call())
            await self.turns(task)
            held.commit()
            await task
            self.assertFalse(fired.is_set(), key)
            self.assertEqual(await self.db.get(key), b"1")

    async def test_reads_and_the_commit_do_not_wait_for_writes_that_wait(self):
        await self.db.put(b"a", b"1")
        async with self.db.transaction() as transaction:
            fired = self.watch(transaction.blocking)
            writes = [asyncio.ensure_future(self.db.put(b"w%d" % i, b"1")) for i in range(3 * aio.THREADS)]
            await asyncio.sleep(0.02)
            self.assertEqual(await asyncio.wait_for(self.db.get(b"a"), 60), b"1")
            self.assertEqual([key async for key in self.db], [b"a"])
            await transaction.put(b"t", b"1")
            self.assertFalse(any(write.done() for write in writes))
        await asyncio.gather(*writes)
        self.assertFalse(fired.is_set())
        self.assertEqual(await self.db.count(), 2 + len(writes))

    async def test_the_loop_runs_during_open_and_close(self):
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        ticking = asyncio.ensure_future(tick())
        for _ in range(3):
            before = ticks
            async with aio.open(self.path + "2") as db:
                await db.put(b"a", b"1")
            self.assertGreater(ticks, before)
        ticking.cancel()


class CallTest(AioCase):
    async def test_reads_and_writes(self):
        db = self.db
        await db.put(b"a", b"1", durability=mergedb_kv.Durability.SYNCED)
        await db.update({b"b": b"2", b"c": b"3"})
        self.assertEqual(await db.get(b"a"), b"1")
        self.assertEqual(await db.get(b"x", b"none"), b"none")
        self.assertEqual(await db.get_many(iter([b"c", b"x"])), [b"3", None])
        self.assertEqual([await db.contains(b"a"), await db.contains(b"x")], [True, False])
        await db.delete(b"a")
        await db.delete_range(b"b", b"c")
        self.assertEqual([item async for item in db.items()], [(b"c", b"3")])
        await db.delete_prefix(b"c")
        self.assertEqual(await db.count(), 0)
        await db.merge(b"n", merge.add_u64(2))
        self.assertEqual(merge.to_u64(await db.get(b"n")), 2)
        await db.clear()
        self.assertEqual(await db.count(), 0)
        await db.flush()
        await db.compact()
        await db.sync()
        await db.wait_for_compaction()
        await db.checkpoint(self.path + "-copy")
        self.assertTrue(os.path.exists(self.path + "-copy"))

    async def test_iteration_over_many_blocks(self):
        expected = [(b"key%06d" % i, b"v" * (i % 300)) for i in range(3000)]
        await self.db.update(expected)
        self.assertEqual([item async for item in self.db.items()], expected)
        self.assertEqual([item async for item in self.db.items(reverse=True)], expected[::-1])
        self.assertEqual([key async for key in self.db.keys(b"key000010", b"key000013")], [b"key0000%d" % i for i in (10, 11, 12)])
        self.assertEqual([value async for value in self.db.values(prefix=b"key00000")], [b"v" * i for i in range(10)])
        await self.db.put(b"large", b"x" * 1_000_000)
        self.assertEqual([len(value) async for value in self.db.values(prefix=b"large")], [1_000_000])

    async def test_an_iteration_that_ends_early_closes_its_scan(self):
        await self.db.update([(b"%06d" % i, b"v" * 100) for i in range(3000)])
        entries = self.db.items().__aiter__()
        self.assertEqual((await entries.__anext__())[0], b"000000")
        await entries.aclose()
        with self.assertRaises(StopAsyncIteration):
            await entries.__anext__()

    async def test_an_iterator_moves_both_ways(self):
        await self.db.update({b"a": b"1", b"b": b"2", b"c": b"3"})
        async with self.db.iterator() as it:
            self.assertTrue(await it.seek(b"b"))
            self.assertEqual((it.key, it.value, it.entry()), (b"b", b"2", (b"b", b"2")))
            self.assertTrue(await it.next())
            self.assertFalse(await it.next())
            self.assertFalse(it.valid)
            self.assertTrue(await it.seek_to_last() and await it.prev())
            self.assertTrue(await it.seek_for_prev(b"az") and await it.seek_to_first())
            self.assertEqual(it.key, b"a")
        with self.assertRaises(mergedb_kv.ClosedError):
            await it.next()

    async def test_snapshots_keyspaces_and_batches(self):
        users = await self.db.create_keyspace(b"users")
        self.assertEqual((users.name, await self.db.keyspaces()), (b"users", [b"users"]))
        async with self.db.batch() as batch:
            batch[b"a"] = b"1"
            batch.put(b"u", b"2", keyspace=users)
        async with self.db.snapshot() as snapshot:
            await users.put(b"u", b"3")
            self.assertEqual(await snapshot.keyspace(users).get(b"u"), b"2")
        self.assertEqual(await (await self.db.open_keyspace(b"users")).get(b"u"), b"3")
        with self.assertRaises(mergedb_kv.ClosedError):
            await snapshot.get(b"a")
        with self.assertRaises(ZeroDivisionError):
            async with self.db.batch() as batch:
                batch[b"a"] = b"2"
                1 / 0
        self.assertEqual(await self.db.get(b"a"), b"1")
        await self.db.drop_keyspace(users)
        self.assertEqual(await self.db.keyspaces(), [])

    async def test_transactions(self):
        async with self.db.transaction() as t:
            await t.put(b"a", b"1")
            self.assertEqual(await t.get(b"a"), b"1")
            self.assertEqual(await t.run(lambda blocking: [key for key in (b"a", b"b") if key in blocking]), [b"a"])
        self.assertFalse(t.is_open)
        with self.assertRaises(mergedb_kv.AbortedError):
            await t.put(b"a", b"2")
        with self.assertRaises(ZeroDivisionError):
            async with self.db.transaction() as t:
                await t.delete(b"a")
                1 / 0
        self.assertEqual(await self.db.get(b"a"), b"1")
        optimistic = await self.db.transaction(mergedb_kv.TransactionKind.OPTIMISTIC)
        await optimistic.get(b"a")
        await self.db.put(b"a", b"2")
        await optimistic.put(b"a", b"3")
        with self.assertRaises(mergedb_kv.ConflictError) as raised:
            await optimistic.commit()
        self.assertEqual(raised.exception.key, b"a")
        await optimistic.rollback()

    async def test_tasks_that_count_in_transactions(self):
        async def add():
            async with self.db.transaction() as t:
                await t.put(b"n", b"%d" % (int(await t.get(b"n", b"0")) + 1))

        await asyncio.gather(*(add() for _ in range(30)))
        self.assertEqual(await self.db.get(b"n"), b"30")

    async def test_after_close(self):
        snapshot, entries = await self.db.snapshot(), self.db.items()
        await self.db.close()
        await self.db.close()
        self.assertTrue(self.db.closed)
        for call in (
            lambda: self.db.get(b"a"),
            lambda: self.db.put(b"a", b"1"),
            lambda: snapshot.get(b"a"),
            lambda: self.db.flush(),
            lambda: entries.__aiter__().__anext__(),
        ):
            with self.assertRaises(mergedb_kv.ClosedError):
                await call()
        for opening in (self.db.transaction(), self.db.snapshot(), self.db.iterator()):
            with self.assertRaises(mergedb_kv.ClosedError):
                await opening


class OwnTransactionTest(AioCase):
    """Calls of a task that has a single writer open. Each would wait for the task itself."""

    async def writes(self):
        keyspace = await self.db.create_keyspace(b"k", exist_ok=True)

        async def batch():
            async with self.db.batch() as written:
                written[b"x"] = b"1"

        async def optimistic():
            async with self.db.transaction(mergedb_kv.TransactionKind.OPTIMISTIC) as t:
                await t.put(b"x", b"1")

        calls = {"batch": batch, "optimistic": optimistic, "nested": lambda: self.db.transaction().__aenter__()}
        for name, store in (("db", self.db), ("keyspace", keyspace)):
            calls |= {
                f"{name}.put": lambda store=store: store.put(b"x", b"1"),
                f"{name}.delete": lambda store=store: store.delete(b"a"),
                f"{name}.delete_range": lambda store=store: store.delete_range(b"a", b"z"),
                f"{name}.delete_prefix": lambda store=store: store.delete_prefix(b"a"),
                f"{name}.merge": lambda store=store: store.merge(b"x", merge.append(b"1")),
                f"{name}.update": lambda store=store: store.update({b"x": b"1"}),
                f"{name}.run": lambda store=store: store.run(lambda blocking: blocking.put(b"x", b"1")),
            }
        calls["keyspace.clear"] = keyspace.clear
        calls["db.clear"] = self.db.clear
        calls["drop_keyspace"] = lambda: self.db.drop_keyspace(keyspace)
        calls["create_keyspace"] = lambda: self.db.create_keyspace(b"another")
        return calls

    async def test_a_write_beside_the_own_transaction_is_busy(self):
        await self.db.put(b"a", b"1")
        calls = await self.writes()
        async with self.db.transaction() as transaction:
            fired = self.watch(transaction.blocking)
            for name, call in calls.items():
                with self.subTest(name):
                    with self.assertRaisesRegex(mergedb_kv.BusyError, "this thread uses the transaction"):
                        await call()
            # Reads, and everything that waits for no writer, work.
            self.assertEqual(await self.db.get(b"a"), b"1")
            self.assertEqual(await self.db.run(lambda blocking: blocking[b"a"]), b"1")
            self.assertEqual([key async for key in self.db], [b"a"])
            self.assertEqual(await self.db.keyspaces(), [b"k"])
            async with self.db.transaction(mergedb_kv.TransactionKind.READ_ONLY) as reader:
                self.assertEqual(await reader.get(b"a"), b"1")
            await self.db.flush()
            await transaction.put(b"b", b"2")
        self.assertFalse(fired.is_set())
        self.assertEqual([item async for item in self.db.items()], [(b"a", b"1"), (b"b", b"2")])
        await self.db.put(b"c", b"3")
        async with self.db.transaction() as transaction:
            await transaction.put(b"d", b"4")
        self.assertEqual(await self.db.count(), 4)

    async def test_a_task_of_the_block_waits_for_its_end(self):
        async with self.db.transaction() as transaction:
            fired = self.watch(transaction.blocking)
            child = asyncio.ensure_future(self.db.put(b"child", b"1"))
            await self.turns(child)
            await transaction.put(b"a", b"1")
        await child
        self.assertFalse(fired.is_set())
        self.assertEqual(await self.db.count(), 2)

    async def test_a_task_that_the_block_awaits_is_named_in_a_warning(self):
        self.addCleanup(setattr, aio, "WARN_SECONDS", aio.WARN_SECONDS)
        aio.WARN_SECONDS = 0.01
        warned = asyncio.Event()
        loop = asyncio.get_running_loop()
        handler = logging.Handler()
        handler.emit = lambda record: loop.call_soon(warned.set)
        logger = logging.getLogger("mergedb_kv.aio")
        logger.addHandler(handler)
        logger.propagate = False
        self.addCleanup(setattr, logger, "propagate", True)
        self.addCleanup(logger.removeHandler, handler)
        async with self.db.transaction() as transaction:
            fired = self.watch(transaction.blocking)
            child = asyncio.ensure_future(self.db.put(b"child", b"1"))
            await warned.wait()
            self.assertFalse(child.done())
        await child
        self.assertFalse(fired.is_set())

    async def test_another_task_waits_without_a_warning(self):
        begun, done = asyncio.Event(), asyncio.Event()

        async def hold():
            async with self.db.transaction() as transaction:
                self.fired = self.watch(transaction.blocking)
                begun.set()
                await done.wait()
                await transaction.put(b"a", b"1")

        holder = asyncio.ensure_future(hold())
        await begun.wait()
        writes = [asyncio.ensure_future(self.db.put(b"%d" % i, b"1")) for i in range(3 * aio.THREADS)]
        await self.turns(writes[0])
        done.set()
        await asyncio.gather(holder, *writes)
        self.assertFalse(self.fired.is_set())
        self.assertEqual(await self.db.count(), 1 + len(writes))

    async def test_a_close_inside_of_the_block(self):
        with self.assertRaises(mergedb_kv.Error):
            async with self.db.transaction() as transaction:
                fired = self.watch(transaction.blocking)
                await transaction.put(b"a", b"1")
                await self.db.close()
        self.assertFalse(fired.is_set())
        async with aio.open(self.path) as db:
            self.assertIsNone(await db.get(b"a"))


class CancelTest(AioCase):
    async def test_a_single_writer_that_was_cancelled_while_it_waited_holds_nothing(self):
        held, fired = self.single_writer()
        waiting = asyncio.ensure_future(self.db.transaction().__aenter__())
        await self.turns(waiting)
        waiting.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await waiting
        held.commit()
        async with self.db.transaction(timeout=60) as transaction:
            await transaction.put(b"a", b"1")
        self.assertEqual(await self.db.get(b"a"), b"1")
        self.assertFalse(fired.is_set())

    async def test_a_cancelled_transaction_is_rolled_back(self):
        begun = asyncio.Event()

        async def work():
            async with self.db.transaction() as transaction:
                await transaction.put(b"a", b"1")
                begun.set()
                await asyncio.sleep(3600)

        task = asyncio.ensure_future(work())
        await begun.wait()
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        self.assertIsNone(await self.db.get(b"a"))
        await asyncio.wait_for(self.db.put(b"b", b"1"), 60)

    async def test_a_put_that_was_cancelled_writes_the_bytes_that_it_got(self):
        held, _ = self.single_writer()
        value = bytearray(b"1" * 100_000)
        putting = asyncio.ensure_future(self.db.put(b"a", value))
        await self.turns(putting)
        putting.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await putting
        value[:] = b"2" * len(value)
        held.rollback()
        while await self.db.get(b"a") is None:
            await asyncio.sleep(0.001)
        self.assertEqual(await self.db.get(b"a"), b"1" * 100_000)

    async def test_an_iterator_whose_move_was_cancelled_is_closed_at_the_end_of_its_block(self):
        gate = Gate()
        self.addCleanup(gate.open)
        async with aio.open(self.path + "2", comparator=gate, comparator_name=b"test.gate") as db:
            for key in (b"a", b"b", b"c"):
                await db.put(key, b"1")
            with self.assertRaises(asyncio.CancelledError):
                async with db.iterator() as iterator:
                    gate.shut()
                    seek = asyncio.ensure_future(iterator.seek(b"b"))
                    while not gate.reached.is_set():
                        await asyncio.sleep(0.001)
                    seek.cancel()
                    await seek
            gate.open()

    async def test_a_transaction_that_is_begun_in_another_task(self):
        for begin in (lambda: asyncio.wait_for(self.db.transaction(), 60), lambda: asyncio.gather(self.db.transaction())):
            begun = await begin()
            transaction = begun[0] if isinstance(begun, list) else begun
            fired = self.watch(transaction.blocking)
            async with transaction:
                with self.assertRaises(mergedb_kv.BusyError):
                    await self.db.put(b"a", b"1")
            self.assertFalse(fired.is_set())

    async def test_a_transaction_that_is_forgotten_is_rolled_back(self):
        async def forget(fails):
            transaction = await self.db.transaction()
            await transaction.put(b"a", b"1")
            if fails:
                raise ZeroDivisionError

        self.addCleanup(gc.enable)
        gc.disable()  # the end of the last reference ends it
        await forget(False)
        await asyncio.wait_for(self.db.put(b"b", b"1"), 60)
        task = asyncio.ensure_future(forget(True))
        await asyncio.wait([task])
        del task
        await asyncio.wait_for(self.db.put(b"b", b"2"), 60)
        self.assertIsNone(await self.db.get(b"a"))

    async def test_a_commit_that_was_cancelled_ends_the_transaction(self):
        gate = Gate()
        self.addCleanup(gate.open)
        async with aio.open(self.path + "2", comparator=gate, comparator_name=b"test.gate") as db:
            await db.put(b"b", b"1")
            with self.assertRaises(asyncio.CancelledError):
                async with db.transaction() as transaction:
                    await transaction.put(b"a", b"1")
                    gate.shut()
                    commit = asyncio.ensure_future(transaction.commit())
                    while not gate.reached.is_set():
                        await asyncio.sleep(0.001)
                    commit.cancel()
                    await commit
            self.assertFalse(transaction.is_open)
            with self.assertRaises(mergedb_kv.AbortedError):
                await transaction.put(b"c", b"1")
            await transaction.rollback()
            after = asyncio.ensure_future(db.put(b"c", b"1"))
            await self.turns(after)
            gate.open()
            await asyncio.wait_for(after, 60)
            self.assertEqual(await db.get(b"a"), b"1")

    async def test_a_commit_beside_a_call_of_a_thread_ends_the_transaction(self):
        gate = Gate()
        self.addCleanup(gate.open)
        async with aio.open(self.path + "2", comparator=gate, comparator_name=b"test.gate") as db:
            await db.put(b"b", b"1")
            transaction = await db.transaction()
            await transaction.put(b"a", b"1")
            gate.shut()
            thread = threading.Thread(target=lambda: transaction.blocking.get(b"b"))
            thread.start()
            self.addCleanup(thread.join)
            self.addCleanup(gate.open)
            while not gate.reached.is_set():
                await asyncio.sleep(0.001)
            with self.assertRaises(mergedb_kv.BusyError):
                await transaction.commit()
            self.assertFalse(transaction.is_open)
            gate.open()
            await asyncio.wait_for(db.put(b"c", b"1"), 60)
            self.assertIsNone(await db.get(b"a"))

    async def test_an_open_that_was_cancelled_leaves_the_directory_free(self):
        opening = asyncio.ensure_future(aio.open(self.path + "2").__aenter__())
        await asyncio.sleep(0)
        opening.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await opening
        while True:
            try:
                async with aio.open(self.path + "2") as db:
                    await db.put(b"a", b"1")
                break
            except mergedb_kv.BusyError:  # the thread of the cancelled open has not ended
                await asyncio.sleep(0.01)


if __name__ == "__main__":
    unittest.main()
