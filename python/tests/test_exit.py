"""Daemon threads in endless loops of calls when the interpreter ends: the process ends with code 0, and the databases open.

An object of the main module sleeps when it is destroyed. So the threads return from the engine, want the GIL and run
callbacks while the interpreter is at its end, in each run and not by chance. MERGEDB_FULL=1 makes more runs.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

import mergedb_kv
import mergedb_kv.lmdb as lmdb

RUNS = 40 if os.environ.get("MERGEDB_FULL") else 2
#: A process that does not end is a failure of its own. The limit is no measure of speed.
SECONDS_MAX = 300

COMMON = """
import os, sys, threading, time
path = sys.argv[1]

def order(a, b):
    return -1 if a < b else 1 if a > b else 0

def start(*steps):
    def forever(step):
        while True:
            try:
                step()
                called.set()
            except Exception:
                pass
    for step in steps:
        called = threading.Event()
        threading.Thread(target=forever, args=(step,), daemon=True).start()
        called.wait()

class Slow:
    def __del__(self, sleep=time.sleep):
        sleep(0.1)
slow = Slow()
"""

#: Threads that use one database, which atexit closes, and threads that open databases until the end.
KINDS = {
    "one database": """
import mergedb_kv
db = mergedb_kv.open(path)
db.update({b"%06d" % i: b"x" * 100 for i in range(500)})
start(lambda: list(db.items()), lambda: db.put(os.urandom(2), b"y"), lambda: db.get_many(iter([b"000100", b"x"])))
""",
    "databases": """
import mergedb_kv
def reopen(name):
    with mergedb_kv.open(path + name) as db:
        db[b"a"] = b"1"
        list(db)
start(lambda: reopen("1"), lambda: reopen("2"), lambda: mergedb_kv.verify(path + "1"))
""",
    "one environment": """
import mergedb_kv.lmdb as lmdb
env = lmdb.open(path)
def write():
    with env.begin(write=True) as txn:
        txn.cursor().putmulti((b"%06d" % i, b"x" * 100) for i in range(100))
def read():
    with env.begin() as txn:
        list(txn.cursor())
start(write, read, read)
""",
    "environments": """
import mergedb_kv.lmdb as lmdb
def reopen(name):
    with lmdb.open(path + name) as env, env.begin(write=True) as txn:
        txn.put(b"a", b"1")
        list(txn.cursor())
start(lambda: reopen("1"), lambda: reopen("2"), lambda: reopen("3"))
""",
    "a comparator": """
import mergedb_kv
db = mergedb_kv.open(path, comparator=order, comparator_name=b"o", write_buffer_bytes=1 << 16)
db.update({b"%06d" % i: b"x" * 100 for i in range(200)})
start(lambda: list(db.items()), lambda: db.put(os.urandom(3), b"y" * 200), lambda: db.get(b"000100"))
""",
    "comparators": """
import mergedb_kv
def reopen(name):
    db = mergedb_kv.open(path + name, comparator=order, comparator_name=b"o", write_buffer_bytes=1 << 16)
    db.update({os.urandom(3): b"x" * 200 for _ in range(200)})
    list(db)
start(lambda: reopen("1"), lambda: reopen("2"), lambda: reopen("3"))
""",
    "a comparator, the database is destroyed after the end": """
import mergedb_kv
db = mergedb_kv.open(path, comparator=order, comparator_name=b"o", write_buffer_bytes=1 << 16)
mergedb_kv._database._open_databases.clear()
slow.db = db
start(lambda: db.put(os.urandom(3), b"y" * 200), lambda: list(db), lambda: db.get(b"000100"))
""",
    "a listener": """
import mergedb_kv
db = mergedb_kv.open(path, listener=lambda event: time.sleep(0.001), slow_call_us=1)
start(lambda: db.put(os.urandom(3), b"y" * 200), lambda: list(db), db.flush)
""",
    "a listener, the database is destroyed after the end": """
import mergedb_kv
db = mergedb_kv.open(path, listener=lambda event: time.sleep(0.001), slow_call_us=1)
mergedb_kv._database._open_databases.clear()
slow.db = db
start(lambda: db.put(os.urandom(3), b"y" * 200), lambda: list(db), db.flush)
""",
    "asyncio": """
import asyncio
from mergedb_kv import aio
async def use(name):
    async with aio.open(path + name) as db:
        await db.put(b"a", b"1")
        async with db.transaction() as txn:
            await txn.put(b"b", b"2")
start(lambda: asyncio.run(use("1")), lambda: asyncio.run(use("2")))
""",
}


def order(a, b):
    return -1 if a < b else 1 if a > b else 0


class ExitTest(unittest.TestCase):
    def run_kind(self, kind, failures):
        directory = tempfile.mkdtemp(prefix="mergedb-kv-")
        self.addCleanup(shutil.rmtree, directory, ignore_errors=True)
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
        command = [sys.executable, "-c", COMMON + KINDS[kind], os.path.join(directory, "db")]
        try:
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS_MAX)
        except subprocess.TimeoutExpired:
            failures.append(f"{kind}: no end in {SECONDS_MAX} s")
            return
        if done.returncode != 0:
            failures.append(f"{kind}: code {done.returncode}: {done.stderr[-2000:]}")
            return
        options = {"comparator": order, "comparator_name": b"o"} if "comparator" in kind else {}
        for name in os.listdir(directory):
            path = os.path.join(directory, name)
            try:
                if "environment" in kind:
                    lmdb.open(path).close()
                with mergedb_kv.open(path, **options) as db:
                    db.check_integrity()
            except (mergedb_kv.Error, lmdb.Error) as error:
                failures.append(f"{kind}: {error!r}")

    def test_daemon_threads_at_the_end(self):
        failures = []
        threads = [
            threading.Thread(target=self.run_kind, args=(kind, failures)) for _ in range(RUNS) for kind in KINDS
        ]
        for at in range(0, len(threads), 4):
            for thread in threads[at : at + 4]:
                thread.start()
            for thread in threads[at : at + 4]:
                thread.join()
        self.assertEqual(failures, [])


if __name__ == "__main__":
    unittest.main()
