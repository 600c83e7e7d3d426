#!/usr/bin/env python3
"""Goal: `mergedb doctor` says of each way to load an engine whether mergedb is in use, and gives the next step.

Method: small programs and libraries, built here, that load the drop-in libraries or libraries that look like LevelDB's
and LMDB's: linked, opened and closed again, in a child process, inside of the program, stripped. No database is opened.

  doctor_test.py BUILD_DIRECTORY CC [unittest arguments]
"""

import mmap
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD, CC = os.path.abspath(sys.argv[1]), sys.argv[2]
MERGEDB, DROPINS = os.path.join(BUILD, "bin", "mergedb"), os.path.join(BUILD, "dropin")
SEED = int(os.environ.get("MERGEDB_SEED", "1"))

LEVELDB = "int leveldb_major_version(void) { return 1; } void* leveldb_open(void) { return 0; }"
LMDB = "int mdb_version(void) { return 0; } int mdb_env_open(void) { return 0; }"
# As a wheel has it: the engine's functions are local, and the symbols are stripped. Only the text of the version is left.
STRIPPED = 'const char* plugin_text(void) { return "LMDB 0.9.31: (July 10, 2023)"; }'
CALLER = "int leveldb_major_version(void); int main(void) { return leveldb_major_version() != 1; }"
OPENER = """#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    void* library = dlopen(argv[i], RTLD_LAZY);
    if (!library) return puts(dlerror()), 9;
    dlclose(library);
  }
  return 0;
}
"""
STATIC = LEVELDB + " int main(void) { return leveldb_open() != 0; }"


def run(*command, **options):
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, **options)


