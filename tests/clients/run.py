#!/usr/bin/env python3
"""Programs of others on mergedb: their own tests on the drop-in library, and their databases.

  run.py plyvel     plyvel's own tests (54), unmodified, built against Debian's LevelDB and run on the drop-in
  run.py levigo     levigo's own tests (3), the same
  run.py ceph       Debian's ceph-kvstore-tool on the drop-in: destructive-repair of nothing, of a LevelDB directory and of a damaged database
  run.py files      databases that LevelDB, goleveldb and classic-level wrote: read by mergedb, exported, read back by each of them

What is needed is downloaded by pip, apt, go and npm, once, into build/clients. Exit code 77: it cannot be had, and the message says what.
Every step is checked by what it counts: tests that did not run are no success.
"""

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
HOME = os.path.join(ROOT, "build", "clients")
PLYVEL, LEVIGO, GOLEVELDB, CLASSIC_LEVEL = "1.5.1", "v1.0.0", "v1.0.0", "3.0.0"
IMPATIENT_PIP = ["--retries", "1", "--timeout", "15"]
SKIP = 77
NOBODY = 65534


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(SKIP)


def run(command, **options):
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600, **options)


def download(what, command, **options):
    """A step that needs the network, or what an earlier run left of it."""
    try:
        done = run(command, **options)
    except FileNotFoundError:
        skip(f"{what}: no {command[0]} on this machine")
    except subprocess.TimeoutExpired:
        skip(f"{what}: no answer from the network")
    if done.returncode != 0:
        print(done.stdout[-2000:])
        skip(f"{what} cannot be downloaded: {' '.join(command[:4])} ... failed (is there a network?)")
    return done.stdout


def expect(condition, what, output=""):
    if condition:
        return
    print(output[-4000:])
    print(f"FAILED: {what}")
    sys.exit(1)


def on_the_dropin(dropin):
    """The environment in which a program finds ours before Debian's library."""
    expect(os.path.exists(os.path.join(dropin, "libleveldb.so.1d")), f"no drop-in library in {dropin}")
    return dict(os.environ, LD_LIBRARY_PATH=dropin)


def expect_dropin(binary, environment):
    linked = run(["ldd", binary], env=environment).stdout
    expect(environment["LD_LIBRARY_PATH"] + "/libleveldb.so.1d" in linked, f"{binary} does not find the drop-in", linked)


# ---- plyvel ----------------------------------------------------------------------------------------------------------------


# plyvel asks for an iterator's status at every entry, but not at the end: an iterator that ended at a damaged block would show its users
# half of the entries and no error.
AROUND_DAMAGE = """
import os, plyvel
database = plyvel.DB("damaged", create_if_missing=True, compression=None)
for number in range(5000): database.put(b"key%06d" % number, b"v" * 100)
database.compact_range()
database.close()
table = max(("damaged/" + name for name in os.listdir("damaged") if name.endswith(".tbl")), key=os.path.getsize)
with open(table, "r+b") as file:
    file.seek(os.path.getsize(table) // 2)
    file.write(b"damaged")
database = plyvel.DB("damaged")
for is_reverse in (False, True):
    shown = 0
    try:
        for entry in database.iterator(reverse=is_reverse): shown += 1
        raise SystemExit(f"{shown} entries and no error")
    except plyvel.CorruptionError as error:
        assert 2000 < shown < 3000, shown
"""


