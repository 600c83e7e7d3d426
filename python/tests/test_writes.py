"""Batches, snapshots, iterators, merges, keyspaces, transactions and comparators."""

import struct
import unittest

import mergedb_kv
from mergedb_kv import merge
from mergedb_kv import TransactionKind
from support import DatabaseCase


class BatchTest(DatabaseCase):
    def test_a_batch_is_written_at_the_end_of_its_block(self):
        self.db[b"old"] = b"1"
        with self.db.batch(durability=mergedb_kv.Durability.SYNCED) as batch:
            batch[b"new"] = b"2"
            del batch[b"old"]
            batch.merge(b"count", merge.add_u64(3))
            self.assertEqual(len(batch), 3)
            self.assertGreater(batch.bytes, 10)
            self.assertNotIn(b"new", self.db)
        self.assertEqual(dict(self.db), {b"new": b"2", b"count": struct.pack("<Q", 3)})

    def test_an_exception_discards_the_batch(self):
        with self.assertRaises(ZeroDivisionError):
            with self.db.batch() as batch:
                batch[b"a"] = b"1"
                1 // 0
        self.assertEqual(list(self.db), [])

    def test_append_clear_and_a_second_write(self):
        first, second = self.db.batch(), self.db.batch()
        first[b"a"] = b"1"
        second[b"b"] = b"2"
        first.append(second)
        first.write()
        self.db.clear()
        first.write(mergedb_kv.Durability.SYNCED)
        self.assertEqual(list(self.db), [b"a", b"b"])
        first.clear()
        self.assertEqual(len(first), 0)

    def test_one_batch_for_several_keyspaces(self):
        users = self.db.create_keyspace(b"users")
        with users.batch() as batch:
            batch[b"a"] = b"users"
            batch.put(b"b", b"users too", keyspace=users)
        with self.db.batch() as batch:
            batch[b"a"] = b"default"
            batch.put(b"c", b"users again", keyspace=users)
            batch.append(users.batch())
            batch.merge(b"e", merge.put(b"5"), keyspace=users)
            batch.delete(b"a", keyspace=users)
            batch[b"d"] = b"default"
        self.assertEqual(list(users), [b"b", b"c", b"e"])
        self.assertEqual(list(self.db), [b"a", b"d"])

    def test_delete_range_and_prefix(self):
        self.fill(10)
        self.db.delete_range(b"key000002", b"key000005")
        self.assertEqual(len(self.db), 7)
        with self.db.batch() as batch:
            batch.delete_range(b"key000005", b"key000007")
        self.assertEqual(len(self.db), 5)
        self.db.delete_prefix(b"key")
        self.assertEqual(len(self.db), 0)
        self.assertRaises(mergedb_kv.InvalidArgumentError, self.db.delete_range, b"b", b"a")


class SnapshotTest(DatabaseCase):
    def test_a_snapshot_keeps_its_state(self):
        keyspace = self.db.create_keyspace(b"k")
        self.db[b"a"], keyspace[b"a"] = b"1", b"in k"
        with self.db.snapshot() as snapshot:
            self.db[b"a"] = keyspace[b"a"] = b"2"
            self.db[b"b"] = b"3"
            self.assertEqual(dict(snapshot), {b"a": b"1"})
            self.assertEqual(len(snapshot), 1)
            self.assertEqual(snapshot.keyspace(keyspace)[b"a"], b"in k")
            self.assertEqual(snapshot.get_view(b"a"), b"1")
        self.assertRaises(mergedb_kv.ClosedError, snapshot.get, b"a")
        self.assertRaises(mergedb_kv.ClosedError, iter, snapshot)
        snapshot.close()


