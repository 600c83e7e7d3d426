#!/usr/bin/env python3
"""Compiles each public header alone: every header as C++17, and the C headers as C99 and as C11; all warnings are errors.

  headers_test.py CXX CC               fails if a header of include/ does not compile
  headers_test.py CXX CC --self-test   fails if a header of C++20 or a header that lacks an include is not noticed
"""

import concurrent.futures
import glob
import os
import subprocess
import sys
import tempfile

INCLUDE = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "include")
C_HEADERS = {"lmdb.h", "lsmdb.h", "mergedb/c.h", "leveldb/c.h"}
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror")


def standards(header, is_c):
    return ["c++17", "c99", "c11"] if is_c else ["c++17"]


def compile_alone(cxx, cc, include, header, standard):
    """Returns the compiler's output, or an empty text if the header compiles."""
    is_cxx = standard.startswith("c++")
    command = [cxx if is_cxx else cc, f"-std={standard}", *WARNINGS, "-I", include, "-fsyntax-only", "-x", "c++" if is_cxx else "c", "-"]
    # Twice, because a header may be included twice.
    done = subprocess.run(command, input=f"#include <{header}>\n" * 2, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return f"{' '.join(command)}   with #include <{header}>\n{done.stdout[:3000]}" if done.returncode != 0 else ""


def failures(cxx, cc, include, c_headers):
    headers = sorted(os.path.relpath(path, include) for path in glob.glob(os.path.join(include, "**", "*.h"), recursive=True))
    jobs = [(header, standard) for header in headers for standard in standards(header, header in c_headers)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        outputs = list(pool.map(lambda job: compile_alone(cxx, cc, include, *job), jobs))
    return headers, [(job, output) for job, output in zip(jobs, outputs) if output]


def self_test(cxx, cc):
    texts = {
        "good.h": "#pragma once\n#include <string>\ninline std::string Good() { return {}; }\n",
        "span.h": "#pragma once\n#include <span>\ninline size_t Size(std::span<const int> s) { return s.size(); }\n",
        "lacks_include.h": "#pragma once\ninline std::string Lacking() { return {}; }\n",
        "unguarded.h": "struct Unguarded {};\n",
        "c.h": "#ifndef C_H\n#define C_H\ninline int c(void) { return 0; }\n#endif\n",
        "good_c.h": "#ifndef GOOD_C_H\n#define GOOD_C_H\nint c(void);\n#endif\n",
        "cxx.h": "#pragma once\nstruct Cxx { int a = 0; };\n",
    }
    with tempfile.TemporaryDirectory() as include:
        for name, text in texts.items():
            with open(os.path.join(include, name), "w", encoding="utf-8") as file:
                file.write(text)
        _, found = failures(cxx, cc, include, {"good_c.h", "cxx.h"})
    wanted = [("cxx.h", "c99"), ("cxx.h", "c11"), ("lacks_include.h", "c++17"), ("span.h", "c++17"), ("unguarded.h", "c++17")]
    got = [job for job, _ in found]
    if got != sorted(wanted, key=lambda job: (job[0], wanted.index(job))):
        sys.exit(f"FAILED: {got} do not compile, expected {wanted}")
    print("the test notices what it should")


def main():
    cxx, cc = sys.argv[1:3]
    if sys.argv[3:] == ["--self-test"]:
        return self_test(cxx, cc)
    headers, found = failures(cxx, cc, INCLUDE, C_HEADERS)
    missing = C_HEADERS - set(headers)
    if missing or len(headers) < 30:
        sys.exit(f"FAILED: {len(headers)} headers in {INCLUDE}, without {missing}")
    if found:
        sys.exit("\n".join(f"FAILED: {header} as {standard}\n{output}" for (header, standard), output in found))
    print(f"{len(headers)} headers compile alone")


if __name__ == "__main__":
    main()
