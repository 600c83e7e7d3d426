#!/usr/bin/env python3
"""Checks the protocol of durability (docs/spec/durability.pml) with Spin: every interleaving of small configurations is
right, and each mutation of the protocol breaks a promise.

usage: spec.py [--out DIR] [NAME...]     all, or the configurations and mutations with these names

Each one prints its result, the number of states, and the time. Exit 1: a promise is broken, a search did not end, or a
mutation was not noticed. A counterexample is replayed by the command that is printed.
"""

import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MODEL = os.path.join("docs", "spec", "durability.pml")
STATE_MIB = 6000  # memory of one search

CONFIGURATIONS = {
    "one-crash-strict": ["-DCRASHES=1", "-DFAULTS=1"],
    "one-crash-journaled": ["-DCRASHES=1", "-DFAULTS=1", "-DJOURNALED"],
    "two-crashes-strict": ["-DWRITES=2", "-DCRASHES=2", "-DFAULTS=1"],
    "two-crashes-journaled": ["-DWRITES=2", "-DCRASHES=2", "-DFAULTS=1", "-DJOURNALED"],
    "three-writes-two-crashes": ["-DWRITES=3", "-DCRASHES=2", "-DFAULTS=0"],
}
# The number in the model, the assertion that must fail, and the rule that is broken.
MUTATIONS = {
    "buffer-reused": (1, "buf", "a slot of the WAL buffer is reused before its frame is in a segment or released"),
    "segment-reused": (2, "r>=acked", "a flush frees the segments, before the MANIFEST is durable"),
    "committed-file-reused": (3, "mn==0", "the file that the durable MANIFEST names is written over"),
    "doubtful-file-reused": (4, "mn==0", "the file that a MANIFEST of unknown outcome names is written over"),
    "file-in-commit-reused": (5, "mn==0", "the file of a commit on its way is written over"),
    "early-acknowledgment": (6, "r>=synced", "a synced write is acknowledged before the sync"),
    "sync-again": (7, "r>=synced", "a sync that failed is tried again, and its success believed"),
    "table-not-synced": (8, "mn==0", "a table is not synced before the MANIFEST names it"),
    "name-not-synced": (9, "mn==0", "a table's name is not synced before the MANIFEST names it"),
    "early-release": (10, "r>=", "the WAL is released before the MANIFEST is durable"),
    "orphans-at-once": (11, "mn==0", "an open takes orphans before its first commit is durable"),
}


def flags_of(name):
    if name in CONFIGURATIONS:
        return CONFIGURATIONS[name]
    number, _, _ = MUTATIONS[name]
    # Each of these two configurations is searched without a mutation, too.
    base = "three-writes-two-crashes" if name == "orphans-at-once" else "one-crash-strict"
    return [f"-DMUT={number}", *CONFIGURATIONS[base]]


def run(command, directory):
    return subprocess.run(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def search(name, out):
    """Returns (the line to print, whether it is as expected)."""
    directory = os.path.join(out, name)
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    start = time.monotonic()
    made = run(["spin", "-a", *flags_of(name), os.path.join(ROOT, MODEL)], directory)
    if made.returncode == 0:
        # One process: a reduction of interleavings has nothing to reduce. WHY no -DNOBOUNDCHECK: an index may be wrong.
        made = run(["gcc", "-O2", "-w", "-DSAFETY", "-DNOREDUCE", f"-DMEMLIM={STATE_MIB}", "-o", "pan", "pan.c"], directory)
    if made.returncode != 0:
        return f"{name}: {made.stdout.strip()}", False
    text = run(["./pan", "-E", "-m1000000", "-w24"], directory).stdout
    with open(os.path.join(directory, "pan.log"), "w", encoding="utf-8") as file:
        file.write(text)
    errors, states = re.search(r"errors: (\d+)", text), re.search(r"(\d+) states, stored", text)
    if not errors or not states or re.search(r"out of memory|Search not completed|too small", text) and errors.group(1) == "0":
        return f"{name}: the search did not end: {os.path.join(directory, 'pan.log')}", False
    took = f"{int(states.group(1)):,} states, {time.monotonic() - start:.0f} s"
    failed = re.search(r"pan:1: (.*) \(at depth", text)
    if name in MUTATIONS:
        _, expected, rule = MUTATIONS[name]
        if failed and expected in failed.group(1):
            return f"{name} ({rule}): found: {failed.group(1)}; {took}", True
        return f"{name} ({rule}): {'found by another assertion: ' + failed.group(1) if failed else 'NOT FOUND'}; {took}", False
    if not failed:
        return f"{name}: no promise is broken; {took}", True
    replay = f"cd {directory} && spin -t -p -g {' '.join(flags_of(name))} -k durability.pml.trail {os.path.join(ROOT, MODEL)}"
    return f"{name}: {failed.group(1)}; {took}; to see the steps: {replay}", False


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default=os.path.join(ROOT, "build", "spec"))
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args(arguments)
    everything = [*CONFIGURATIONS, *MUTATIONS]
    unknown = set(args.names) - set(everything)
    if unknown:
        parser.error(f"no configuration or mutation {', '.join(sorted(unknown))}; there are: {', '.join(everything)}")
    if shutil.which("spin") is None:
        parser.error("Spin is missing: apt-get install spin")
    with open(os.path.join(ROOT, MODEL), encoding="utf-8") as file:
        in_model = set(map(int, re.findall(r"MUT [!=]= (\d+)", file.read()))) - {0}
    if in_model != {number for number, _, _ in MUTATIONS.values()}:
        parser.error(f"{MODEL} has the mutations {sorted(in_model)}, and this script other ones")
    is_good = True
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for line, is_expected in pool.map(lambda name: search(name, os.path.abspath(args.out)), args.names or everything):
            print(line, flush=True)
            is_good = is_good and is_expected
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