class IteratorTest(DatabaseCase):
    def test_moves_in_both_directions(self):
        for key in (b"b", b"d", b"f"):
            self.db[key] = key * 2
        with self.db.iterator() as it:
            self.assertFalse(it.valid)
            self.assertTrue(it.seek_to_first())
            self.assertEqual(it.entry(), (b"b", b"bb"))
            self.assertTrue(it.next())
            self.assertTrue(it.next())
            self.assertFalse(it.next())
            self.assertRaises(mergedb_kv.NotFoundError, lambda: it.key)
            self.assertTrue(it.seek(b"c"))
            self.assertEqual(it.key, b"d")
            self.assertTrue(it.prev())
            self.assertEqual(it.value, b"bb")
            self.assertTrue(it.seek_for_prev(b"e"))
            self.assertEqual(it.key, b"d")
            self.assertTrue(it.seek_to_last())
            self.assertEqual(it.key, b"f")
            self.assertFalse(it.seek(b"g"))
            self.assertIsNone(it.failed_key)
        self.assertRaises(mergedb_kv.ClosedError, it.next)
        it.close()

    def test_bounds(self):
        self.fill(10)
        with self.db.iterator(b"key000002", b"key000005", keys_only=True) as it:
            it.seek_to_last()
            self.assertEqual(it.entry(), (b"key000004", b""))
            self.assertTrue(it.seek(b"a"))
            self.assertEqual(it.key, b"key000002")

    def test_a_failed_key(self):
        self.db.update({b"a": b"1", b"b": b"three", b"c": b"2"})
        self.db.merge(b"b", merge.add_u64(1))
        self.assertRaises(mergedb_kv.MergeError, self.db.get, b"b")
        self.assertRaises(mergedb_kv.MergeError, lambda: list(self.db.items()))
        with self.db.iterator() as it:
            it.seek_to_first()
            self.assertRaises(mergedb_kv.MergeError, it.next)
            self.assertEqual(it.failed_key, b"b")
            self.assertTrue(it.next())
            self.assertEqual(it.key, b"c")


class MergeTest(DatabaseCase):
    def test_every_type(self):
        def merged(*operands, base=None):
            self.db.delete(b"k")
            if base is not None:
                self.db[b"k"] = base
            for operand in operands:
                self.db.merge(b"k", operand)
            return self.db[b"k"]

        self.assertEqual(merge.to_u64(merged(merge.add_u64(2), merge.add_u64(3))), 5)
        self.assertEqual(merge.to_i64(merged(merge.add_i64(-2), merge.add_i64(1))), -1)
        self.assertEqual(merge.to_f64(merged(merge.add_f64(0.5), merge.add_f64(0.25))), 0.75)
        self.assertEqual(merge.to_u64(merged(merge.max_u64(2), merge.max_u64(3))), 3)
        self.assertEqual(merge.to_i64(merged(merge.max_i64(-2), merge.max_i64(-3))), -2)
        self.assertEqual(merge.to_f64(merged(merge.max_f64(-2), merge.max_f64(-3))), -2)
        self.assertEqual(merge.to_u64(merged(merge.min_u64(2), merge.min_u64(3))), 2)
        self.assertEqual(merge.to_i64(merged(merge.min_i64(-2), merge.min_i64(-3))), -3)
        self.assertEqual(merge.to_f64(merged(merge.min_f64(-2), merge.min_f64(-3))), -3)
        self.assertEqual(merged(merge.max_bytes(b"a"), merge.max_bytes(b"b")), b"b")
        self.assertEqual(merged(merge.min_bytes(b"a"), merge.min_bytes(b"b")), b"a")
        self.assertEqual(merged(merge.and_(b"\x0f"), base=b"\x3c"), b"\x0c")
        self.assertEqual(merged(merge.or_(b"\x0f"), base=b"\x3c"), b"\x3f")
        self.assertEqual(merged(merge.xor(b"\x0f"), base=b"\x3c"), b"\x33")
        self.assertEqual(merged(merge.append(b"x"), merge.append(b"y", delimiter=b",")), b"x,y")
        self.assertEqual(merged(merge.append(b"abc"), merge.append(b"d", cap_bytes=2)), b"cd")
        self.assertEqual(merged(merge.append(b"abc"), merge.append(b"d", cap_bytes=2, keep_oldest=True)), b"ab")
        self.assertIn(b"y", merged(merge.first(2, b"x"), merge.first(1, b"y")))
        self.assertIn(b"x", merged(merge.last(2, b"x"), merge.last(1, b"y")))
        self.assertEqual(merged(merge.json_patch(b'{"a": 1}'), merge.json_patch(b'{"b": 2}')), b'{"a":1,"b":2}')
        self.assertEqual(merged(merge.put(b"z"), base=b"y"), b"z")
        self.assertEqual(merged(merge.named("stringappend", b"a"), merge.named("stringappend", b"b")), b"a,b")

    def test_an_overflow_that_fails(self):
        largest = (1 << 63) - 1
        self.db.merge(b"k", merge.add_i64(largest))
        self.db.merge(b"k", merge.add_i64(largest))
        self.assertEqual(merge.to_i64(self.db[b"k"]), largest)
        self.db.delete(b"k")
        self.db.merge(b"k", merge.add_i64(largest, fail_on_overflow=True))
        self.db.merge(b"k", merge.add_i64(largest, fail_on_overflow=True))
        self.assertRaises(mergedb_kv.MergeError, self.db.get, b"k")

    def test_wrong_operands(self):
        self.assertRaises(mergedb_kv.InvalidArgumentError, self.db.merge, b"k", b"no operand")
        self.assertRaises(TypeError, merge.add_u64, -1)
        self.assertRaises(TypeError, merge.add_u64, 1 << 64)
        self.assertRaises(ValueError, merge.to_u64, b"123")


