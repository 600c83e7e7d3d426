"""plyvel's interface: each class, and iterators in both directions against a list."""

import os
import random
import shutil
import tempfile
import unittest

import mergedb_kv.plyvel as plyvel


class PlyvelTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.mkdtemp(prefix="mergedb-kv-")
        self.addCleanup(shutil.rmtree, directory, ignore_errors=True)
        self.path = os.path.join(directory, "db")

    def open(self, **options):
        db = plyvel.DB(self.path, create_if_missing=True, **options)
        self.addCleanup(db.close)
        return db

    def test_put_get_delete(self):
        db = self.open(lru_cache_size=1 << 20, write_buffer_size=1000, max_open_files=1, compression=None)
        db.put(b"a", bytearray(b"1"), sync=True)
        self.assertEqual(db.get(b"a", verify_checksums=True, fill_cache=False), b"1")
        db.delete(b"a", sync=True)
        self.assertIsNone(db.get(b"a"))
        self.assertEqual(db.get(b"a", b"x"), b"x")
        self.assertEqual((db.name, db.closed), (self.path, False))
        db.close()
        self.assertRaises(RuntimeError, db.get, b"a")
        self.assertTrue(db.closed)

    def test_open_errors(self):
        self.assertRaises(plyvel.Error, plyvel.DB, self.path)
        self.assertRaises(plyvel.Error, plyvel.DB, self.path, error_if_exists=True)
        self.assertRaises(TypeError, plyvel.DB, 1)
        self.assertRaises(TypeError, plyvel.DB, self.path, block_size="1")
        self.assertRaises(ValueError, plyvel.DB, self.path, compression="zstd")
        db = self.open()
        self.assertRaises(plyvel.IOError, plyvel.DB, self.path)
        self.assertRaises(OSError, plyvel.DB, self.path)
        db.close()
        self.assertRaises(plyvel.Error, plyvel.DB, self.path, create_if_missing=True, error_if_exists=True)

    def test_write_batches(self):
        db = self.open()
        with self.assertRaises(ZeroDivisionError):
            with db.write_batch(transaction=True) as batch:
                batch.put(b"a", b"1")
                1 // 0
        self.assertIsNone(db.get(b"a"))
        with self.assertRaises(ZeroDivisionError):
            with db.write_batch() as batch:  # plyvel writes it
                batch.put(b"a", b"1")
                1 // 0
        self.assertEqual(db.get(b"a"), b"1")
        other = db.prefixed_db(b"p").write_batch(sync=True)
        other.put(b"x", b"2")
        other.delete(b"y")
        batch.append(other)
        self.assertGreater(batch.approximate_size(), 0)
        batch.write()
        self.assertEqual(db.get(b"px"), b"2")

    def check_moves(self, db, entries, order=None, **options):
        """Random moves of an iterator are those of a gap in a sorted list."""
        reverse = options.get("reverse", False)
        iterator, gap = db.iterator(**options), len(entries) if reverse else 0
        for _ in range(200):
            move = random.choice(("next", "prev", "next", "prev", "start", "stop", "seek"))
            if move == "start":
                iterator.seek_to_start()
                gap = 0
            elif move == "stop":
                iterator.seek_to_stop()
                gap = len(entries)
            elif move == "seek":
                target = random.choice((b"", b"b", b"c5", b"e", b"z"))
                iterator.seek(target)
                after = [i for i, entry in enumerate(entries) if (order(entry[0], target) >= 0 if order else entry[0] >= target)]
                gap = after[0] if after else len(entries)
            elif (move == "next") != reverse:
                found = next(iterator, None) if move == "next" else self.prev(iterator)
                self.assertEqual(found, entries[gap] if gap < len(entries) else None)
                gap = min(gap + 1, len(entries))
            else:
                found = next(iterator, None) if move == "next" else self.prev(iterator)
                self.assertEqual(found, entries[gap - 1] if gap > 0 else None)
                gap = max(gap - 1, 0)

    @staticmethod
    def prev(iterator):
        try:
            return iterator.prev()
        except StopIteration:
            return None

    def check_all_ranges(self, db, keys, order=None):
        entries = [(key, key * 2) for key in keys]
        for reverse in (False, True):
            for start in (None, b"b", b"c"):
                for stop in (None, b"d", b"e"):
                    for include_start in (True, False):
                        for include_stop in (True, False):
                            compare = order or (lambda a, b: (a > b) - (a < b))
                            inside = [
                                entry
                                for entry in entries
                                if (start is None or compare(entry[0], start) >= (0 if include_start else 1))
                                and (stop is None or compare(entry[0], stop) <= (0 if include_stop else -1))
                            ]
                            bounds = dict(start=start, stop=stop, include_start=include_start, include_stop=include_stop)
                            with self.subTest(reverse=reverse, **bounds):
                                self.check_moves(db, inside, order, reverse=reverse, **bounds)

    def test_iterators(self):
        db = self.open()
        keys = [b"a", b"b", b"c", b"c1", b"d", b"e", b"f"]
        for key in keys:
            db.put(key, key * 2)
        seed = random.randrange(1 << 32)
        random.seed(seed)
        with self.subTest(seed=seed):
            self.check_all_ranges(db, keys)
        self.assertEqual(list(db.iterator(prefix=b"c", include_value=False)), [b"c", b"c1"])
        self.assertEqual(list(db.iterator(prefix=b"c1", include_value=False)), [b"c1"])
        self.assertEqual(list(db.prefixed_db(b"c").iterator()), [(b"", b"cc"), (b"1", b"c1c1")])
        self.assertEqual(list(db.iterator(prefix=b"c", include_key=False, reverse=True)), [b"c1c1", b"cc"])
        self.assertRaises(TypeError, db.iterator, prefix=b"a", start=b"a")
        with db.iterator() as iterator:
            next(iterator)
        self.assertRaises(RuntimeError, next, iterator)
        self.assertRaises(RuntimeError, iterator.seek_to_start)

    def test_iterators_of_a_comparator(self):
        def order(a, b):
            return (a.lower() > b.lower()) - (a.lower() < b.lower())

        db = self.open(comparator=order, comparator_name=b"ignore case")
        keys = [b"a", b"B", b"c", b"C1", b"d", b"E", b"f"]
        with db.write_batch() as batch:
            for key in keys:
                batch.put(key, key * 2)
        seed = random.randrange(1 << 32)
        random.seed(seed)
        with self.subTest(seed=seed):
            self.check_all_ranges(db, keys, order)

    def test_raw_iterators(self):
        db = self.open()
        for key in (b"a", b"c"):
            db.put(key, key * 2)
        iterator = db.raw_iterator()
        self.assertFalse(iterator.valid())
        iterator.seek(b"b")
        self.assertEqual(iterator.item(), (b"c", b"cc"))
        iterator.prev()
        self.assertEqual(iterator.key(), b"a")
        iterator.prev()
        self.assertRaises(plyvel.IteratorInvalidError, iterator.value)
        self.assertRaises(plyvel.IteratorInvalidError, iterator.next)
        iterator.close()
        self.assertRaises(RuntimeError, iterator.valid)

    def test_snapshots(self):
        db = self.open()
        db.put(b"pa", b"1")
        with db.prefixed_db(b"p").snapshot() as snapshot:
            db.put(b"pb", b"2")
            self.assertEqual(list(snapshot), [(b"a", b"1")])
            self.assertIsNone(snapshot.get(b"b"))
        self.assertRaises(RuntimeError, snapshot.get, b"a")
        snapshot.release()

    def test_repair_destroy_and_properties(self):
        db = self.open()
        db.put(b"a", b"1")
        db.compact_range()
        self.assertEqual(db.get_property(b"leveldb.num-files-at-level0"), b"1")
        self.assertIsNone(db.get_property(b"leveldb.nothing"))
        self.assertGreaterEqual(db.approximate_size(b"a", b"b"), 0)
        db.close()
        plyvel.repair_db(self.path)
        self.assertEqual(plyvel.DB(self.path).get(b"a"), b"1")
        plyvel.destroy_db(self.path)
        self.assertFalse(os.path.exists(self.path))


if __name__ == "__main__":
    unittest.main()
