"""Scans a range into NumPy arrays, with mergedb_kv and with plyvel, in ns an entry.

    python bench/python_scan.py DIRECTORY [--value-bytes N] [--only mergedb|plyvel] [--mapped]

The interpreter needs numpy, plyvel and mergedb_kv. The databases are made in DIRECTORY at the first call, and stay
there: a million entries with keys of 16 B and random values, compacted. Each scan is done some times in a process; the
first one brings the data into memory. The figures are the least CPU time of user and kernel, and the least time. The
first is the one to compare on a busy machine.
"""

import argparse
import os
import time

import numpy

COUNT = 1_000_000
KEY_BYTES = 16
CACHE_BYTES = 1 << 30
BOUNDS = (b"0", b"8")  # of all keys


def batches(value_bytes):
    random = numpy.random.default_rng(7)
    keys = numpy.sort(random.integers(0, 1 << 63, COUNT, dtype=numpy.uint64))
    size = 10_000
    for begin in range(0, COUNT, size):
        values = random.bytes(size * value_bytes)
        yield [
            (b"%016x" % key, values[i * value_bytes : (i + 1) * value_bytes])
            for i, key in enumerate(keys[begin : begin + size])
        ]


def measure(name, scan, times):
    cpu, wall = [], []
    for _ in range(times):
        begin_cpu, begin = time.process_time(), time.perf_counter()
        keys, values = scan()
        cpu.append(time.process_time() - begin_cpu)
        wall.append(time.perf_counter() - begin)
        assert len(keys) == len(values) == COUNT
    print(f"{name:44} {min(cpu) / COUNT * 1e9:8.1f} CPU {min(wall) / COUNT * 1e9:8.1f} wall", flush=True)


def plyvel_scans(directory, value_bytes, dtype):
    import plyvel

    is_new = not os.path.exists(directory)
    db = plyvel.DB(directory, create_if_missing=True, lru_cache_size=CACHE_BYTES)
    if is_new:
        for entries in batches(value_bytes):
            with db.write_batch() as batch:
                for key, value in entries:
                    batch.put(key, value)
        db.compact_range()

    def joined(keys, values):
        return numpy.frombuffer(b"".join(keys), f"S{KEY_BYTES}"), numpy.frombuffer(b"".join(values), dtype)

    def append():
        keys, values = [], []
        for key, value in db.iterator(start=BOUNDS[0], stop=BOUNDS[1]):
            keys.append(key)
            values.append(value)
        return joined(keys, values)

    measure("plyvel: append, join, frombuffer", append, 4)
    measure("plyvel: zip(*iterator), join, frombuffer", lambda: joined(*zip(*db.iterator())), 2)
    db.close()


def mergedb_scans(directory, value_bytes, dtype, mapped):
    import mergedb_kv

    is_new = not os.path.exists(directory)
    options = dict(memory_bytes=CACHE_BYTES, mapped_read_bytes_max=CACHE_BYTES if mapped else 0)
    with mergedb_kv.open(directory, **options) as db:
        if is_new:
            for entries in batches(value_bytes):
                db.update(entries)
            db.compact()
            db.wait_for_compaction()
        scan = lambda: db.to_numpy(*BOUNDS, key_dtype=f"S{KEY_BYTES}", value_dtype=dtype)
        measure("mergedb_kv: to_numpy" + (", mapped files" if mapped else ""), scan, 15)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", help="where the databases are")
    parser.add_argument("--value-bytes", type=int, default=100, help="8 gives numbers")
    parser.add_argument("--only", choices=["plyvel", "mergedb"])
    parser.add_argument("--mapped", action="store_true", help="mergedb maps its files (mapped_read_bytes_max)")
    given = parser.parse_args()
    dtype = "<f8" if given.value_bytes == 8 else f"V{given.value_bytes}"
    if given.only != "mergedb":
        plyvel_scans(f"{given.directory}/plyvel-{given.value_bytes}", given.value_bytes, dtype)
    if given.only != "plyvel":
        mergedb_scans(f"{given.directory}/mergedb-{given.value_bytes}", given.value_bytes, dtype, given.mapped)


main()