class KeyspaceTest(DatabaseCase):
    def test_keyspaces(self):
        users = self.db.create_keyspace(b"users")
        users[b"alice"] = b"1"
        self.db[b"alice"] = b"2"
        self.assertEqual(users[b"alice"], b"1")
        self.assertEqual(self.db.open_keyspace(b"users")[b"alice"], b"1")
        self.assertEqual(self.db.create_keyspace(b"users", exist_ok=True)[b"alice"], b"1")
        self.assertRaises(mergedb_kv.InvalidArgumentError, self.db.create_keyspace, b"users")
        self.assertRaises(mergedb_kv.NotFoundError, self.db.open_keyspace, b"absent")
        self.assertEqual(self.db.keyspaces(), [b"users"])
        users.clear()
        self.assertEqual(len(users), 0)
        self.assertEqual(len(self.db), 1)
        self.db.drop_keyspace(b"users")
        self.assertEqual(self.db.keyspaces(), [])
        self.assertRaises(mergedb_kv.InvalidArgumentError, users.put, b"a", b"1")

    def test_a_keyspace_keeps_its_database_open(self):
        self.db.close()
        users = mergedb_kv.open(self.path).create_keyspace(b"users")
        users[b"a"] = b"1"
        self.assertEqual(users[b"a"], b"1")


