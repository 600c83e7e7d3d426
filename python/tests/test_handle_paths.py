"""Paths of calls on handles have the outcomes that the model of the C interface says: tests/paths/handle_paths.txt.

tests/paths/handle_calls.h describes the calls. A call that the package cannot express is left out: a batch, a
transaction and a cursor have no close, so nothing uses them after it. If such a call would have changed something, the
rest of the path is left out, too. MERGEDB_HANDLE_PATHS names another file; paths_handles_test writes one.
"""

import concurrent.futures
import os
import shutil
import tempfile
import unittest

import mergedb_kv
from mergedb_kv import TransactionKind

HERE = os.path.dirname(os.path.abspath(__file__))
PATHS = os.path.join(HERE, "..", "..", "tests", "paths", "handle_paths.txt")

ANSWERS = {
    mergedb_kv.NotFoundError: "NotFound",
    mergedb_kv.InvalidArgumentError: "InvalidArgument",
    mergedb_kv.NotSupportedError: "NotSupported",
    mergedb_kv.BusyError: "Busy",
    mergedb_kv.ConflictError: "Conflict",
    mergedb_kv.AbortedError: "Aborted",
    mergedb_kv.ClosedError: "Closed",
}
KINDS = {
    "begin": TransactionKind.SINGLE_WRITER,
    "optimistic": TransactionKind.OPTIMISTIC,
    "read_only": TransactionKind.READ_ONLY,
}
#: Calls that change nothing: a path goes on without them.
LOOKS = {"as_others", "conflict", "find", "get", "list", "sequence", "size"}


class Inexpressible(Exception):
    """The package has no such call."""


