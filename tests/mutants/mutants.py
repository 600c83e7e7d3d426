#!/usr/bin/env python3
"""Mutation tests: the patches of this folder make the library wrong, one at a time, and a test must notice each.

usage: mutants.py check                 every patch applies, alone and with the others; src/ holds no mutant
       mutants.py copy DIRECTORY        copies the tree to DIRECTORY and applies all patches there
       mutants.py targets               the test programs that a build of the copy must have
       mutants.py run BUILD [NAME...]   runs the tests of each mutant, or of those named
       mutants.py renumber              writes the line numbers of all hunks anew

`./dev test mutants` does copy, build and run. A patch is a file NAME.patch:

    One sentence that says what the mutant does wrong.

    Found-by: PROGRAM FILTER           a test program and a filter of GoogleTest; the first that fails has found it

    --- a/src/... +++ b/src/...        a unified diff, in which MUTANT(NAME) chooses the wrong behaviour at run time

All patches apply to one copy, so there is one build. Each patched file of the copy includes mutant.h. The environment
variable MERGEDB_MUTANT=NAME activates one mutant. To make a patch: edit the source, `git diff -U2 > tests/mutants/NAME.patch`, add the head,
and `git checkout` the source.
"""

import concurrent.futures
import difflib
import os
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CPU_SECONDS_MAX = 120  # of one test; the CPU time of other processes does not count
SECONDS_MAX = 1200
WORKERS = 2
HEADER = "src/base/mutant.h"  # where the copy has mutant.h
COPIED = ("CMakeLists.txt", "CMakePresets.json", "bench", "cmake", "deps", "examples", "fuzz", "include", "java/native", "scripts", "src", "testing",
          "tests", "tools", "torture")


class PatchError(Exception):
    pass


class Hunk:
    """Lines `old` of the file at `path`, at about line `line` (from 0), become the lines `new`."""

    def __init__(self, path, line):
        self.path, self.line = path, line
        self.old, self.new = [], []

    def find(self, lines):
        """The index in `lines` where `old` begins: the match that is nearest to the expected line."""
        count = len(self.old)
        matches = [at for at in range(len(lines) - count + 1) if lines[at:at + count] == self.old]
        return min(matches, key=lambda at: abs(at - self.line), default=None)

    def edits(self, at):
        """(begin, end, lines) for each changed range of lines, if the hunk begins at line `at`."""
        for tag, a, b, c, d in difflib.SequenceMatcher(None, self.old, self.new, autojunk=False).get_opcodes():
            if tag != "equal":
                yield at + a, at + b, self.new[c:d]


class Mutant:
    def __init__(self, path):
        self.name = os.path.basename(path).removesuffix(".patch")
        self.path = path
        with open(path, encoding="utf-8") as file:
            self.text = file.read()
        head, _, _ = self.text.partition("\n--- a/")
        self.what = head.strip().splitlines()[0] if head.strip() else ""
        self.finders = [tuple(line.split(None, 1)) for line in re.findall(r"^Found-by: (\S+ \S.*)$", head, re.M)]
        self.hunks = list(self.parse())
        names = set(re.findall(r"\bMUTANT\((\w+)\)", self.text))
        if not self.what or not self.finders or not self.hunks or names != {self.name}:
            raise PatchError(f"{path}: expected a sentence, Found-by lines and a diff with MUTANT({self.name}), found "
                             f"{len(self.finders)} Found-by lines, {len(self.hunks)} hunks and the names {sorted(names)}")

    def parse(self):
        path, hunk = None, None
        for line in self.text.splitlines():
            if line.startswith("+++ b/"):
                path = line[6:]
            elif line.startswith("@@ "):
                hunk = Hunk(path, int(re.match(r"@@ -(\d+)", line).group(1)) - 1)
                yield hunk
            elif line.startswith("--- a/"):
                hunk = None
            elif hunk is not None and line[:1] in (" ", "-", "+", ""):
                if line[:1] != "+":
                    hunk.old.append(line[1:])
                if line[:1] != "-":
                    hunk.new.append(line[1:])


def mutants():
    names = sorted(name for name in os.listdir(HERE) if name.endswith(".patch"))
    return [Mutant(os.path.join(HERE, name)) for name in names]


