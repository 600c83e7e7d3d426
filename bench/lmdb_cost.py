#!/usr/bin/env python3
"""The cost of small transactions through the LMDB interface: tests/compat/lmdb_cost.c on Debian's liblmdb and
on the drop-in, alternately.

  lmdb_cost.py [--build BUILD] [--times N] [--rounds N]

Prints, for each operation, microseconds of CPU of the whole process, background threads included, in the
fastest round; and wall-clock time.
"""

import argparse
import glob
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COLUMNS = 44, 9, 10, 10  # columns of an output line: operation, count, CPU, wall-clock time


def costs(program, library, times):
    with tempfile.TemporaryDirectory() as home:
        environment = dict(os.environ, LD_LIBRARY_PATH=os.path.dirname(library))
        done = subprocess.run([program, home, str(times)], env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
    lines = done.stderr.splitlines()
    return done.stdout, {line[:COLUMNS[0]].strip(): [float(word) for word in line[COLUMNS[0]:].split()[1:]] for line in lines}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"), help="build directory with dropin/liblmdb.so.0")
    parser.add_argument("--times", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    system = glob.glob("/usr/lib/*/liblmdb.so.0") + glob.glob("/usr/lib/liblmdb.so.0")
    ours = os.path.join(os.path.abspath(arguments.build), "dropin", "liblmdb.so.0")
    if not system or not os.path.exists(ours):
        sys.exit(f"expected Debian's liblmdb0 and {ours}; one of them is missing")
    with tempfile.TemporaryDirectory() as scratch:
        program = os.path.join(scratch, "lmdb_cost")
        source = os.path.join(ROOT, "tests", "compat", "lmdb_cost.c")
        subprocess.run(["cc", "-O2", "-I", os.path.join(ROOT, "include"), source, "-o", program, ours], check=True)
        best = {}
        for _ in range(arguments.rounds):
            answers = set()
            for name, library in (("LMDB", system[0]), ("mergedb", ours)):
                answer, measured = costs(program, library, arguments.times)
                answers.add(answer)
                for phase, figures in measured.items():
                    row = best.setdefault(phase, {})
                    row[name] = min(row.get(name, figures), figures)
            if len(answers) > 1:
                sys.exit("the two libraries returned different results")
    print(f"{'microseconds an operation':<44} {'CPU LMDB':>10} {'mergedb':>10} {'clock LMDB':>11} {'mergedb':>10}")
    for phase, row in best.items():
        print(f"{phase:<44} {row['LMDB'][0]:>10.2f} {row['mergedb'][0]:>10.2f} {row['LMDB'][1]:>11.2f} {row['mergedb'][1]:>10.2f}")


if __name__ == "__main__":
    main()