class Variables:
    """The objects of one path."""

    def __init__(self, databases, directory):
        self.databases, self.directory = databases, directory
        self.named = [None, None]  # the keyspace `x` of each database
        self.made = [[], []]  # the numbers of the keyspaces, in the order of their creation
        self.objects = {}  # by name: "i0"
        self.of = {}  # the database of an object
        self.snapshot_of = {}  # of an iterator; None: it has none

    # ---- What the calls use

    def database(self, name):
        return self.databases[int(name[1])]

    def keyspace(self, name, space):
        """A keyspace of the database with this name; None: the default one."""
        if not space:
            return None
        keyspace = self.named[int(name[1])]
        if space == ["y"] or keyspace is None:
            raise Inexpressible
        return keyspace

    def object(self, name):
        if self.objects.get(name) is None:
            raise Inexpressible
        return self.objects[name]

    def reader(self, name, snapshot, space):
        """What reads a keyspace of a database, or of its snapshot."""
        keyspace = self.keyspace(name, space)
        if snapshot == "-":
            return keyspace if keyspace is not None else self.database(name)
        if self.of[snapshot] is not self.database(name):
            raise Inexpressible
        found = self.object(snapshot)
        return found if keyspace is None else found.keyspace(keyspace)

    def own_keyspace(self, name, space):
        """A keyspace of the database of an object."""
        self.object(name)
        if space and self.of[name] not in self.databases:
            raise Inexpressible
        return self.keyspace("d%d" % self.databases.index(self.of[name]) if space else "d0", space)

    def is_closed(self, name):
        """True if the database of an object is closed."""
        return name in self.of and self.of[name].closed

    def set(self, name, made, database):
        self.objects[name], self.of[name] = made, database

    # ---- Databases and keyspaces

    def open_d(self, d):
        number = int(d[1])
        path = os.path.join(self.directory, d[1])
        database = mergedb_kv.open(path, memory_bytes=1 << 20, write_buffer_bytes=64 << 10)
        self.databases[number] = database
        had = self.named[number]
        self.named[number] = None
        if had is not None and database.keyspaces():
            found = database.open_keyspace(b"x")
            if found.keyspace_id == had.keyspace_id:
                self.named[number] = found

    def close_d(self, d):
        self.database(d).close()

    def put_d(self, d, *space):
        self.reader(d, "-", list(space)).put(b"b", b"p")

    def get_d(self, d, s, *space):
        return self.reader(d, s, list(space)).get(b"b") or False

    def write_d(self, d, b):
        batch = self.object(b)
        if self.of[b] is not self.database(d):
            raise Inexpressible
        batch.write()

    def create_d(self, d):
        number = int(d[1])
        self.named[number] = self.database(d).create_keyspace(b"x")
        self.made[number].append(self.named[number].keyspace_id)
        return str(len(self.made[number])).encode()

    def find_d(self, d, s):
        if s != "-":
            raise Inexpressible
        found = self.database(d).open_keyspace(b"x")
        return str(self.made[int(d[1])].index(found.keyspace_id) + 1).encode()

    def list_d(self, d):
        return str(len(self.database(d).keyspaces())).encode()

    def drop_d(self, d, *space):
        keyspace = self.keyspace(d, list(space))
        if keyspace is None:
            raise Inexpressible
        self.database(d).drop_keyspace(keyspace)

    def clear_d(self, d, *space):
        self.keyspace(d, list(space)).clear()

    # ---- Snapshots and iterators

    def snapshot_s(self, s, d):
        self.set(s, self.database(d).snapshot(), self.database(d))

    def close_s(self, s):
        self.object(s).close()

    def iterator_i(self, i, d, s, *space):
        self.set(i, self.reader(d, s, list(space)).iterator(), self.database(d))
        self.snapshot_of[i] = self.objects.get(s)

    def first_i(self, i):
        return self.object(i).seek_to_first()

    def last_i(self, i):
        return self.object(i).seek_to_last()

    def next_i(self, i):
        return self.object(i).next()

    def prev_i(self, i):
        return self.object(i).prev()

    def entry_i(self, i):
        return b"=".join(self.object(i).entry())

    def read_i(self, i):
        entries = [self.entry_i(i)]
        while self.object(i).next():
            entries.append(self.entry_i(i))
        return b" ".join(entries)

    def failed_key_i(self, i):
        return self.object(i).failed_key or False

    def close_i(self, i):
        self.object(i).close()

    # ---- Batches

    def batch_b(self, b):
        self.set(b, self.databases[0].batch(), self.databases[0])

    def put_b(self, b, *space):
        self.object(b).put(b"b", b"q", keyspace=self.own_keyspace(b, list(space)))

    def clear_b(self, b):
        self.object(b).clear()

    def size_b(self, b):
        return str(len(self.object(b))).encode()

    def append_b(self, b, other):
        batch, source = self.object(b), self.object(other)
        if self.of[b] is not self.of[other]:
            raise Inexpressible
        batch.append(source)

    def close_b(self, b):
        self.object(b)
        self.objects[b] = None

    # ---- Transactions and cursors

    def begin(self, kind, t, d, s):
        if s != "-":
            raise Inexpressible
        self.set(t, self.database(d).transaction(KINDS[kind], timeout=1e-6), self.database(d))

    def get_t(self, t, *space):
        return self.object(t).get(b"b", keyspace=self.own_keyspace(t, list(space))) or False

    def put_t(self, t, *space):
        self.object(t).put(b"b", b"t", keyspace=self.own_keyspace(t, list(space)))

    def commit_t(self, t):
        self.object(t).commit()

    def rollback_t(self, t):
        self.object(t).rollback()

    def savepoint_t(self, t):
        self.object(t).set_savepoint()

    def to_savepoint_t(self, t):
        self.object(t).rollback_to_savepoint()

    def release_t(self, t):
        self.object(t).release_savepoint()

    def close_t(self, t):
        self.object(t).rollback()
        self.objects[t] = None

    def cursor_c(self, c, t, *space):
        transaction = self.object(t)
        self.set(c, transaction.cursor(keyspace=self.own_keyspace(t, list(space))), self.of[t])

    def first_c(self, c):
        return self.object(c).first()

    def next_c(self, c):
        return self.object(c).next()

    def prev_c(self, c):
        return self.object(c).prev()

    def current_c(self, c):
        return self.object(c).current()

    def entry_c(self, c):
        return b"=".join(self.object(c).entry())

    def set_c(self, c):
        self.object(c).put(b"c")

    def delete_c(self, c):
        self.object(c).delete()

    def close_c(self, c):
        self.object(c)
        self.objects[c] = None

    # ---- The end of the path

    def restore(self):
        for name, each in self.objects.items():
            if each is not None and name[0] in "si":
                each.close()
            if each is not None and name[0] == "t":
                each.rollback()
        for number, database in enumerate(self.databases):
            if database.closed:
                self.open_d("d%d" % number)
            database = self.databases[number]
            database.update({b"a": b"%d" % number})
            database.delete(b"b")
            for name in database.keyspaces():
                database.drop_keyspace(name)


