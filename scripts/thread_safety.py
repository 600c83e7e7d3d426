#!/usr/bin/env python3
"""Proves with clang's thread safety analysis that each member with GUARDED_BY and each function with REQUIRES_LOCK
(src/base/sync.h) is used only under its mutex.

The analysis reads each source of src/, tools/ and java/native/ that includes base/sync.h, by itself or through
headers. A warning is an error. Sources that passed are not read again until they, a header that they include or
clang changes: build/thread_safety has a file for each.
"""

import argparse
import concurrent.futures
import hashlib
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # or --root
SOURCE_ROOTS = ("src", "tools", "java/native")
INCLUDE_FOLDERS = ("src", "include", "tools/mergedb", "tools/demo", "bench", ".")
SYNC_HEADER = "src/base/sync.h"
FLAGS = ["-std=c++20", "-fsyntax-only", "-Wno-everything", "-Wthread-safety", "-Werror=thread-safety", "-DMERGEDB_DCHECK"]
VERSION = re.compile(r"project\(mergedb VERSION ([\d.]+)")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.M)


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


class Includes:
    """The files of the project that a source includes, by itself or through others."""

    def __init__(self):
        self.direct = {}

    def of(self, path):
        if path not in self.direct:
            beside = os.path.dirname(path)
            places = [[os.path.normpath(os.path.join(folder, name)) for folder in (beside, *INCLUDE_FOLDERS)]
                      for name in INCLUDE.findall(read(path))]
            self.direct[path] = [next((place for place in some if os.path.isfile(os.path.join(ROOT, place))), None)
                                 for some in places]
        return [name for name in self.direct[path] if name]

    def closure(self, path):
        found, new = {path}, [path]
        while new:
            for name in self.of(new.pop()):
                if name not in found:
                    found.add(name)
                    new.append(name)
        return found


def java_folders():
    """Where jni.h is. Without a JDK the sources of java/native/ are not read."""
    home = os.environ.get("JAVA_HOME")
    homes = [home] if home else []
    homes += sorted(os.path.join("/usr/lib/jvm", name) for name in os.listdir("/usr/lib/jvm")) if os.path.isdir(
        "/usr/lib/jvm") else []
    for home in homes:
        if os.path.isfile(os.path.join(home, "include/jni.h")):
            return [os.path.join(home, "include"), os.path.join(home, "include/linux")]
    return []


def sources(has_java):
    for root in SOURCE_ROOTS:
        if root == "java/native" and not has_java:
            continue
        for folder, folders, names in os.walk(os.path.join(ROOT, root)):
            folders.sort()
            yield from (os.path.relpath(os.path.join(folder, name), ROOT) for name in sorted(names) if name.endswith(".cc"))


def digest(command, files):
    text = hashlib.sha256("\0".join(command).encode())
    for path in sorted(files):
        text.update(path.encode() + b"\0" + read(path).encode() + b"\0")
    return text.hexdigest()


def check(source, files, command):
    stamp = os.path.join(ROOT, "build/thread_safety", source + ".passed")
    key = digest(command, files)
    if os.path.isfile(stamp) and read(stamp) == key:
        return ""
    result = subprocess.run([*command[1:], source], cwd=ROOT, capture_output=True, text=True, check=False)
    if result.returncode:
        return result.stderr
    os.makedirs(os.path.dirname(stamp), exist_ok=True)
    with open(stamp, "w", encoding="utf-8") as file:
        file.write(key)
    return ""


def main():
    global ROOT
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default=ROOT, help="the tree to read (default: the one of this script)")
    parser.add_argument("sources", nargs="*", help="read only these (default: all)")
    arguments = parser.parse_args()
    ROOT, only = os.path.abspath(arguments.root), arguments.sources
    if shutil.which("clang++") is None:
        print("thread safety: clang++ is missing (Debian 12: apt-get install clang)")
        return 1
    version = subprocess.run(["clang++", "--version"], capture_output=True, text=True, check=True).stdout
    java = java_folders()
    # The version is a part of the key of what passed. It is not a word of the command.
    define = f'-DMERGEDB_PROJECT_VERSION="{VERSION.search(read("CMakeLists.txt"))[1]}"'
    command = [version, "clang++", *FLAGS, define, *(f"-I{folder}" for folder in (*INCLUDE_FOLDERS, *java))]
    includes = Includes()
    work = [(source, includes.closure(source)) for source in sources(bool(java)) if not only or source in only]
    work = [(source, files) for source, files in work if SYNC_HEADER in files]
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        faults = sorted(set(filter(None, pool.map(lambda item: check(*item, command), work))))
    print("".join(faults), end="")
    headers = {path for _, files in work for path in files if path.endswith(".h")}
    print(f"thread safety: {len(work)} sources, {len(headers)} headers" + ("" if java else ", java/native/ not (no JDK)") +
          f", {'no finding' if not faults else f'{len(faults)} sources with findings'}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
