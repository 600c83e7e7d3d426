#!/usr/bin/env python3
"""Checks the repository's rules. Fails if a rule is broken; advice is only printed.

T1  layers: a file of src/ includes its own folder, folders with a smaller number in src/LAYERS, include/mergedb/, std
T2  public headers include only public headers and std
T3  threads, clocks, files and randomness are used only in env/, bench/, tools/, tests/, testing/
T4  every source is listed in a CMakeLists.txt
T5  every path and invariant label in the docs, and every path in a comment, exists
T6  src/c includes only public headers, base and itself
T7  sources of src/, bench/ and testing/ include the standard headers that they use: scripts/includes.py
T8  a header of src/ says with REQUIRES_LOCK which mutex a function named ...Locked needs; clang proves that the callers
    hold it: scripts/thread_safety.py
T9  a source of src/ has the test of its name in tests/unit/, or a row in tests/modules.txt that names its tests
S1  clang-format, and S2 banned words: scripts/style.py
Advice: long functions and files, a header without a header comment.
"""

import argparse
import glob
import os
import re
import sys
import time

import includes
import style

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCE_ROOTS = ("src", "include", "bench", "tools", "testing", "tests", "examples", "fuzz", "torture")
FUNCTION_LINES_MAX, FILE_LINES_MAX, TEST_LINES_MAX = 70, 500, 1000

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.M)
# Not allowed in src/, except in env/.
WORLD = {
    r"std::(jthread|thread|async)\b(?!::id)": "a thread",
    r"\b(steady|system|high_resolution)_clock\b": "a clock",
    r"\bclock_gettime\s*\(|\bgettimeofday\s*\(|\bsleep_for\b|\bnanosleep\s*\(|\busleep\s*\(": "a clock",
    r"(?<![\w.:>])s?rand\s*\(|\brandom_device\b|\bmt19937|\bgetrandom\s*\(": "randomness without a seed",
    r"\bfopen\s*\(|\b[io]?fstream\b|(?<![\w:>.])::(open|creat|mmap|pread|pwrite|unlink|rename|mkdir)\s*\(": "a file",
    r"\bpthread_create\s*\(|\bfork\s*\(": "a thread",
}
# Also not allowed in the layers up to QUIET_LAST_FLOOR: locks and system headers. Only these
# headers may include them.
QUIET_HEADERS = {"thread", "fstream", "filesystem", "chrono", "mutex", "condition_variable", "shared_mutex", "unistd.h",
                 "fcntl.h", "sys/mman.h", "sys/stat.h", "pthread.h", "random"}
QUIET_LAST_FLOOR = 5
SYNC_HEADERS = {"src/base/sync.h", "src/base/fork_safe.h"}

# Folders that may include fewer folders than their number allows. The C interface is a client of the C++ interface.
NARROW = {"c": {"c", "base"}}

# Files and folders of include/ outside of include/mergedb/, because programs include them by these names; and the
# layers that may include them.
INTERFACE_HEADERS = {"leveldb": {"leveldb/interface"}, "lmdb.h": {"lmdb", "lsmdb"}, "lsmdb.h": {"lsmdb"}}


class Report:
    def __init__(self):
        self.errors, self.advice = [], []

    def error(self, rule, path, line, text):
        self.errors.append(f"{path}:{line}: {rule} {text}")

    def advise(self, path, line, text):
        self.advice.append(f"{path}:{line}: {text}")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def sources(*roots, endings=(".h", ".cc", ".c")):
    for root in roots:
        for folder, folders, names in os.walk(os.path.join(ROOT, root)):
            folders.sort()
            for name in sorted(names):
                if name.endswith(endings):
                    yield os.path.relpath(os.path.join(folder, name), ROOT)