def plyvel(arguments):
    python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
    environment = on_the_dropin(arguments.dropin)
    venv = os.path.join(HOME, "venv")
    mark = os.path.join(venv, f"built-{PLYVEL}")
    if not os.path.exists(mark):
        shutil.rmtree(venv, ignore_errors=True)
        made = run([python, "-m", "venv", venv])
        if made.returncode != 0:
            skip(f"plyvel: {python} cannot make a virtual environment:\n{made.stdout[-500:]}")
        pip = [os.path.join(venv, "bin", "pip"), "install", "-q", *IMPATIENT_PIP]
        download("plyvel's needs", [*pip, "pytest", "setuptools", "wheel"])
        download("plyvel", [*pip[:1], "download", "-q", *IMPATIENT_PIP, "--no-deps", "--no-build-isolation", "--no-binary", ":all:", "-d", venv, f"plyvel=={PLYVEL}"])
        run(["tar", "-C", venv, "-xf", os.path.join(venv, f"plyvel-{PLYVEL}.tar.gz")], check=True)
        built = run([*pip, "--no-build-isolation", "--no-deps", "."], cwd=os.path.join(venv, f"plyvel-{PLYVEL}"))
        expect(built.returncode == 0, "plyvel does not build against Debian's headers", built.stdout)
        open(mark, "w").close()
    with tempfile.TemporaryDirectory() as scratch:
        # Away from its sources, which would hide the built module; where nobody else may read as well.
        shutil.copytree(os.path.join(venv, f"plyvel-{PLYVEL}", "test"), os.path.join(scratch, "test"))
        command = [os.path.join(venv, "bin", "python"), "-c",
                   "import glob, os, plyvel; print(glob.glob(os.path.dirname(plyvel.__file__) + '/*.so')[0])"]
        expect_dropin(run(command).stdout.strip(), environment)
        tests = [os.path.join(venv, "bin", "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", "test"]
        options, wanted = {}, 54
        if os.getuid() == 0:
            options, wanted, tests = as_nobody(tests, environment, scratch, venv)
        done = run(tests, cwd=scratch, env=environment, **options)
        passed = re.search(r"(\d+) passed", done.stdout)
        expect(done.returncode == 0 and passed and int(passed.group(1)) == wanted, f"plyvel: {wanted} tests should pass", done.stdout)
        walked = run([os.path.join(venv, "bin", "python"), "-c", AROUND_DAMAGE], cwd=scratch, env=environment)
        expect(walked.returncode == 0, "plyvel hears of a damaged block", walked.stdout)
        print(f"plyvel {PLYVEL}: {wanted} tests pass; it hears of a damaged block")


def as_nobody(tests, environment, scratch, venv):
    """One of plyvel's tests is about a directory that may not be written to, which root always may: so another user runs them."""
    def become_nobody():
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    os.chown(scratch, NOBODY, NOBODY)
    options = {"preexec_fn": become_nobody}
    can = run([os.path.join(venv, "bin", "python"), "-c", "import plyvel, pytest"], env=dict(environment, HOME=scratch), cwd=scratch, **options)
    if can.returncode == 0:
        environment["HOME"] = scratch
        return options, 54, tests
    print("as root, since nobody else can read the build: without test_open_read_only_dir, which fails for root on any LevelDB")
    return {}, 53, [*tests, "--deselect", "test/test_plyvel.py::test_open_read_only_dir"]


# ---- levigo ----------------------------------------------------------------------------------------------------------------


def go_environment():
    # A module's sum is checked against a server that may not be reachable; pinned versions of public modules need no more.
    return dict(os.environ, GOFLAGS="-mod=mod", GONOSUMDB="*", GONOSUMCHECK="1")


def go_module(module, version):
    text = download(module, ["go", "mod", "download", "-json", f"{module}@{version}"], env=go_environment(), cwd=HOME)
    return re.search(r'"Dir": "([^"]+)"', text).group(1)


def levigo(arguments):
    environment = on_the_dropin(arguments.dropin)
    source = os.path.join(HOME, "levigo")
    binary = os.path.join(source, "levigo.test")
    if not os.path.exists(binary):
        module = go_module("github.com/jmhodges/levigo", LEVIGO)
        shutil.rmtree(source, ignore_errors=True)
        shutil.copytree(module, source)
        run(["chmod", "-R", "u+w", source], check=True)
        built = run(["go", "test", "-c", "-o", binary, "."], cwd=source, env=go_environment())
        expect(built.returncode == 0, "levigo does not build against Debian's headers", built.stdout)
    expect_dropin(binary, environment)
    done = run([binary, "-test.v"], cwd=source, env=environment)
    passed = len(re.findall(r"^--- PASS", done.stdout, re.M))
    expect(done.returncode == 0 and passed == 3, "levigo: 3 tests should pass", done.stdout)
    print(f"levigo {LEVIGO}: 3 tests pass")


# ---- ceph ------------------------------------------------------------------------------------------------------------------


# The tool and the libraries that a machine without Ceph lacks.
CEPH_PACKAGES = ("ceph-base librados2 libaio1 libboost-iostreams1.74.0 libboost-thread1.74.0 libdaxctl1 libfmt9 libibverbs1 libndctl6 "
                 "libnl-3-200 libnl-route-3-200 libpmem1 librdmacm1").split()


def ceph_tool(dropin):
    """The unpacked tool, and the environment in which it finds its libraries and the drop-in."""
    folder = os.path.join(HOME, "ceph")
    if not os.path.exists(os.path.join(folder, "unpacked")):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(os.path.join(folder, "root"))
        download("ceph-kvstore-tool", ["apt-get", "download", "-q", *CEPH_PACKAGES], cwd=folder)
        for package in sorted(name for name in os.listdir(folder) if name.endswith(".deb")):
            unpacked = run(["dpkg", "-x", package, "root"], cwd=folder)
            expect(unpacked.returncode == 0, f"{package} cannot be unpacked", unpacked.stdout)
        open(os.path.join(folder, "unpacked"), "w").close()
    libraries = sorted({root for root, _, names in os.walk(os.path.join(folder, "root")) if any(".so" in name for name in names)})
    environment = on_the_dropin(dropin)
    tool = os.path.join(folder, "root", "usr", "bin", "ceph-kvstore-tool")
    expect_dropin(tool, environment)
    environment["LD_LIBRARY_PATH"] = ":".join([dropin, *libraries])
    missing = re.findall(r"(\S+) => not found", run(["ldd", tool], env=environment).stdout)
    if missing:
        skip(f"ceph-kvstore-tool needs {', '.join(missing)}, which this machine does not have")
    return tool, environment


def ceph(arguments):
    tool, environment = ceph_tool(arguments.dropin)

    def call(database, *command):
        done = run([tool, "leveldb", database, *command], env=environment, cwd=scratch)
        expect(done.returncode == 0, f"ceph-kvstore-tool {' '.join(command)} of {database}", done.stdout)
        return done.stdout

    def keys(database):
        return sorted(re.findall(r"^p\t(\S+)$", call(database, "list"), re.M))

    def repair(database):
        expect("completed without reporting an error" in call(database, "destructive-repair"), f"destructive-repair of {database}")

    with tempfile.TemporaryDirectory() as scratch:
        with open(os.path.join(scratch, "value"), "w", encoding="utf-8") as file:
            file.write("a value")
        os.mkdir(os.path.join(scratch, "empty"))
        repair("empty")
        expect(keys("empty") == [], "nothing is in a database that was made of nothing")
        call("empty", "set", "p", "key", "in", "value")
        call("empty", "get", "p", "key", "out", "read")
        with open(os.path.join(scratch, "read"), encoding="utf-8") as file:
            expect(file.read() == "a value", "the value that was set")
        repair("empty")
        expect(keys("empty") == ["key"], "a repair of a whole database keeps it")

        # A LevelDB directory without its CURRENT, as Ceph keeps its keys: a prefix, a zero byte, the name.
        names = [f"key{i:05}" for i in range(5000)]
        lines = "".join(f"put {(b'p' + bytes(1) + name.encode()).hex()} {os.urandom(100).hex()}\n" for name in names)
        written = run([arguments.stock, "--buffer=65536", "write", os.path.join(scratch, "monitor")], input=lines)
        expect(written.returncode == 0, "LevelDB does not write", written.stdout)
        os.remove(os.path.join(scratch, "monitor", "CURRENT"))
        repair("monitor")
        expect(keys("monitor") == names, "LevelDB's tables and log are saved")

        # The same as a database of mergedb, damaged in the middle of a table.
        tables = [os.path.join(scratch, "monitor", name) for name in os.listdir(os.path.join(scratch, "monitor")) if name.endswith(".tbl")]
        table = max(tables, key=os.path.getsize)
        with open(table, "r+b") as file:
            file.seek(os.path.getsize(table) // 2)
            file.write(b"damaged")
        left = keys("monitor")
        expect(4500 < len(left) < 5000, f"{len(left)} of 5000 keys are listed around the damage")
        repair("monitor")
        expect(keys("monitor") == left, "what could be read before the repair is there after it")
    print(f"ceph-kvstore-tool: destructive-repair of nothing, of LevelDB's files and of a damaged table ({len(left)} of 5000 keys left)")


# ---- files -----------------------------------------------------------------------------------------------------------------


def goleveldb_command():
    folder = os.path.join(HOME, "goleveldb")
    binary = os.path.join(folder, "goleveldb")
    source = os.path.join(HERE, "goleveldb.go")
    if not os.path.exists(binary) or os.path.getmtime(binary) < os.path.getmtime(source):
        os.makedirs(folder, exist_ok=True)
        shutil.copy(source, os.path.join(folder, "main.go"))
        with open(os.path.join(folder, "go.mod"), "w", encoding="utf-8") as file:
            file.write(f"module goleveldb\n\ngo 1.19\n\nrequire github.com/syndtr/goleveldb {GOLEVELDB}\n")
        download("goleveldb", ["go", "build", "-o", binary, "."], cwd=folder, env=go_environment())
    return [binary]


def classic_level_command():
    folder = os.path.join(HOME, "classic-level")
    if not os.path.exists(os.path.join(folder, "node_modules", "classic-level")):
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "package.json"), "w", encoding="utf-8") as file:
            file.write('{"private": true}\n')
        download("classic-level", ["npm", "install", "--no-audit", "--no-fund", "--silent", "--fetch-retries=1", "--fetch-timeout=20000", f"classic-level@{CLASSIC_LEVEL}"], cwd=folder)
    script = os.path.join(folder, "classic_level.js")
    shutil.copy(os.path.join(HERE, "classic_level.js"), script)
    return ["node", script]


