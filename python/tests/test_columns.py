"""Scans into NumPy arrays and Arrow record batches, and loads from them. Skipped without numpy or pyarrow.

The random test prints its seed; MERGEDB_SEED gives it back.
"""

import os
import random
import threading
import unittest

import mergedb_kv
from support import DatabaseCase

try:
    import numpy
except ImportError:
    numpy = None
try:
    import pyarrow
except ImportError:
    pyarrow = None


@unittest.skipIf(numpy is None, "numpy is not installed")
class NumpyTest(DatabaseCase):
    def test_what_is_loaded_is_scanned(self):
        keys = numpy.arange(1000) * 3
        values = numpy.sqrt(numpy.arange(1000)).astype("<f8")
        self.db.put_numpy(keys, values, key_dtype=">u8")
        self.assertEqual(self.db[(21).to_bytes(8, "big")], values[7].tobytes())
        found_keys, found_values = self.db.to_numpy(key_dtype=">u8", value_dtype="<f8")
        numpy.testing.assert_array_equal(found_keys, keys)
        numpy.testing.assert_array_equal(found_values, values)
        found_keys[0] = 5  # the array belongs to the caller
        self.assertEqual(found_keys.dtype, numpy.dtype(">u8"))

    def test_ranges_and_limits(self):
        self.fill(1000)
        for bounds, numbers in (
            (dict(start=b"key000990"), range(990, 1000)),
            (dict(stop=b"key000002"), range(2)),
            (dict(prefix=b"key00012"), range(120, 130)),
            (dict(limit=3), range(3)),
            (dict(limit=3, reverse=True), range(999, 996, -1)),
            (dict(limit=0), range(0)),
            (dict(prefix=b"none"), range(0)),
        ):
            keys, values = self.db.to_numpy(key_dtype="S9", **bounds)
            self.assertIsNone(values)
            self.assertEqual(keys.tolist(), [b"key%06d" % i for i in numbers])
        self.assertEqual(self.db.to_numpy(value_dtype="V8", start=b"key000100", stop=b"key000101")[1].tobytes(), b"value100")

    def test_more_than_a_mapping_of_huge_pages_holds(self):
        vectors = numpy.random.default_rng(1).random((12_000, 100), dtype="f4")
        keys = numpy.arange(len(vectors), dtype=">u4")
        self.db.put_numpy(keys, vectors)
        found_keys, found = self.db.to_numpy(key_dtype=">u4", value_dtype=("f4", 100))
        numpy.testing.assert_array_equal(found_keys, keys)
        numpy.testing.assert_array_equal(found, vectors)
        self.db.clear()
        self.db.put_numpy(keys, vectors, value_dtype=("<f4", 100))  # the dtype that reads them
        numpy.testing.assert_array_equal(self.db.to_numpy(value_dtype=("<f4", 100))[1], vectors)
        for shape in 99, (100, 1):
            with self.assertRaisesRegex(ValueError, "elements of the values have the shape"):
                self.db.put_numpy(keys, vectors, value_dtype=("<f4", shape))

    def test_every_width(self):
        for width in (*range(1, 36), 100, 300_000):
            count = 50 if width < 1000 else 3
            keys = [b"%0*d" % (max(width, 2), i) for i in range(count)]
            values = [bytes((i + j) % 251 for j in range(width)) for i in range(count)]
            self.db.clear()
            self.db.update(zip(keys, values))
            found = self.db.to_numpy(key_dtype=f"V{len(keys[0])}", value_dtype=f"V{width}")
            self.assertEqual(found[0].tobytes(), b"".join(keys), width)
            self.assertEqual(found[1].tobytes(), b"".join(values), width)

    def test_a_limit_and_another_width_after_many_blocks(self):
        count = 40_000
        self.db.put_numpy(numpy.arange(count, dtype=">u4"), numpy.arange(count))
        self.db[(30_000).to_bytes(4, "big")] = b"short"
        for limit in 29_999, 30_000:  # the entry after them is not looked at
            for dtypes in dict(value_dtype="i8"), dict(key_dtype=">u4"), dict(key_dtype=">u4", value_dtype="i8"):
                for column in self.db.to_numpy(limit=limit, **dtypes):
                    if column is not None:
                        numpy.testing.assert_array_equal(column, numpy.arange(limit))
        with self.assertRaisesRegex(mergedb_kv.InvalidArgumentError, "u0.*has 5 bytes, not 8"):
            self.db.to_numpy(limit=30_001, value_dtype="i8")
        self.assertEqual(len(self.db.to_numpy(key_dtype=">u4")[0]), count)

    def test_keyspaces_and_snapshots(self):
        keyspace = self.db.create_keyspace(b"k")
        keyspace.put_numpy(numpy.array([b"a", b"b"]), numpy.array([1, 2], dtype="u1"))
        self.assertEqual(len(self.db), 0)
        with self.db.snapshot() as snapshot:
            keyspace[b"c"] = b"\3"
            seen = snapshot.keyspace(keyspace).to_numpy(key_dtype="S1", value_dtype="u1")
        self.assertEqual(seen[0].tolist(), [b"a", b"b"])
        self.assertEqual(keyspace.to_numpy(value_dtype="u1")[1].tolist(), [1, 2, 3])

    def test_what_does_not_fit_is_an_error(self):
        self.db[b"four"] = b"12345678"
        self.db[b"fi\\ve\0" + b"x" * 100] = b"1"
        for dtypes, text in (
            (dict(key_dtype="S4"), 'the key of the entry "fi\\x5cve\\x00xxxx'),
            (dict(value_dtype="f8"), "has 1 bytes, not 8"),
        ):
            with self.assertRaises(mergedb_kv.InvalidArgumentError) as raised:
                self.db.to_numpy(**dtypes)
            self.assertIn(text, str(raised.exception))
        for dtype in (object, "S", [("a", "i4"), ("b", object)]):
            with self.assertRaises(ValueError):
                self.db.to_numpy(key_dtype=dtype)
        with self.assertRaises(ValueError):
            self.db.put_numpy(numpy.arange(3), numpy.arange(2))
        with self.assertRaises(ValueError):
            self.db.put_numpy(numpy.array([object()]), numpy.arange(1))
        with self.assertRaises(ValueError):
            self.db.put_numpy(numpy.arange(1), numpy.arange(1), batch_bytes=0)
        self.db.put_numpy(numpy.arange(0), numpy.arange(0))
        self.assertEqual(len(self.db), 2)
        self.db.close()
        for call in (
            lambda: self.db.to_numpy(key_dtype="S4"),
            lambda: self.db.put_numpy(numpy.arange(1), numpy.arange(1)),
        ):
            with self.assertRaises(mergedb_kv.ClosedError):
                call()

    def test_arrays_that_are_not_contiguous(self):
        keys = numpy.arange(100, dtype=">u4")[::-2]
        values = numpy.add.outer(numpy.arange(100), numpy.arange(3)).astype("u1")[::2, ::-1]
        self.db.put_numpy(keys, values)
        for key, value in zip(keys.tolist(), values):
            self.assertEqual(self.db[key.to_bytes(4, "big")], value.tobytes())

    def test_a_close_while_a_thread_scans(self):
        self.db.put_numpy(numpy.arange(300_000, dtype=">u4"), numpy.arange(300_000, dtype=">u4"))
        started, outcomes = threading.Event(), []

        def scan():
            try:
                while True:
                    outcomes.append(len(self.db.to_numpy(key_dtype=">u4")[0]))
                    started.set()
            except mergedb_kv.Error as error:
                outcomes.append(type(error))

        thread = threading.Thread(target=scan)
        thread.start()
        started.wait()
        self.db.close()
        thread.join()
        self.assertEqual(outcomes[-1], mergedb_kv.ClosedError)
        self.assertEqual(set(outcomes[:-1]), {300_000})