def answer(variables, call):
    """What a call answers, as in the file; ShuttingDown and BadHandle are Closed."""
    name, *arguments = call.split()
    if name in KINDS:
        function, arguments = variables.begin, [name, *arguments]
    else:
        function = getattr(variables, f"{name}_{arguments[0][0]}", None)
    if function is None:
        raise Inexpressible
    try:
        result = function(*arguments)
    except mergedb_kv.Error as error:
        return ANSWERS[type(error)]
    if result is False:
        return "NotFound"
    return "OK " + result.decode() if isinstance(result, bytes) else "OK"


def allowed(variables, call, expected):
    """The answers of the package where the C interface answers `expected`."""
    name, subject = call.split()[:2]
    expected = "Closed" if expected in ("ShuttingDown", "BadHandle") else expected
    if name == "close" and expected == "Closed":
        return {"OK"}  # a second close does nothing
    snapshot = variables.snapshot_of.get(subject)
    if snapshot is not None and snapshot.closed:
        return {expected, "Closed"}  # the package closes the iterators of a snapshot with it
    if subject[0] in "tc" and not expected.startswith("OK") and variables.is_closed(subject):
        return {expected, "Closed"}  # whether the transaction has ended or not
    if (name, subject[0]) == ("entry", "c") and expected == "NotFound":
        return {expected, "Aborted"}
    return {expected}


class HandlePaths(unittest.TestCase):
    def setUp(self):
        parent = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # many paths close and sync
        self.directory = tempfile.mkdtemp(prefix="mergedb-kv-", dir=parent)
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.databases = [None, None]
        start = Variables(self.databases, self.directory)
        for name in ("d0", "d1"):
            start.open_d(name)
            start.create_d(name)
        start.restore()
        self.addCleanup(lambda: [each.close() for each in self.databases])
        self.second_thread = concurrent.futures.ThreadPoolExecutor(1)
        self.addCleanup(self.second_thread.shutdown)
        self.compared = self.left_out = self.cut = 0

    def run_path(self, line):
        variables = Variables(self.databases, self.directory)
        for i, step in enumerate(line.split("; ")):
            call, expected = step.split(": ") if ": " in step else (step.rstrip(":"), "")
            try:
                if call.startswith(">"):
                    found = self.second_thread.submit(answer, variables, call[1:]).result(60)
                else:
                    found = answer(variables, call)
            except Inexpressible:
                self.left_out += 1
                if expected.startswith("OK") and call.split()[0].lstrip(">") not in LOOKS:
                    self.cut += 1
                    break
                continue
            if call.lstrip(">").startswith("cursor ") and expected == "OK" and found in ("Aborted", "Closed"):
                self.cut += 1  # a transaction that has ended opens no cursor
                break
            self.compared += 1
            self.assertIn(found, allowed(variables, call.lstrip(">"), expected), "; ".join(line.split("; ")[: i + 1]))
        variables.restore()

    def test_paths(self):
        with open(os.environ.get("MERGEDB_HANDLE_PATHS", PATHS)) as file:
            lines = [line.rstrip("\n") for line in file if not line.startswith("#")]
        for line in lines:
            self.run_path(line)
        counts = f"{len(lines)} paths, {self.cut} cut; {self.compared} calls, {self.left_out} left out"
        print(counts, end=" ", flush=True)
        self.assertGreater(self.compared, 2_000)


if __name__ == "__main__":
    unittest.main()