def read_lines(path):
    try:
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            return file.read().splitlines()
    except OSError as error:
        raise PatchError(f"{path}: {error.strerror}") from error


def patched_files(all_mutants):
    """The text of each file that a patch changes, with all patches applied."""
    edits = {}
    for mutant in all_mutants:
        for hunk in mutant.hunks:
            at = hunk.find(read_lines(hunk.path))
            if at is None:
                raise PatchError(f"tests/mutants/{mutant.name}.patch: the hunk for line {hunk.line + 1} of {hunk.path} does not apply:"
                                 " its lines with ' ' and '-' are not in the file; adapt the patch to the changed source")
            edits.setdefault(hunk.path, []).extend((begin, end, lines, mutant.name) for begin, end, lines in hunk.edits(at))
    files = {}
    for path, changes in edits.items():
        lines, done, last = read_lines(path), [], (0, "")
        at = 0
        for begin, end, new, name in sorted(changes, key=lambda change: change[:2]):
            if begin < last[0]:
                raise PatchError(f"tests/mutants/{name}.patch and {last[1]}.patch change the same lines of {path}, near line {begin + 1}")
            done += lines[at:begin] + new
            at, last = end, (end, name)
        files[path] = "\n".join(done + lines[at:]) + "\n"
    return files


def check():
    all_mutants = mutants()
    patched_files(all_mutants)
    for folder, _, names in os.walk(os.path.join(ROOT, "src")):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as file:
                if re.search(r"\bMUTANT\(", file.read()):
                    raise PatchError(f"{os.path.relpath(path, ROOT)}: MUTANT stands in a source; it belongs into a patch")
    print(f"mutants: {len(all_mutants)} patches apply")


def write_if_changed(path, content):
    """Keeps the time of an unchanged file, so that its objects are not built again."""
    try:
        with open(path, "rb") as file:
            if file.read() == content:
                return
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


def tree():
    """The files to copy, as paths from the root."""
    for top in COPIED:
        if os.path.isfile(os.path.join(ROOT, top)):
            yield top
        for folder, folders, names in os.walk(os.path.join(ROOT, top)):
            folders[:] = [each for each in folders if each != "__pycache__"]
            yield from (os.path.relpath(os.path.join(folder, name), ROOT) for name in names)


def copy(directory):
    changed = patched_files(mutants())
    paths = set(tree())
    for path in sorted(paths):
        target = os.path.join(directory, path)
        if path in changed:
            write_if_changed(target, f'#include "base/mutant.h"\n{changed[path]}'.encode())
        else:
            with open(os.path.join(ROOT, path), "rb") as file:
                write_if_changed(target, file.read())
            shutil.copymode(os.path.join(ROOT, path), target)
    with open(os.path.join(HERE, "mutant.h"), "rb") as file:
        write_if_changed(os.path.join(directory, HEADER), file.read())
    for top in COPIED:
        for folder, _, names in os.walk(os.path.join(directory, top)):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.relpath(path, directory) not in paths | {HEADER}:
                    os.remove(path)
    print(f"{directory}: a copy of the tree with {len(mutants())} mutants in {len(changed)} files")


def renumber():
    for mutant in mutants():
        hunks = iter(mutant.hunks)
        shift = {}

        def head(match):
            hunk = next(hunks)
            at = hunk.find(read_lines(hunk.path))
            if at is None:
                raise PatchError(f"{mutant.path}: does not apply to {hunk.path}")
            begin = at + 1 + shift.get(hunk.path, 0)
            shift[hunk.path] = shift.get(hunk.path, 0) + len(hunk.new) - len(hunk.old)
            return f"@@ -{at + 1},{len(hunk.old)} +{begin},{len(hunk.new)} @@"

        text = re.sub(r"^@@ .*? @@.*$", head, mutant.text, flags=re.M)
        write_if_changed(mutant.path, text.encode())


def first_failure(output):
    """The first failed test of a run, or the test that an assertion stopped."""
    failed = re.search(r"^\[  FAILED  \] (\S+?),? ", output + " ", re.M) or re.search(r"^\[  FAILED  \] (\S+)", output, re.M)
    if failed:
        return failed.group(1)
    running = re.findall(r"^\[ RUN      \] (\S+)", output, re.M)
    return running[-1] + " (stopped by an assertion)" if running else "(stopped before any test)"


