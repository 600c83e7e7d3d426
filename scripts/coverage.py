#!/usr/bin/env python3
"""Line coverage of src/, and the error branches that no test takes.

  ./dev coverage             build with gcov, run the tests, print
  ./dev coverage --report    print the result of the last run again

An error branch is a RETURN_IF_ERROR or an ASSIGN_OR_RETURN whose failure no test caused, or an unreached line
that makes a failed Status. tests/untaken_branches.txt lists the branches that no test can take, with the
reasons; any other branch fails the check. gcovr (a Debian package) reads the counts. The tests are those of
`./dev test`, without the kill tests, whose processes die before they write their counts.
"""

import argparse
import collections
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, "build", "coverage")
LABELS = "^(unit|golden|db|crash|errors|flips|model|race|regress|compat|clients)$"
GOAL = 95.0
REASONS = os.path.join(ROOT, "tests", "untaken_branches.txt")
MACRO = re.compile(r"\b(RETURN_IF_ERROR|ASSIGN_OR_RETURN)\b")
FAILURE = re.compile(r"return .*(Status::(?!Ok\b)[A-Z]\w+\(|PosixStatus\(|Differs\(|\bDamaged\w*\()|return (std::move\()?\w+(\)|->|\.)*(error\(\)|status\(\))|return status;")


def run_tests():
    for folder, _, names in os.walk(BUILD):
        for name in names:
            if name.endswith(".gcda"):
                os.remove(os.path.join(folder, name))
    # Without the test "package": its program links the library without gcov.
    subprocess.run(["ctest", "--test-dir", BUILD, "-L", LABELS, "-E", "^package$", "-j", str(os.cpu_count() or 1), "--output-on-failure", "--progress"], check=False)


def read_counts():
    out = os.path.join(BUILD, "coverage.json")
    subprocess.run(["gcovr", "--root", ROOT, "--object-directory", BUILD, "--filter", os.path.join(ROOT, "src", ""), "--exclude-throw-branches",
                    "--json", out, BUILD], check=True, stderr=subprocess.DEVNULL)
    with open(out, encoding="utf-8") as file:
        return json.load(file)["files"]


def has_failed(branches):
    """True if a test caused the failure. The macro's own branch is the last one of the line whose second
    direction was taken: success jumps, failure falls through. Earlier and later branches belong to destructors
    of temporaries; only a failure reaches the later ones."""
    tests = [first["count"] for first, second in zip(branches, branches[1:])
             if first["fallthrough"] and not second["fallthrough"] and second["count"] > 0]
    return not tests or tests[-1] > 0


def error_branches(path, lines):
    """Returns the lines of `path` whose failure no test caused."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        text = file.read().splitlines()
    missed = []
    for line in lines:
        words = text[line["line_number"] - 1] if line["line_number"] <= len(text) else ""
        if MACRO.search(words) and line["count"] > 0:
            if not has_failed(line["branches"]):
                missed.append((line["line_number"], "never failed", words.strip()))
        elif line["count"] == 0 and (FAILURE.search(words) or MACRO.search(words)):
            missed.append((line["line_number"], "never reached", words.strip()))
    return missed


def read_reasons():
    """Returns {(path, text of the line): why no test takes it}."""
    reasons = {}
    with open(REASONS, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                path, rest = line.rstrip("\n").split(" | ", 1)
                words, reason = rest.rsplit(" | ", 1)
                reasons[path, words] = reason
    return reasons


def print_branches(missed):
    """Prints the branches. Returns the number of those that have no reason."""
    reasons = read_reasons()
    bare = [(path, number, what, words) for path, number, what, words in missed if (path, words) not in reasons]
    print(f"\nError branches that no test took: {len(missed)}. Listed with a reason in {os.path.relpath(REASONS, ROOT)}: {len(missed) - len(bare)}. Not listed:")
    for path, number, what, words in bare:
        print(f"  {path}:{number}: {what}: {words}")
    gone = set(reasons) - {(path, words) for path, _, _, words in missed}
    if gone:
        print("\nListed, but now taken or removed:")
        for path, words in sorted(gone):
            print(f"  {path} | {words}")
    return len(bare)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", action="store_true", help="do not run the tests again")
    parser.add_argument("--lines", action="store_true", help="print all lines that no test reached")
    chosen = parser.parse_args()
    if not chosen.report:
        run_tests()
    files = read_counts()
    folders = collections.defaultdict(lambda: [0, 0])
    missed, unreached = [], []
    for file in sorted(files, key=lambda file: file["file"]):
        lines = [line for line in file["lines"] if not line.get("gcovr/noncode")]
        hit = sum(line["count"] > 0 for line in lines)
        for name in (os.path.dirname(file["file"]), "all of src/"):
            folders[name][0] += hit
            folders[name][1] += len(lines)
        missed += [(file["file"], *one) for one in error_branches(file["file"], lines)]
        unreached += [(file["file"], line["line_number"]) for line in lines if line["count"] == 0]
    bare = print_branches(missed)
    if chosen.lines:
        print("\nLines that no test reached:")
        for path, number in unreached:
            with open(os.path.join(ROOT, path), encoding="utf-8") as source:
                print(f"  {path}:{number}: {source.read().splitlines()[number - 1].strip()}")
    print(f"\n{'':20} {'lines':>7} {'reached':>8}")
    for name, (hit, count) in sorted(folders.items(), key=lambda item: (item[0] == "all of src/", item[0])):
        print(f"{name:20} {count:7} {100 * hit / count:7.1f} %")
    hit, count = folders["all of src/"]
    print(f"goal: {GOAL} % of lines, and 0 error branches that are neither taken nor listed; found {bare}")
    return 0 if 100 * hit / count >= GOAL and bare == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
