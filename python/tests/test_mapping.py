"""A database as a mapping: its methods, its order, its ranges, and its errors."""

import collections.abc
import os
import random
import unittest

import mergedb_kv
from support import DatabaseCase


class MappingTest(DatabaseCase):
    def test_set_get_delete(self):
        self.db[b"a"] = b"1"
        self.assertEqual(self.db[b"a"], b"1")
        self.assertIn(b"a", self.db)
        self.assertEqual(self.db.get(b"a"), b"1")
        del self.db[b"a"]
        self.assertNotIn(b"a", self.db)
        self.assertIsNone(self.db.get(b"a"))
        self.assertEqual(self.db.get(b"a", b"other"), b"other")

    def test_an_absent_key_is_a_key_error(self):
        with self.assertRaises(KeyError) as caught:
            self.db[b"absent"]
        self.assertEqual(caught.exception.args, (b"absent",))
        with self.assertRaises(KeyError):
            del self.db[b"absent"]
        self.db.delete(b"absent")

    def test_it_is_a_mutable_mapping(self):
        self.assertIsInstance(self.db, collections.abc.MutableMapping)
        self.assertFalse(self.db)
        self.db.update({b"b": b"2", b"a": b"1"})
        self.db.update([(b"c", b"3")])
        self.assertTrue(self.db)
        self.assertEqual(dict(self.db), {b"a": b"1", b"b": b"2", b"c": b"3"})
        self.assertEqual(self.db.pop(b"a"), b"1")
        self.assertEqual(self.db.pop(b"a", None), None)
        self.assertRaises(KeyError, self.db.pop, b"a")
        self.assertEqual(self.db.setdefault(b"b", b"x"), b"2")
        self.assertEqual(self.db.setdefault(b"d", b"4"), b"4")
        self.assertEqual(self.db.popitem(), (b"b", b"2"))
        self.assertEqual(len(self.db), 2)
        self.db.clear()
        self.assertEqual(list(self.db), [])
        self.assertRaises(KeyError, self.db.popitem)

    def test_keys_and_values_hold_any_bytes(self):
        for key in (b"", b"\0", b"\xff\xff", b"a\0b", os.urandom(1000)):
            for value in (b"", b"\0\0", os.urandom(100_000)):
                self.db[key] = value
                self.assertEqual(self.db[key], value)

    def test_bytes_like_arguments(self):
        self.db[bytearray(b"k")] = memoryview(b"value")
        self.assertEqual(self.db[memoryview(b"k")], b"value")
        for wrong in ("text", 1, None, [b"k"]):
            with self.subTest(wrong=wrong):
                self.assertRaises(TypeError, self.db.get, wrong)
                self.assertRaises(TypeError, self.db.put, b"k", wrong)
                self.assertRaises(TypeError, self.db.put, wrong, b"v")
                self.assertRaises(TypeError, self.db.__contains__, wrong)

    def test_iteration_is_in_key_order(self):
        self.fill(10)
        keys = [b"key%06d" % i for i in range(10)]
        self.assertEqual(list(self.db), keys)
        self.assertEqual(list(reversed(self.db)), keys[::-1])
        self.assertEqual(list(self.db.keys(reverse=True)), keys[::-1])
        self.assertEqual(list(reversed(self.db.keys())), keys[::-1])
        self.assertEqual(list(self.db.values())[3], b"value3")

    def test_ranges(self):
        for key in (b"a", b"b1", b"b2", b"c", b"\xff", b"\xff\xff"):
            self.db[key] = key.upper()
        self.assertEqual(list(self.db.keys(b"b", b"c")), [b"b1", b"b2"])
        self.assertEqual(list(self.db.keys(b"b2")), [b"b2", b"c", b"\xff", b"\xff\xff"])
        self.assertEqual(list(self.db.keys(None, b"b2", reverse=True)), [b"b1", b"a"])
        self.assertEqual(list(self.db.items(prefix=b"b")), [(b"b1", b"B1"), (b"b2", b"B2")])
        self.assertEqual(list(self.db.keys(prefix=b"\xff", reverse=True)), [b"\xff\xff", b"\xff"])
        self.assertEqual(list(self.db.keys(b"c", b"a")), [])
        self.assertEqual(list(self.db.keys(b"b2", prefix=b"b")), [b"b2"])

    def test_scans_of_many_blocks_equal_a_dict(self):
        seed = random.randrange(1 << 32)
        randomness = random.Random(seed)
        entries = {}
        for _ in range(3000):
            key = randomness.randbytes(randomness.randrange(20))
            entries[key] = randomness.randbytes(randomness.choice((0, 10, 500, 5_000)))
        entries[b"large"] = randomness.randbytes(300_000)
        self.db.update(entries)
        expected = sorted(entries.items())
        with self.subTest(seed=seed):
            self.assertEqual(list(self.db.items()), expected)
            self.assertEqual(list(self.db.items(reverse=True)), expected[::-1])
            self.assertEqual(list(self.db.values()), [value for _, value in expected])
            self.assertEqual(len(self.db), len(expected))

    def test_a_view_of_a_value(self):
        self.db[b"k"] = b"value" * 1000
        view = self.db.get_view(b"k")
        self.assertIsInstance(view, memoryview)
        self.assertTrue(view.readonly)
        self.db[b"k"] = b"other"
        self.db.close()
        self.assertEqual(view, b"value" * 1000)
        self.assertRaises(TypeError, view.__setitem__, 0, 1)

    def test_an_empty_view(self):
        self.db[b"k"] = b""
        self.assertEqual(bytes(self.db.get_view(b"k")), b"")
        self.assertIsNone(self.db.get_view(b"absent"))

    def test_get_many_reads_one_state(self):
        self.fill(3)
        self.assertEqual(self.db.get_many([b"key000002", b"x", b"key000000"]), [b"value2", None, b"value0"])
        self.assertEqual(self.db.get_many([]), [])


