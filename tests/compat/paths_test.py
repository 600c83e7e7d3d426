#!/usr/bin/env python3
"""All short histories of an interface: one program, two libraries, the same answers.

  paths_test.py lmdb|leveldb BUILD [--family NAME] [--seed N] [--share N] [--length N]

lmdb_paths.c and leveldb_paths.c run every legal path of calls up to a length on LMDB's interface and on LevelDB's C interface
(path_walk.h). If there are too many paths of a length, they run every n-th, evenly; MERGEDB_SEED selects which. MERGEDB_FULL=1: all
paths. A difference prints the path, both answers and the commands that replay this path alone. Without the original library there is
nothing to compare with: exit code 77.
"""

import argparse
import glob
import itertools
import os
import subprocess
import sys
import tempfile

SKIP = 77
LIBRARIES = {"lmdb": "liblmdb.so.0", "leveldb": "libleveldb.so.1d"}
# Family: calls of a path; paths of each length; calls of a path with MERGEDB_FULL, which runs all paths.
FAMILIES = {
    "lmdb": {"positions": (3, 8000, 3), "cursor": (5, 5000, 5), "places": (5, 100_000, 6), "cursors": (5, 4000, 4), "nested": (6, 5000, 5),
             "parent": (6, 100_000, 6), "transactions": (7, 4000, 6), "readers": (6, 4000, 6), "names": (6, 4000, 6)},
    "leveldb": {"writes": (4, 2500, 4), "iterator": (5, 3000, 5), "iterators": (6, 3000, 6), "snapshots": (5, 3000, 5)},
}


def scratch():
    """WHY in memory: the paths need no disk, and LevelDB syncs its tables."""
    return tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)


def environment(folder):
    variables = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    return dict(variables, LD_LIBRARY_PATH=folder)


def start(command, folder):
    return subprocess.Popen(command, env=environment(folder), text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def replay(program, family, folders, path):
    """The answers of both libraries to this path alone."""
    answers = []
    for folder in folders:
        with scratch() as home, start([program, home, family, "--path", path], folder) as process:
            answers.append(process.communicate()[0].strip())
    return answers


def report(program, family, folders, lines):
    path = (lines[0] or lines[1] or "").split(" =", 1)[0]
    print(f"FAILED: family {family}: {path}\n  original: {(lines[0] or 'ended').strip()}\n  mergedb:  {(lines[1] or 'ended').strip()}")
    if path.startswith("start "):
        answers = replay(program, family, folders, path)
        print("The path alone:", "no difference; the paths before it matter" if answers[0] == answers[1] else "the same difference")
        for folder in folders:
            print(f"  D=$(mktemp -d) && LD_LIBRARY_PATH={folder} {program} $D {family} --path '{path}'")


def same_answers(program, family, folders, words):
    """Compares line by line while both run. Returns the number of paths, or None after a difference."""
    paths = 0
    with scratch() as theirs, scratch() as ours:
        processes = [start([program, home, family, *map(str, words)], folder) for home, folder in zip((theirs, ours), folders)]
        try:
            for lines in itertools.zip_longest(*(process.stdout for process in processes)):
                if lines[0] != lines[1]:
                    report(program, family, folders, lines)
                    return None
                if lines[0].startswith("# "):
                    print(lines[0][2:], end="", flush=True)
                paths += not lines[0].startswith("# ")
        finally:
            for process in processes:
                process.kill()
                process.communicate()
    codes = [process.returncode for process in processes]
    if any(codes):
        print(f"FAILED: family {family}: exit codes {codes}")
        return None
    return paths


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("interface", choices=FAMILIES)
    parser.add_argument("build")
    parser.add_argument("--family")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("MERGEDB_SEED", "0"), 0))
    parser.add_argument("--share", type=int, default=1, help="runs one N-th of the paths")
    parser.add_argument("--length", type=int, help="all paths of at most so many calls")
    arguments = parser.parse_args()
    library = LIBRARIES[arguments.interface]
    originals = glob.glob(f"/usr/lib/*/{library}") + glob.glob(f"/usr/lib/{library}")
    if not originals:
        print(f"SKIPPED: no {library} on this machine")
        sys.exit(SKIP)
    build = os.path.abspath(arguments.build)
    program = os.path.join(build, "tests", f"compat_{arguments.interface}_paths")
    folders = (os.path.dirname(originals[0]), os.path.join(build, "dropin"))

    is_full, paths, is_same = os.environ.get("MERGEDB_FULL") == "1", 0, True
    for family, (length, paths_max, length_full) in FAMILIES[arguments.interface].items():
        if arguments.family not in (None, family):
            continue
        words = (length, paths_max // arguments.share, arguments.seed)
        if arguments.length or is_full:
            words = (arguments.length or length_full,)
        found = same_answers(program, family, folders, words)
        is_same = is_same and found is not None
        paths += found or 0
    print(f"{paths} paths, each the same" if is_same else "FAILED")
    sys.exit(0 if is_same else 1)


if __name__ == "__main__":
    main()