def random_lines(seed, count):
    """What a program might do: fresh keys, overwrites, deletes, and some large values; and what it then shows."""
    chance = random.Random(seed)
    lines, shown = [], {}
    for _ in range(count):
        key = f"key{chance.randrange(count // 3):06}".encode() if chance.random() < 0.9 else bytes(chance.randrange(256) for _ in range(chance.randrange(1, 40)))
        if chance.random() < 0.15:
            lines.append(f"del {key.hex()}")
            shown.pop(key, None)
            continue
        value = chance.randbytes(chance.choice((1, 10, 100, 100, 100, 5000))) if chance.random() < 0.5 else b"v" * chance.randrange(1, 300)
        lines.append(f"put {key.hex()} {value.hex()}")
        shown[key] = value
    return "\n".join(lines) + "\n", "".join(f"{key.hex()} {value.hex()}\n" for key, value in sorted(shown.items()))


def files(arguments):
    kin = {"LevelDB": [arguments.stock], "goleveldb": goleveldb_command(), "classic-level": classic_level_command()}
    checked = 0
    for number, (writer, command) in enumerate(kin.items()):
        lines, shown = random_lines(number, 20_000)
        with tempfile.TemporaryDirectory() as scratch:
            database, back = os.path.join(scratch, "database"), os.path.join(scratch, "back")
            small = ["--buffer=65536"] if writer == "LevelDB" else []
            written = run([*command, *small, "write", database], input=lines)
            expect(written.returncode == 0, f"{writer} does not write", written.stdout)
            tables = [name for name in os.listdir(database) if name.endswith((".ldb", ".sst"))]
            expect(len(tables) > 1, f"{writer} wrote only {len(tables)} tables")
            converted = run([arguments.mergedb, "convert", database])
            expect(converted.returncode == 0, f"mergedb does not open what {writer} wrote", converted.stdout)
            scanned = run([arguments.mergedb, "scan", database, "--hex"]).stdout.replace("\t", " ")
            expect(scanned == shown, f"mergedb does not show what {writer} wrote")
            exported = run([arguments.mergedb, "export-leveldb", database, back])
            expect(exported.returncode == 0, "the export fails", exported.stdout)
            for reader, its_command in kin.items():
                copy = os.path.join(scratch, reader)
                shutil.copytree(back, copy)
                read = run([*its_command, "dump", copy])
                expect(read.returncode == 0 and read.stdout == shown, f"{reader} does not show what mergedb exported", read.stdout)
                checked += 1
        print(f"{writer}: {len(tables)} tables read, exported, read back by {', '.join(kin)}")
    expect(checked == 9, "nine ways back")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("client", choices=("plyvel", "levigo", "ceph", "files"))
    parser.add_argument("--dropin", default=os.path.join(ROOT, "build", "release", "dropin"), help="where libleveldb.so.1d is")
    parser.add_argument("--mergedb", default=os.path.join(ROOT, "build", "release", "bin", "mergedb"))
    parser.add_argument("--stock", default="", help="tests/leveldb/stock_leveldb.cc, built")
    arguments = parser.parse_args()
    arguments.dropin = os.path.abspath(arguments.dropin)
    os.makedirs(HOME, exist_ok=True)
    {"plyvel": plyvel, "levigo": levigo, "ceph": ceph, "files": files}[arguments.client](arguments)


if __name__ == "__main__":
    main()
