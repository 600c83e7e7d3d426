#!/usr/bin/env python3
"""py-lmdb's own tests, unmodified, on the drop-in liblmdb or on mergedb_kv.lmdb.

  py_lmdb.py --dropin BUILD/dropin
  py_lmdb.py --package PYTHON         an interpreter that has mergedb_kv (./dev test python-lmdb)

py-lmdb is downloaded once into build/clients. For the drop-in it is built there with LMDB_FORCE_SYSTEM=1 against include/lmdb.h. For the package,
`import lmdb` finds mergedb_kv.lmdb, and beside it py-lmdb's own aio.py and tool.py, which are programs over it. What does not pass is listed
below with its reason; anything else that does not is a failure. Exit code 77: it cannot be had here (no network).
"""

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
HOME = os.path.join(ROOT, "build", "clients")
VERSION = "2.3.0"
PIP = ["-q", "--retries", "1", "--timeout", "15"]
SKIP = 77
PASSES_MIN = 335
PYTEST = ["-q", "-p", "no:cacheprovider", "-o", "addopts="]
# The module `lmdb` for --package.
MODULE = """from mergedb_kv.lmdb import *
from mergedb_kv.lmdb import __all__, __version__, open
"""

# Not run: what they are about does not exist here.
NOT_RUN = {
    "cve_test.py": "crafts LMDB's own data.mdb byte by byte",
    "large_write_test.py": "values of 2 GiB and more; ours end at 1 GiB",
}
DUPSORT = "MDB_DUPSORT is refused"
# By class and test; a class alone stands for all of its tests.
FAILS = {
    "OpenTest.test_subdir_false_ok": "an environment is a directory, also with MDB_NOSUBDIR",
    "CmdWarmTest.test_warm_single_file": "the same: the tool reads the file of the environment",
    "OtherMethodsTest.test_reader_check": "a dead reader of another process: another process cannot be one",
    "MapResizeTest.test_opendb_resize": "the same: another process grows the map beside a reader",
    "PreloadTest.test_preload": "values lie in blocks, not in a map whose pages could be counted",
    "GetattrFallbackTest.test_fallback": "reads private attributes of py-lmdb's cffi module",
    "GetMultiTestDupsortNoDupfixed": DUPSORT,
    "GetMultiTestDupsortDupfixed": DUPSORT,
    "GetMultiTestDupsortDupfixedKeyfixed": DUPSORT,
    "DupsortSubpageTest": DUPSORT,
    "DupsortSubDbTest": DUPSORT,
    "Leaf2DupfixedTest": DUPSORT,
    "NestedTxnDataLayoutTest.test_nested_dupsort_promotion": DUPSORT,
    "AsyncCursorTest.test_count": DUPSORT,
    "MultiputTest.test_multiput_segfault": DUPSORT,
    "BadCursorTest.test_cursor_open_failure": DUPSORT,
    "CursorTest2": DUPSORT,
    "PutmultiTest.test_dupsort": DUPSORT,
    "PutmultiTest.test_dupsort_put_append": DUPSORT,
    "PutmultiTest.test_dupsort_putmulti_append": DUPSORT,
    "OpenDbTest.test_flags": DUPSORT,
    "GetTest.test_dupfixed": DUPSORT,
    "GetTest.test_dupsort": DUPSORT,
    "GetTest.test_integerdup": DUPSORT,
    "ReplaceTest.test_dupsort_del_none": DUPSORT,
    "ReplaceTest.test_dupsort_noexist": DUPSORT,
}


def run(command, **options):
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=900, **options)


def download(command, **options):
    try:
        done = run(command, **options)
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        print(f"SKIPPED: {error}")
        sys.exit(SKIP)
    if done.returncode != 0:
        print(done.stdout[-2000:])
        print(f"SKIPPED: {' '.join(command[:5])} ... failed (is there a network?)")
        sys.exit(SKIP)


def download_sources(python):
    """The source distribution of py-lmdb. `python` has setuptools."""
    sources, archive = os.path.join(HOME, f"lmdb-{VERSION}"), os.path.join(HOME, f"lmdb-{VERSION}.tar.gz")
    os.makedirs(HOME, exist_ok=True)
    if not os.path.exists(archive):
        download([python, "-m", "pip", "download", *PIP, "--no-binary", ":all:", "--no-deps", "--no-build-isolation", "-d", HOME,
                  f"lmdb=={VERSION}"], env=dict(os.environ, LMDB_FORCE_CPYTHON="1"))
    shutil.rmtree(sources, ignore_errors=True)
    with tarfile.open(archive) as file:
        file.extractall(HOME)
    return sources