def run_test(build, finder, mutant):
    """Whether the test failed, which one or why not, and the seconds. `mutant` is the name to activate, or None."""
    program, tests = finder
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MERGEDB_", "GTEST_"))}
    if mutant:
        environment["MERGEDB_MUTANT"] = mutant
    start = time.monotonic()
    scratch = os.path.join(build, "mutants-scratch")
    os.makedirs(scratch, exist_ok=True)
    command = ["prlimit", f"--cpu={CPU_SECONDS_MAX}", os.path.join(build, "tests", program), f"--gtest_filter={tests}", "--gtest_fail_fast"]
    try:
        done = subprocess.run(command, env=environment, cwd=scratch, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=SECONDS_MAX, check=False)
    except subprocess.TimeoutExpired:
        return False, "time limit", time.monotonic() - start
    seconds = time.monotonic() - start
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return False, "time limit", seconds
    output = done.stdout.decode(errors="replace")
    if done.returncode and not mutant:
        print(output[-4000:], file=sys.stderr)
    return done.returncode != 0, first_failure(output) if done.returncode else "passed", seconds


def check_filters(build, chosen):
    """Each part of a filter names a test: otherwise a mutant would be tried with fewer tests than its patch says."""
    for mutant in chosen:
        for program, tests in mutant.finders:
            for part in tests.split(":"):
                command = [os.path.join(build, "tests", program), f"--gtest_filter={part}", "--gtest_list_tests"]
                listed = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
                if b"\n  " not in listed:
                    raise PatchError(f"tests/mutants/{mutant.name}.patch: no test of {program} is called {part}")


def find(build, mutant):
    tried, seconds = [], 0.0
    for finder in mutant.finders:
        is_found, what, took = run_test(build, finder, mutant.name)
        seconds += took
        if is_found:
            return True, f"{finder[0]} {what}", seconds
        tried.append(f"{finder[0]} {finder[1]}: {what}")
    return False, "; ".join(tried), seconds


def run(build, names):
    build = os.path.abspath(build)
    chosen = [mutant for mutant in mutants() if not names or mutant.name in names]
    unknown = set(names) - {mutant.name for mutant in chosen}
    if unknown:
        raise PatchError(f"no such mutant: {' '.join(sorted(unknown))}; tests/mutants/*.patch are their names")
    check_filters(build, chosen)
    begun = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        controls = sorted({finder for mutant in chosen for finder in mutant.finders})
        broken = [f"{finder[0]} {finder[1]}: {what}" for finder, (failed, what, _) in
                  zip(controls, pool.map(lambda finder: run_test(build, finder, None), controls)) if failed or what != "passed"]
        if broken:
            raise PatchError("these fail without a mutant: " + "; ".join(broken))
        print(f"{len(controls)} tests pass without a mutant, {time.monotonic() - begun:.0f} s", flush=True)
        missed = 0
        for mutant, (is_found, what, seconds) in zip(chosen, pool.map(lambda mutant: find(build, mutant), chosen)):
            print(f"{mutant.name:38} {seconds:6.1f} s  {'found by ' if is_found else 'NOT FOUND: '}{what}", flush=True)
            missed += not is_found
    print(f"{len(chosen) - missed} of {len(chosen)} mutants found in {time.monotonic() - begun:.0f} s")
    return 1 if missed else 0


def main(words):
    command, arguments = (words[0], words[1:]) if words else ("", [])
    if command == "check" and not arguments:
        check()
    elif command == "copy" and len(arguments) == 1:
        copy(os.path.abspath(arguments[0]))
    elif command == "targets" and not arguments:
        print(*sorted({finder[0] for mutant in mutants() for finder in mutant.finders}))
    elif command == "run" and arguments:
        return run(arguments[0], arguments[1:])
    elif command == "renumber" and not arguments:
        renumber()
    else:
        print(__doc__)
        return 0 if command in ("-h", "--help") else 2
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except PatchError as error:
        sys.exit(f"mutants: {error}")