def code_only(text):
    """Returns the text with comments and the contents of literals blanked. Line numbers stay the same."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def line_at(text, offset):
    return text.count("\n", 0, offset) + 1


def layers():
    numbers = {}
    for line in read("src/LAYERS").splitlines():
        words = line.split("#")[0].split()
        if len(words) == 2:
            numbers[words[1]] = int(words[0])
    return numbers


def layer_of(path, numbers):
    """Returns the innermost folder of a path below src/ that is a layer; None if no folder is."""
    folder = os.path.dirname(path)
    while folder and folder not in numbers:
        folder = os.path.dirname(folder)
    return folder or None


def check_layers(report, numbers):
    for path in sources("src"):
        layer = layer_of(path.removeprefix("src/"), numbers)
        if layer is None:
            report.error("T1", path, 1, f"the folder {os.path.dirname(path)} is not in src/LAYERS")
            continue
        text = read(path)
        for match in INCLUDE.finditer(text):
            quote, name = match.groups()
            line = line_at(text, match.start())
            target = layer_of(name, numbers)
            if name.startswith("mergedb/"):
                if not os.path.exists(os.path.join(ROOT, "include", name)):
                    report.error("T1", path, line, f"no public header {name}")
            elif quote == "<":
                continue
            elif os.path.exists(os.path.join(ROOT, "include", name)):
                if layer not in INTERFACE_HEADERS.get(name.split("/")[0], ()):
                    report.error("T1", path, line, f"{layer} may not include include/{name}")
            elif target is None:
                report.error("T1", path, line, f'"{name}" is not a path from src/ or include/')
            elif target not in NARROW.get(layer, {target}):
                report.error("T6", path, line, f'{layer} includes only public headers and {sorted(NARROW[layer])}, not "{name}"')
            elif target != layer and numbers[target] >= numbers[layer]:
                report.error("T1", path, line, f"{layer} ({numbers[layer]}) may not include {target} ({numbers[target]})")


def check_public(report):
    for path in sources("include"):
        text = read(path)
        for match in INCLUDE.finditer(text):
            quote, name = match.groups()
            if quote == '"' and name.split("/")[0] not in ("mergedb", *INTERFACE_HEADERS):
                report.error("T2", path, line_at(text, match.start()), f'a public header may not include "{name}"')
            if quote == "<" and name.endswith(".h") and name not in ("stddef.h", "stdint.h", "stdarg.h", "sys/types.h"):
                report.error("T2", path, line_at(text, match.start()), f"a public header may not include <{name}>")


def check_world(report, numbers):
    for path in sources("src"):
        layer = layer_of(path.removeprefix("src/"), numbers)
        if layer == "env":
            continue
        raw = read(path)
        text = code_only(raw)
        for pattern, what in WORLD.items():
            for match in re.finditer(pattern, text):
                report.error("T3", path, line_at(text, match.start()), f"{match.group().strip()} is {what}: allowed only in env/")
        if numbers.get(layer, 99) <= QUIET_LAST_FLOOR and path not in SYNC_HEADERS:
            for match in INCLUDE.finditer(raw):
                if match.group(2) in QUIET_HEADERS:
                    report.error("T3", path, line_at(raw, match.start()), f"<{match.group(2)}> is not allowed in the layers without I/O")


# A declaration, not a call: a type stands before the name.
LOCKED = re.compile(r"^[ \t]*(?!return\b)(?:[\w:<>,&*\[\]]+[ \t]+)+[&*]?(\w+Locked)\([^;{]*?\)([^;{]*)[;{]", re.M)


def check_locked(report):
    for path in sources("src", endings=(".h",)):
        text = code_only(read(path))
        for match in LOCKED.finditer(text):
            if "REQUIRES_LOCK" not in match[2]:
                report.error("T8", path, line_at(text, match.start(1)), f"{match[1]} needs REQUIRES_LOCK(the mutex)")


def listed_sources():
    """Returns every path in a CMakeLists.txt, relative to its own folder, to tests/ or to the root."""
    found = set()
    for path in ["CMakeLists.txt", *sources(*SOURCE_ROOTS, endings=("CMakeLists.txt",))]:
        folder = os.path.dirname(path)
        text = re.sub(r"#.*", "", read(path))
        text = re.sub(r"\$\{(PROJECT|CMAKE)_SOURCE_DIR\}/", "/", text)
        text = re.sub(r"\$\{CMAKE_CURRENT_(SOURCE|LIST)_DIR\}/", "", text)
        for word in re.findall(r"[^\s()\"]+\.(?:cc|c)\b", text):
            bases = [""] if word.startswith("/") else [folder, "tests", ""]
            found.update(os.path.normpath(os.path.join(base, word.lstrip("/"))) for base in bases)
        for tests, names in re.findall(r"mergedb_test\((\S+)\s[^)]*?\bFILES\s+([^)]*)\)", text):
            found.update(f"tests/{tests}/{name}_test.cc" for name in names.partition("LAYERS")[0].split())
    return found


def check_listed(report):
    found = listed_sources()
    for path in sources("src", "bench", "tools", "testing", "tests", "examples", "fuzz", "torture", endings=(".cc", ".c")):
        if path not in found:
            report.error("T4", path, 1, "no CMakeLists.txt lists this file")


def expand(path):
    """Expands a/{b,c}.h to a/b.h a/c.h, and a/b.h/.cc to a/b.h a/b.cc."""
    both = re.fullmatch(r"(.*)\.h/\.cc", path)
    if both:
        return [both.group(1) + ".h", both.group(1) + ".cc"]
    braces = re.search(r"\{([^{}]*)\}", path)
    if not braces:
        return [path]
    return [one for word in braces.group(1).split(",")
            for one in expand(path[:braces.start()] + word.strip() + path[braces.end():])]


def exists(path):
    full = os.path.join(ROOT, path)
    return bool(glob.glob(full)) if "*" in path else os.path.exists(full)


def check_docs(report):
    tops = "src|include|bench|tools|testing|tests|scripts|docs|deps|examples|bindings|fuzz|torture"
    named = re.compile(rf"(?<![\w/.<-])(?:\./)?((?:{tops})/[\w./*{{}},-]*[\w*}}/])")
    documents = [p for p in [*glob.glob("*.md", root_dir=ROOT), *sources("docs", endings=(".md",))]]
    for path in documents:
        text = re.sub(r"https?://\S+", "", read(path))
        for match in named.finditer(text):
            for one in expand(match.group(1)):
                if not exists(one):
                    report.error("T5", path, line_at(text, match.start()), f"{one} does not exist")
        for match in re.finditer(r"\]\(([^)#\s]+)[^)]*\)", text):
            if not exists(os.path.join(os.path.dirname(path), match.group(1))):
                report.error("T5", path, line_at(text, match.start()), f"the link {match.group(1)} leads nowhere")
    for path in sources("src", "include"):  # in messages, too
        text = read(path)
        for match in re.finditer(r"\bdocs/[\w/.-]+\.md\b", text):
            if not exists(match.group()):
                report.error("T5", path, line_at(text, match.start()), f"{match.group()} does not exist")
    check_comments(report)
    check_invariants(report, documents)


# A path that a comment cites: from the root, from src/ or include/, or beside the source. Not a header of the system.
CITED = re.compile(r"(?<![\w/.<$}-])(?!linux/|sys/)((?:[\w.-]+/)+[\w.-]+\.(?:cc|h|c|py|md|java|patch|txt|sh))\b")


def check_comments(report):
    for path in sources(*SOURCE_ROOTS):
        for number, line in enumerate(read(path).split("\n"), 1):
            comment = re.search(r"(?:^|\s)(?://|\*|/\*)\s(.*)", line)
            for match in CITED.finditer(comment[1] if comment else ""):
                name = match[1]
                if name.startswith("docs/") and path.startswith(("src/", "include/")):
                    continue  # check_docs has reported it
                if not any(exists(os.path.normpath(os.path.join(base, name))) for base in ("", "src", "include", os.path.dirname(path))):
                    report.error("T5", path, number, f"{name} does not exist")


def check_invariants(report, documents):
    defined = set()
    for path in sources("src"):
        defined.update(re.findall(r"INVARIANT (I\d+)\b", read(path)))
    if not defined:
        return
    for path in [*documents, *sources("src", "tests")]:
        text = read(path)
        for match in re.finditer(r"(?:\binvariant|\()\s*(I\d+)\b", text):
            if match.group(1) not in defined:
                report.error("T5", path, line_at(text, match.start()), f"no header defines INVARIANT {match.group(1)}")


MODULES = "tests/modules.txt"
MODULE_ROW = re.compile(r"(src/\S+\.cc)  +(\S+(?: \S+){0,3})")


def own_test(source):
    """Returns the path of the unit test. The folders of src/db/ share one folder of tests."""
    return "tests/unit/" + re.sub(r"^db/\w+/", "db/", source.removeprefix("src/")).removesuffix(".cc") + "_test.cc"


def module_rows(report):
    """Returns the rows of MODULES: line, source, tests."""
    rows = []
    for number, line in enumerate(read(MODULES).splitlines(), 1):
        if line.startswith("#"):
            continue
        match = MODULE_ROW.fullmatch(line)
        if match is None:
            report.error("T9", MODULES, number, "a row is a source of src/, two or more spaces, and one to four tests")
            continue
        if rows and match[1] <= rows[-1][1]:
            report.error("T9", MODULES, number, f"{match[1]} belongs before {rows[-1][1]}: the rows are sorted, one for each source")
        rows.append((number, match[1], match[2].split(" ")))
    return rows


def check_modules(report):
    rows = module_rows(report)
    named = {source for _, source, _ in rows}
    for source in sources("src", endings=(".cc",)):
        if source not in named and not exists(own_test(source)):
            report.error("T9", source, 1, f"no {own_test(source)}, and no row in {MODULES} that names other tests")
    for number, source, tests in rows:
        if not exists(source):
            report.error("T9", MODULES, number, f"{source} does not exist")
        elif exists(own_test(source)):
            report.error("T9", MODULES, number, f"a needless row: {source} has {own_test(source)}")
        for test in tests:
            if test == "untested":
                report.error("T9", MODULES, number, f"{source} has no test")
            elif not os.path.isfile(os.path.join(ROOT, test)):
                report.error("T9", MODULES, number, f"{test} does not exist")


def advise_lengths(report):
    for path in sources(*SOURCE_ROOTS):
        text = read(path)
        lines = text.count("\n")
        lines_max = TEST_LINES_MAX if path.startswith("tests/") else FILE_LINES_MAX
        if lines > lines_max:
            report.advise(path, 1, f"{lines} lines; at most {lines_max} stay readable")
        start = None
        for number, line in enumerate(code_only(text).splitlines(), 1):
            if re.match(r"[A-Za-z_].*[({,&|]\s*$|[A-Za-z_].*\)\s*(const\s*)?\{", line) and not re.match(
                    r"namespace|class|struct|enum|extern|union|case|public|private", line):
                start = number if start is None else start
            if line.startswith("}"):
                if start is not None and number - start > FUNCTION_LINES_MAX:
                    report.advise(path, start, f"a function of {number - start} lines; one screen is {FUNCTION_LINES_MAX}")
                start = None


def advise_stories(report):
    for path in sources("src", "include", endings=(".h",)):
        first = read(path).lstrip().split("\n", 1)[0]
        if not first.startswith(("//", "/*")):
            report.advise(path, 1, "the header does not open with its story")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--advice", action="store_true", help="print every line of advice, not just their number")
    arguments.add_argument("--root", default=ROOT, help="root of the source tree")
    chosen = arguments.parse_args()
    globals()["ROOT"] = os.path.abspath(chosen.root)

    started = time.monotonic()
    report = Report()
    numbers = layers()
    check_layers(report, numbers)
    check_public(report)
    check_world(report, numbers)
    check_locked(report)
    check_listed(report)
    check_docs(report)
    check_modules(report)
    advise_lengths(report)
    advise_stories(report)
    includes.check(report, ROOT, sources, read, code_only)
    style.check(report, ROOT)

    if chosen.advice:
        print("\n".join(f"advice: {line}" for line in report.advice))
    print("\n".join(report.errors), end="\n" if report.errors else "")
    hint = "" if chosen.advice or not report.advice else " (--advice prints them)"
    print(f"tidy: {len(report.errors)} broken rules, {len(report.advice)} pieces of advice{hint}, {time.monotonic() - started:.1f} s")
    return 1 if report.errors else 0


if __name__ == "__main__":
    sys.exit(main())