class OpenTest(DatabaseCase):
    def test_values_survive_a_close(self):
        self.fill()
        self.db.close()
        with mergedb_kv.open(self.path) as db:
            self.assertEqual(len(db), 100)
        self.assertTrue(db.closed)

    def test_a_second_open_is_busy(self):
        with self.assertRaises(mergedb_kv.BusyError):
            mergedb_kv.open(self.path)

    def test_modes(self):
        with self.assertRaises(mergedb_kv.NotFoundError) as caught:
            mergedb_kv.open(self.path + "2", mode=mergedb_kv.Mode.MUST_EXIST)
        self.assertIsInstance(caught.exception, KeyError)
        self.db.close()
        with self.assertRaises(mergedb_kv.InvalidArgumentError):
            mergedb_kv.open(self.path, mode=mergedb_kv.Mode.MUST_NOT_EXIST)
        with mergedb_kv.open(self.path, mode=mergedb_kv.Mode.READ_ONLY) as db:
            with self.assertRaises(mergedb_kv.NotSupportedError):
                db[b"a"] = b"1"

    def test_options(self):
        path = self.path + "3"
        with mergedb_kv.open(
            path,
            style=mergedb_kv.Style.CASCADE,
            compression=mergedb_kv.Compression.ZSTD,
            memory_bytes=32 << 20,
            write_buffer_bytes=1 << 20,
            bloom_bits_per_key=0,
            blob_value_bytes_min=0,
            wal_sync_interval_ms=0,
            mapped_read_bytes_max=1 << 20,
            use_mapped_wal_buffer=False,
            durability=mergedb_kv.Durability.SYNCED,
        ) as db:
            self.assertIs(db.durability, mergedb_kv.Durability.SYNCED)
            db[b"a"] = b"1"
        self.assertRaises(TypeError, mergedb_kv.open, path, no_such_option=1)
        self.assertRaises(TypeError, mergedb_kv.open, path, memory_bytes="1")
        self.assertRaises(ValueError, mergedb_kv.open, path, memory_bytes=-1)
        self.assertRaises(ValueError, mergedb_kv.open, path, memory_bytes=1 << 63)
        self.assertRaises(ValueError, mergedb_kv.open, path, open_tables_max=(1 << 32) + 100)
        self.assertRaises(TypeError, mergedb_kv.open, 12)
        self.assertRaises(ValueError, mergedb_kv.open, "a\0b")
        self.assertRaises(mergedb_kv.InvalidArgumentError, mergedb_kv.open, path, block_bytes=1)

    def test_use_after_close_raises(self):
        self.fill()
        scan, iterator, snapshot, batch = iter(self.db), self.db.iterator(), self.db.snapshot(), self.db.batch()
        next(scan)
        iterator.seek_to_first()
        keyspace = self.db.create_keyspace(b"k")
        transaction = self.db.transaction()
        self.db.close()
        self.db.close()
        batch.put(b"a", b"1")
        for call in (
            lambda: self.db[b"a"],
            lambda: self.db.put(b"a", b"1"),
            lambda: self.db.flush(),
            lambda: self.db.property("mergedb.stats"),
            lambda: list(self.db),
            lambda: next(scan),
            lambda: iterator.next(),
            lambda: iterator.key,
            lambda: snapshot.get(b"a"),
            lambda: keyspace.get(b"a"),
            lambda: transaction.get(b"a"),
            lambda: batch.write(),
            lambda: self.db.snapshot(),
            lambda: self.db.transaction(),
        ):
            self.assertRaises(mergedb_kv.ClosedError, call)
        transaction.rollback()

    def test_every_error_is_an_error(self):
        for name in mergedb_kv.__all__:
            if name.endswith("Error") and name != "Error":
                self.assertTrue(issubclass(getattr(mergedb_kv, name), mergedb_kv.Error), name)
        self.assertTrue(issubclass(mergedb_kv.NotFoundError, KeyError))
        self.assertTrue(issubclass(mergedb_kv.StorageError, OSError))

    def test_damage_is_a_corruption_error_and_can_be_repaired(self):
        self.fill(5000)
        self.db.flush()
        self.db.close()
        [table] = [name for name in os.listdir(self.path) if name.endswith(".tbl")]
        with open(os.path.join(self.path, table), "r+b") as file:
            file.seek(2000)
            file.write(b"damage")
        with mergedb_kv.open(self.path) as db:
            self.assertRaises(mergedb_kv.CorruptionError, lambda: list(db))
            self.assertRaises(mergedb_kv.CorruptionError, db.check_integrity)
        self.assertEqual(len(mergedb_kv.verify(self.path).damages), 1)
        self.assertEqual(len(mergedb_kv.repair(self.path, dry_run=True).losses), 1)
        mergedb_kv.repair(self.path)
        with mergedb_kv.open(self.path) as db:
            self.assertGreater(len(db), 0)
        mergedb_kv.destroy(self.path)
        self.assertFalse(os.path.exists(os.path.join(self.path, "CURRENT")))  # `lost` stays
        self.assertRaises(mergedb_kv.NotFoundError, mergedb_kv.destroy, self.path)

    def test_maintenance(self):
        self.fill(1000)
        self.db.flush()
        self.db.sync()
        self.db.compact()
        self.db.compact(b"a", b"b")
        self.db.wait_for_compaction()
        self.db.check_integrity()
        self.assertIn(b"flush", self.db.property("mergedb.counters"))
        self.assertIsNone(self.db.property("no such property"))
        [size] = self.db.approximate_sizes([(b"", b"z")])
        self.assertGreater(size, 1000)
        copy = os.path.join(self.directory, "copy")
        self.db.checkpoint(copy)
        with mergedb_kv.open(copy) as db:
            self.assertEqual(len(db), 1000)


if __name__ == "__main__":
    unittest.main()
