"""What the tests of mergedb_kv share."""

import os
import shutil
import tempfile
import threading
import unittest

import mergedb_kv


class DatabaseCase(unittest.TestCase):
    """A test with a directory and an open database in it."""

    options = {}

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="mergedb-kv-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.path = os.path.join(self.directory, "db")
        self.db = mergedb_kv.open(self.path, **self.options)
        self.addCleanup(self.db.close)

    def fill(self, count=100):
        with self.db.batch() as batch:
            for i in range(count):
                batch.put(b"key%06d" % i, b"value%d" % i)

    def in_child(self, function):
        """Runs the function in a child after a fork. Returns what it sent, or its exit status."""
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.write(writer, function().encode())
                status = 0
            finally:
                os._exit(status)
        os.close(writer)
        with os.fdopen(reader, "rb") as stream:
            text = stream.read().decode()
        _, status = os.waitpid(child, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 0)
        return text


class Gate:
    """An order of keys, bytewise, whose next comparison waits while the gate is shut: a call that a test holds."""

    def __init__(self):
        self.opened = threading.Event()
        self.reached = threading.Event()
        self.opened.set()
        self.inside = None  # called once, by the thread that waits, before it waits

    def __call__(self, a, b):
        if not self.opened.is_set() and not self.reached.is_set():
            self.reached.set()
            if self.inside is not None:
                self.inside()
            self.opened.wait(60)
        return (a > b) - (a < b)

    def shut(self, inside=None):
        self.inside = inside
        self.reached.clear()
        self.opened.clear()

    def open(self):
        self.opened.set()