class Doctor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = os.path.realpath(tempfile.mkdtemp(prefix="mergedb_doctor_test_"))
        cls.addClassCleanup(shutil.rmtree, cls.home)
        cls.compile("libleveldb.so.1d", LEVELDB, "-shared", "-fPIC", "-Wl,-soname,libleveldb.so.1d")
        cls.compile("liblmdb.so.0", LMDB, "-shared", "-fPIC", "-Wl,-soname,liblmdb.so.0")
        cls.compile("bundled.so", LEVELDB, "-shared", "-fPIC", "-fvisibility=hidden")
        cls.compile("stripped.so", STRIPPED, "-shared", "-fPIC", "-s")
        cls.compile("innocent.so", "int leveldb_open(void); int f(void) { return leveldb_open(); }", "-shared", "-fPIC", "-Wl,-z,lazy")
        cls.compile("caller", CALLER, "-Wl,-rpath-link," + cls.home, cls.path("libleveldb.so.1d"))
        cls.compile("rigid", CALLER, "-Wl,--disable-new-dtags,-rpath," + cls.home, cls.path("libleveldb.so.1d"))
        cls.compile("opener", OPENER, "-ldl")
        cls.compile("static", STATIC, "-static")

    @classmethod
    def path(cls, name):
        return os.path.join(cls.home, name)

    @classmethod
    def compile(cls, name, text, *flags):
        source = cls.path(name + ".c")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        done = run(CC, "-o", cls.path(name), source, *flags)
        assert done.returncode == 0, done.stderr

    def doctor(self, *words, path="", code=None):
        """The output of mergedb doctor; `path` is LD_LIBRARY_PATH."""
        environment = dict(os.environ, LD_LIBRARY_PATH=path, TMPDIR=self.home)
        done = run(MERGEDB, "doctor", *words, env=environment, cwd=self.home)
        if code is not None:
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertEqual([name for name in os.listdir(self.home) if name.startswith("mergedb_doctor_") and name != "mergedb_doctor_test_"], [])
        return done.stdout + done.stderr

    def test_names_another_engine_and_the_command_that_replaces_it(self):
        said = self.doctor("--", "./caller", path=self.home, code=1)
        self.assertIn(f"{self.path('libleveldb.so.1d')} contains LevelDB itself.", said)
        self.assertIn("mergedb is not in use", said)
        self.assertIn(f"LD_LIBRARY_PATH={DROPINS} ./caller\n", said)

    def test_sees_the_drop_in_library(self):
        said = self.doctor("--", "./caller", path=DROPINS, code=0)
        self.assertRegex(said, re.escape(DROPINS) + r"/libleveldb.so.1d is mergedb \d+\.\d+\.\d+ with the interface of LevelDB.")
        self.assertIn("mergedb is in use: it answers the calls of LevelDB.", said)

    def test_knows_each_drop_in_library_also_without_symbols(self):
        for name, engine in (("libleveldb.so.1d", "LevelDB"), ("libleveldb.so.1", "LevelDB"), ("liblmdb.so.0", "LMDB")):
            copy = self.path("copy-of-" + name)
            shutil.copy(os.path.join(DROPINS, name), copy)
            self.assertEqual(run("strip", copy).returncode, 0)
            said = self.doctor("--", "./opener", copy, code=0)
            self.assertIn(f"mergedb is in use: it answers the calls of {engine}.", said)
        said = self.doctor("--", "./opener", os.path.join(DROPINS, "liblsmdb.so.0"), code=0)
        self.assertIn("mergedb is in use: it answers the calls of LSMDB.", said)

    def test_sees_a_library_that_is_opened_and_closed_in_a_child(self):
        said = self.doctor("--", "sh", "-c", "./opener ./bundled.so && true", path=DROPINS, code=1)
        self.assertIn("bundled.so contains LevelDB itself.", said)
        self.assertIn("LD_LIBRARY_PATH changes nothing for it", said)
        self.assertIn("python3-plyvel", said)

    def test_sees_an_engine_whose_symbols_are_stripped(self):
        said = self.doctor("--", "./opener", "./stripped.so", path=DROPINS, code=1)
        self.assertIn("stripped.so contains LMDB itself.", said)
        self.assertIn("LD_LIBRARY_PATH changes nothing for it", said)

    def test_a_caller_of_an_engine_is_no_engine(self):
        said = self.doctor("--", "./opener", "./innocent.so", code=1)
        self.assertIn("none of the loaded files contains mergedb, LevelDB, LMDB or LSMDB", said)

    def test_says_that_a_run_path_wins(self):
        said = self.doctor("--", "./rigid", path=DROPINS, code=1)
        self.assertIn("run\npath of its own", said)

    def test_reports_both_engines(self):
        said = self.doctor("--", "./opener", "./bundled.so", os.path.join(DROPINS, "libleveldb.so.1d"), code=1)
        self.assertIn("mergedb and LevelDB are both loaded", said)

    def test_looks_into_a_statically_linked_program(self):
        said = self.doctor("--", "./static", path=DROPINS, code=1)
        self.assertIn("The program is statically linked", said)
        self.assertIn("./static contains LevelDB itself.".removeprefix("./"), said)

    def test_passes_output_and_exit_code_on(self):
        said = self.doctor("--", "sh", "-c", "echo 'a b'; exit 7", code=1)
        self.assertTrue(said.startswith("a b\nThe command ended with exit code 7.\n"), said)
        self.assertIn("ended by signal 9", self.doctor("--", "sh", "-c", "kill -9 $$", code=1))
        self.assertIn("LD_LIBRARY_PATH=" + DROPINS + " sh -c './caller; true'\n", self.doctor("--", "sh", "-c", "./caller; true", path=self.home, code=1))

    def test_the_command_itself_uses_mergedb(self):
        self.assertIn("mergedb is in use by its own interface.", self.doctor("--", MERGEDB, "--version", code=0))

    def test_refuses_what_it_cannot_run(self):
        self.assertIn("nosuch: cannot be run: No such file", self.doctor("--", "nosuch", code=3))
        self.assertIn("a command goes after --", self.doctor("true", code=2))
        self.assertIn("cannot be combined", self.doctor("--pid", "1", "--", "true", code=2))
        self.assertIn("cannot be read", self.doctor("--pid", "2147483646", code=3))

    def test_checks_the_installation(self):
        said = self.doctor(code=0)
        self.assertIn("the engine works", said)
        for name in ("libleveldb.so.1d", "libleveldb.so.1", "liblmdb.so.0", "liblsmdb.so.0"):
            self.assertIn(f"{DROPINS}/{name} is mergedb", said)

    def test_looks_at_a_running_process(self):
        # A program that waits in a signal-safe way: the shell's read on a pipe that stays open.
        with subprocess.Popen([sys.executable, "-c", "import ctypes, sys; ctypes.CDLL(sys.argv[1]); print(flush=True); sys.stdin.read()",
                               os.path.join(DROPINS, "liblmdb.so.0")], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            said = self.doctor("--pid", str(process.pid), code=0)
            process.stdin.close()
        self.assertIn("mergedb is in use: it answers the calls of LMDB.", said)

    def test_survives_damaged_files(self):
        """This process maps damaged copies of a library; doctor looks at this process."""
        with open(self.path("libleveldb.so.1d"), "rb") as file:
            whole = file.read()
        draw = random.Random(SEED)
        maps = []
        for number in range(300):
            damaged = bytearray(whole[:draw.choice((len(whole), draw.randrange(1, len(whole))))])
            # Half of the damage hits the header, which has the offsets of all tables.
            for _ in range(draw.randrange(8)):
                damaged[draw.randrange(min(len(damaged), draw.choice((64, len(damaged)))))] = draw.choice((0, 0xFF, draw.randrange(256)))
            path = self.path(f"damaged-{number}")
            with open(path, "wb") as file:
                file.write(damaged)
            with open(path, "rb") as file:
                maps.append(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ))
        done = run(MERGEDB, "doctor", "--pid", str(os.getpid()))
        for each in maps:
            each.close()
        self.assertIn(done.returncode, (0, 1), f"MERGEDB_SEED={SEED}: {done.stderr}")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