class TransactionTest(DatabaseCase):
    def test_a_transaction_commits_at_the_end_of_its_block(self):
        with self.db.transaction(name="test") as transaction:
            transaction[b"a"] = b"1"
            transaction.merge(b"n", merge.add_u64(1))
            self.assertEqual(transaction[b"a"], b"1")
            self.assertIn(b"a", transaction)
            self.assertNotIn(b"a", self.db)
            self.assertIn(b"test", self.db.property("mergedb.transactions"))
            del transaction[b"n"]
            with self.assertRaises(KeyError):
                transaction[b"absent"]
        self.assertEqual(dict(self.db), {b"a": b"1"})
        self.assertFalse(transaction.is_open)
        self.assertRaises(mergedb_kv.AbortedError, transaction.put, b"a", b"2")

    def test_an_exception_rolls_back(self):
        with self.assertRaises(ZeroDivisionError):
            with self.db.transaction() as transaction:
                transaction[b"a"] = b"1"
                1 // 0
        self.assertNotIn(b"a", self.db)

    def test_optimistic_transactions_conflict(self):
        self.db[b"a"] = b"1"
        transaction = self.db.transaction(TransactionKind.OPTIMISTIC)
        self.assertEqual(transaction.get(b"a"), b"1")
        transaction[b"b"] = b"2"
        self.db[b"a"] = b"3"
        with self.assertRaises(mergedb_kv.ConflictError) as caught:
            transaction.commit()
        self.assertEqual(caught.exception.key, b"a")
        self.assertNotIn(b"b", self.db)

    def test_a_single_writer_excludes_others(self):
        with self.db.transaction():
            self.assertRaises(mergedb_kv.BusyError, self.db.transaction, timeout=0.01)
            self.assertRaises(mergedb_kv.BusyError, self.db.put, b"a", b"1")

    def test_read_only_transactions(self):
        self.db[b"a"] = b"1"
        with self.db.transaction(TransactionKind.READ_ONLY) as transaction:
            self.db[b"a"] = b"2"
            self.assertEqual(transaction[b"a"], b"1")
            self.assertRaises(mergedb_kv.NotSupportedError, transaction.put, b"a", b"3")

    def test_savepoints(self):
        with self.db.transaction() as transaction:
            transaction[b"a"] = b"1"
            transaction.set_savepoint()
            transaction[b"a"] = b"2"
            transaction.rollback_to_savepoint()
            transaction.set_savepoint()
            transaction[b"b"] = b"3"
            transaction.release_savepoint()
            self.assertRaises(mergedb_kv.InvalidArgumentError, transaction.release_savepoint)
        self.assertEqual(dict(self.db), {b"a": b"1", b"b": b"3"})

    def test_cursors(self):
        self.fill(5)
        users = self.db.create_keyspace(b"users")
        with self.db.transaction() as transaction:
            cursor = transaction.cursor()
            self.assertRaises(mergedb_kv.NotFoundError, lambda: cursor.key)
            self.assertTrue(cursor.first())
            self.assertEqual(cursor.entry(), (b"key000000", b"value0"))
            cursor.put(b"changed")
            self.assertTrue(cursor.current())
            self.assertEqual(cursor.value, b"changed")
            self.assertTrue(cursor.next())
            cursor.delete()
            self.assertTrue(cursor.next())
            self.assertEqual(cursor.key, b"key000002")
            self.assertTrue(cursor.last())
            self.assertTrue(cursor.prev())
            self.assertEqual(cursor.key, b"key000003")
            self.assertFalse(cursor.seek_exact(b"key000001"))
            self.assertTrue(cursor.seek(b"key000001"))
            self.assertTrue(cursor.seek_for_prev(b"key000001"))
            self.assertEqual(cursor.key, b"key000000")
            transaction.put(b"u", b"1", keyspace=users)
            other = transaction.cursor(keyspace=users)
            self.assertTrue(other.first())
            self.assertEqual(other.key, b"u")
            transaction.delete_range(b"key000003", b"key000005")
        self.assertEqual(list(self.db), [b"key000000", b"key000002"])
        self.assertRaises(mergedb_kv.AbortedError, cursor.next)


class ComparatorTest(DatabaseCase):
    def open_with(self, order):
        return mergedb_kv.open(self.path + "2", comparator=order, comparator_name=b"test.order")

    def test_an_order_of_the_program(self):
        with self.open_with(lambda a, b: (a < b) - (a > b)) as db:
            db.update({b"a": b"1", b"c": b"3", b"b": b"2"})
            db.flush()
            db.compact()
            self.assertEqual(list(db), [b"c", b"b", b"a"])
            self.assertEqual(db[b"b"], b"2")
        self.assertRaises(mergedb_kv.InvalidArgumentError, mergedb_kv.open, self.path + "2")

    def test_a_database_whose_order_raises_refuses_all_calls(self):
        def order(a, b):
            raise ZeroDivisionError

        import sys

        hook, sys.unraisablehook = sys.unraisablehook, lambda args: None
        self.addCleanup(setattr, sys, "unraisablehook", hook)
        db = self.open_with(order)
        with self.assertRaises(mergedb_kv.InvalidArgumentError):
            for key in (b"a", b"b", b"c"):
                db[key] = b"1"
            list(db)
            db[b"a"]
        self.assertRaises(mergedb_kv.InvalidArgumentError, db.get, b"a")
        db.close()

    def test_wrong_comparators(self):
        self.assertRaises(ValueError, mergedb_kv.open, self.path + "2", comparator=min)
        self.assertRaises(TypeError, mergedb_kv.open, self.path + "2", comparator=1, comparator_name=b"x")


if __name__ == "__main__":
    unittest.main()