def prepare_package(python):
    """The folder of the tests, and the environment in which they find mergedb_kv.lmdb."""
    download([python, "-m", "pip", "install", *PIP, "setuptools", "wheel", "pytest"])
    sources, module = download_sources(python), os.path.join(HOME, "lmdb-package", "lmdb")
    os.makedirs(module, exist_ok=True)
    for name in ("aio.py", "tool.py", "__main__.py"):
        shutil.copy(os.path.join(sources, "lmdb", name), module)
    with open(os.path.join(module, "__init__.py"), "w", encoding="utf-8") as file:
        file.write(MODULE)
    tests, environment = os.path.join(sources, "tests"), dict(os.environ, LMDB_FORCE_SYSTEM="1", PYTHONPATH=os.path.dirname(module))
    found = run([python, "-c", "import lmdb; print(lmdb.Environment.__module__)"], env=environment, cwd=tests).stdout.strip()
    if found != "mergedb_kv.lmdb":
        print(f"FAILED: import lmdb finds {found}")
        sys.exit(1)
    return tests, environment


def prepare(dropin):
    """The interpreter that has py-lmdb, and its tests."""
    venv, sources = os.path.join(HOME, "lmdb-venv"), os.path.join(HOME, f"lmdb-{VERSION}")
    python, mark = os.path.join(venv, "bin", "python"), os.path.join(venv, f"built-{VERSION}")
    if os.path.exists(mark):
        return python, os.path.join(sources, "tests")
    download([sys.executable, "-m", "venv", "--clear", venv])
    download([python, "-m", "pip", "install", *PIP, "setuptools", "wheel", "pytest"])
    sources = download_sources(python)
    environment = dict(os.environ, LMDB_FORCE_SYSTEM="1", LMDB_FORCE_CPYTHON="1", LMDB_INCLUDEDIR=os.path.join(ROOT, "include"), LMDB_LIBDIR=dropin)
    built = run([python, "-m", "pip", "install", *PIP, "--no-build-isolation", "--no-deps", sources], env=environment)
    if built.returncode != 0:
        print(built.stdout[-4000:])
        print("FAILED: py-lmdb does not build against include/lmdb.h")
        sys.exit(1)
    open(mark, "w").close()
    return python, os.path.join(sources, "tests")


def reason_for(case):
    name = case.get("classname").split(".")[-1]
    return FAILS.get(f"{name}.{case.get('name')}") or FAILS.get(name)


def main():
    parser = argparse.ArgumentParser()
    chosen = parser.add_mutually_exclusive_group(required=True)
    chosen.add_argument("--dropin")
    chosen.add_argument("--package", metavar="PYTHON")
    arguments = parser.parse_args()
    if arguments.package:
        python = os.path.abspath(arguments.package)  # not its real path: a virtual environment is found by its own
        tests, environment = prepare_package(python)
    else:
        dropin = os.path.abspath(arguments.dropin)
        python, tests = prepare(dropin)
        environment = dict(os.environ, LMDB_FORCE_SYSTEM="1", LD_LIBRARY_PATH=dropin)
        module = run([python, "-c", "import lmdb.cpython; print(lmdb.cpython.__file__)"], env=environment, cwd=tests).stdout.strip()
        if f"{dropin}/liblmdb.so.0" not in run(["ldd", module], env=environment).stdout:
            print(f"FAILED: {module} does not find the drop-in in {dropin}")
            sys.exit(1)

    passed, failed = 0, []
    for file in sorted(name for name in os.listdir(tests) if name.endswith("_test.py") and name not in NOT_RUN):
        # One process a file: a test that forks runs the rest of its file in the child as well, and writes the report first.
        report = os.path.join(HOME, f"{file}.xml")
        if os.path.exists(report):
            os.remove(report)
        output = run([python, "-m", "pytest", *PYTEST, f"--junitxml={report}", file], env=environment, cwd=tests).stdout
        if not os.path.exists(report):
            print(output[-4000:])
            print(f"FAILED: {file} did not come to its end")
            sys.exit(1)
        cases = list(xml.etree.ElementTree.parse(report).getroot().iter("testcase"))
        if not cases:
            failed.append(f"{file}: none of its tests ran: {output[-500:]}")
        for case in cases:
            kinds = {child.tag for child in case}
            if not kinds & {"failure", "error", "skipped"}:
                passed += 1
            elif kinds & {"failure", "error"} and reason_for(case) is None:
                failed.append(f"{file}: {case.get('classname')}.{case.get('name')}: {next(iter(case)).get('message', '')[:200]}")
    print("\n".join(failed))
    print(f"{passed} of py-lmdb {VERSION}'s tests pass; {len(failed)} fail that should not")
    sys.exit(1 if failed or passed < PASSES_MIN else 0)


if __name__ == "__main__":
    main()