@unittest.skipIf(pyarrow is None, "pyarrow is not installed")
class ArrowTest(DatabaseCase):
    def entries(self, table):
        return list(zip(*(table.column(name).to_pylist() for name in ("key", "value"))))

    def test_a_scan_is_a_table(self):
        self.fill(1000)
        expected = list(self.db.items())
        table = pyarrow.table(self.db.to_arrow(batch_rows=64))
        self.assertEqual(self.entries(table), expected)
        self.assertEqual([str(field.type) for field in table.schema], ["binary", "binary"])
        self.assertEqual(table.column("key").num_chunks, 16)
        table.validate(full=True)
        self.assertEqual(self.entries(pyarrow.table(self.db.to_arrow(b"key000500", reverse=True))), expected[:499:-1])
        self.assertEqual(pyarrow.table(self.db.to_arrow(prefix=b"none")).num_rows, 0)
        keys = pyarrow.table(self.db.to_arrow(value_type=None, key_type=9))
        self.assertEqual([str(field) for field in keys.schema], ["pyarrow.Field<key: fixed_size_binary[9] not null>"])
        self.assertEqual(keys.column("key").to_pylist(), [key for key, _ in expected])

    def test_each_number_type(self):
        for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"):
            array = pyarrow.array([1, 2, 100], pyarrow.type_for_alias(name))
            source = pyarrow.table({"key": [b"a", b"b", b"c"], "value": array})
            self.assertEqual(self.db.put_arrow(source), 3)
            found = pyarrow.table(self.db.to_arrow(value_type=name)).column("value")
            self.assertEqual((str(found.type), found.to_pylist()), (str(array.type), [1, 2, 100]))

    def test_each_type_that_can_be_loaded(self):
        texts = ["short", "", "a text of more than twelve bytes"]
        for kind in ("binary", "large_binary", "string", "large_string", "binary_view", "string_view"):
            make = getattr(pyarrow, kind)()
            keys = pyarrow.array(["x", "k1", "k2", "k3", "x"], pyarrow.string()).cast(make)
            values = pyarrow.array(["x", *texts, "x"], pyarrow.string()).cast(make)
            table = pyarrow.table({"value": values, "other": [1, 2, 3, 4, 5], "key": keys}).slice(1, 3)
            self.db.clear()
            self.assertEqual(self.db.put_arrow(table), 3)
            self.assertEqual([value.decode() for value in self.db.values()], texts, kind)
        fixed = pyarrow.table({"k": pyarrow.array([b"12", b"34"], pyarrow.binary(2)), "v": pyarrow.array([1.5, 2.5])})
        self.db.clear()
        self.db.put_arrow(fixed.slice(1), key="k", value="v")
        self.assertEqual(pyarrow.table(self.db.to_arrow(value_type="float64")).column("value").to_pylist(), [2.5])

    def test_a_batch_of_structs_with_an_offset(self):
        # WHY not RecordBatch.from_struct_array: it moves the offset into the columns.
        rows = [{"key": b"%d" % i, "value": b"v%d" % i} for i in range(10)]
        array = pyarrow.array(rows).slice(4, 2)
        self.assertEqual(array.offset, 4)
        self.assertEqual(self.db.put_arrow(pyarrow.chunked_array([array])), 2)
        self.assertEqual(list(self.db.items()), [(b"4", b"v4"), (b"5", b"v5")])
        columns = pyarrow.StructArray.from_arrays([pyarrow.array([row[name] for row in rows]).slice(1) for name in rows[0]], list(rows[0]))
        self.assertEqual(self.db.put_arrow(pyarrow.chunked_array([columns.slice(5, 3)])), 3)
        self.assertEqual(list(self.db.keys()), [b"4", b"5", b"6", b"7", b"8"])
        with self.assertRaisesRegex(mergedb_kv.InvalidArgumentError, "row 1 has a null"):
            self.db.put_arrow(pyarrow.chunked_array([pyarrow.array([*rows[:5], None, rows[6]]).slice(4, 2)]))

    def test_what_cannot_be_loaded(self):
        def source(key, value):
            return pyarrow.table({"key": key, "value": value})

        def fails():
            yield source([b"a"], [b"1"]).to_batches()[0]
            raise ZeroDivisionError("on purpose")

        for given, text in (
            (source([b"a", None], [b"1", b"2"]), "row 1 has a null"),
            (source([b"a", b"b"], [None, b"2"]), "row 0 has a null"),
            (source([b"a"], [[1]]), "cast it to a binary"),
            (source([b"a"], pyarrow.array(["x"]).dictionary_encode()), "cast it to a binary"),
            (pyarrow.table({"key": [b"a"]}), 'no column "value"'),
            (pyarrow.RecordBatchReader.from_batches(source([b"a"], [b"1"]).schema, fails()), "on purpose"),
        ):
            with self.assertRaises(mergedb_kv.InvalidArgumentError) as raised:
                self.db.put_arrow(given)
            self.assertIn(text, str(raised.exception))
        with self.assertRaises(TypeError):
            self.db.put_arrow([1])
        for types in (dict(key_type=0), dict(key_type="text"), dict(key_type=None, value_type=None), dict(batch_rows=0)):
            with self.assertRaises(ValueError):
                self.db.to_arrow(**types)

    def test_errors_of_a_scan_reach_the_reader(self):
        self.fill(1000)
        with self.assertRaises(pyarrow.ArrowInvalid) as raised:
            pyarrow.table(self.db.to_arrow(key_type=4))
        self.assertIn('the key of the entry "key000000" has 9 bytes, not 4', str(raised.exception))
        reader = pyarrow.RecordBatchReader.from_stream(self.db.to_arrow(batch_rows=10))
        self.assertEqual(len(reader.read_next_batch()), 10)
        entries = self.db.to_arrow()
        self.db.close()
        with self.assertRaises(OSError):
            while True:  # the reader has read ahead
                reader.read_next_batch()
        with self.assertRaises(mergedb_kv.ClosedError):
            pyarrow.table(entries)

    def test_a_stream_is_consumed_once_and_may_be_dropped(self):
        self.fill(10)
        capsule = self.db.to_arrow().__arrow_c_stream__()

        class Once:
            def __arrow_c_stream__(self, requested_schema=None):
                return capsule

        other = self.db.create_keyspace(b"other")
        self.assertEqual(other.put_arrow(Once()), 10)
        self.assertEqual(list(other.items()), list(self.db.items()))
        with self.assertRaises(mergedb_kv.InvalidArgumentError):
            other.put_arrow(Once())
        del capsule
        self.db.to_arrow().__arrow_c_stream__()
        table = pyarrow.table(self.db.to_arrow())
        self.db.close()
        self.assertEqual(table.num_rows, 10)  # a table has its own memory
        mergedb_kv.open(self.path).close()

    def test_random_entries(self):
        seed = int(os.environ.get("MERGEDB_SEED", random.randrange(1 << 32)))
        print(f"MERGEDB_SEED={seed}")
        generator = random.Random(seed)
        expected = {
            generator.randbytes(generator.choice((1, 8, 100))): generator.randbytes(generator.choice((0, 7, 300, 400_000)))
            for _ in range(200)
        }
        source = pyarrow.table({"key": list(expected), "value": list(expected.values())})
        source = pyarrow.Table.from_batches(source.to_batches(max_chunksize=generator.randrange(1, 100)))
        self.assertEqual(self.db.put_arrow(source, batch_bytes=generator.choice((1, 1000, 1 << 20))), len(expected))
        self.assertEqual(dict(self.db.items()), expected)
        table = pyarrow.table(self.db.to_arrow(batch_rows=generator.choice((1, 7, 1000))))
        table.validate(full=True)
        self.assertEqual(self.entries(table), sorted(expected.items()))


if __name__ == "__main__":
    unittest.main()
