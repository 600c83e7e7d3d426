#!/usr/bin/env python3
"""LMDB's interface, judged by LMDB: one program, two libraries, the same answers.

  lmdb_test.py BUILD [--seed N] [--steps N]

Constants and layouts of the two headers; the symbols of the two libraries; transcripts of random programs (lmdb_transcript.c) and of a
list of calls at their edges (lmdb_calls.c); answers of many small transactions (lmdb_cost.c, whose costs bench/lmdb_cost.py shows).
Without Debian's liblmdb there is nothing to compare with: exit code 77.
"""

import argparse
import difflib
import glob
import os
import subprocess
import sys
import tempfile

SKIP = 77
COST_STEPS = 12_000
# Exported by Debian's library by mistake: parts of its inside that no header names.
INTERNAL = ("mdb_midl_", "mdb_mid2l_")
SYSTEM_LIBRARIES = glob.glob("/usr/lib/*/liblmdb.so.0") + glob.glob("/usr/lib/liblmdb.so.0")


def output(command, **options):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, timeout=300, **options).stdout


def symbols(library):
    lines = output(["nm", "-D", "--defined-only", library]).splitlines()
    return {line.split()[-1] for line in lines if not line.split()[-1].startswith(INTERNAL)}


def expect_same(what, theirs, ours):
    if theirs == ours:
        return
    difference = list(difflib.unified_diff(theirs.splitlines(), ours.splitlines(), "LMDB", "mergedb", lineterm="", n=8))
    print("\n".join(difference[:60]))
    print(f"FAILED: {what}")
    sys.exit(1)


def transcript(program, library, *arguments):
    with tempfile.TemporaryDirectory() as home:
        environment = dict(os.environ, LD_LIBRARY_PATH=os.path.dirname(library))
        command = [program, home, *map(str, arguments)]
        try:
            return output(command, env=environment, stderr=subprocess.PIPE)
        except subprocess.CalledProcessError as error:
            print(f"FAILED: {' '.join(command)} exited with {error.returncode}\n{error.stderr}")
            sys.exit(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("MERGEDB_SEED", "1"), 0))
    parser.add_argument("--steps", type=int, default=20_000)
    arguments = parser.parse_args()
    if not SYSTEM_LIBRARIES:
        print("SKIPPED: no liblmdb on this machine")
        sys.exit(SKIP)
    theirs, ours = SYSTEM_LIBRARIES[0], os.path.join(arguments.build, "dropin", "liblmdb.so.0")
    tests = os.path.join(arguments.build, "tests")

    expect_same("constants", output([os.path.join(tests, "compat_lmdb_constants_theirs")]),
                output([os.path.join(tests, "compat_lmdb_constants_ours")]))
    expect_same("symbols", "\n".join(sorted(symbols(theirs))), "\n".join(sorted(symbols(ours))))
    soname = [line for line in output(["readelf", "-d", ours]).splitlines() if "SONAME" in line]
    if not soname or "[liblmdb.so.0]" not in soname[0]:
        print(f"FAILED: soname: {soname}")
        sys.exit(1)

    program = os.path.join(tests, "compat_lmdb_transcript")
    count = 0
    for names in ([], ["names"]):
        for seed in range(arguments.seed, arguments.seed + 4):
            expected = transcript(program, theirs, seed, arguments.steps, *names)
            expect_same(f"transcript of seed {seed} {names}", expected, transcript(program, ours, seed, arguments.steps, *names))
            count += expected.count("\n")
    for what, name, *size in (("calls", "compat_lmdb_calls"), ("small transactions", "compat_lmdb_cost", COST_STEPS)):
        program = os.path.join(tests, name)
        expected = transcript(program, theirs, *size)
        expect_same(what, expected, transcript(program, ours, *size))
        count += expected.count("\n")
    print(f"{count} answers, each the same")


if __name__ == "__main__":
    main()
