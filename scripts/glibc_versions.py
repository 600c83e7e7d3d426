#!/usr/bin/env python3
"""Checks that a shared library needs no glibc newer than that of the oldest supported system.

Reads the versions of its undefined symbols and the libraries that it needs. Usage: scripts/glibc_versions.py
LIBRARY [NEWEST]; NEWEST is 2.28 by default (RHEL 8; Debian 11 has 2.31)."""

import re
import subprocess
import sys

SYSTEM_LIBRARIES = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1",
                    "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


def readelf(path, *flags):
    return subprocess.run(["readelf", "-W", *flags, path], capture_output=True, text=True, check=True).stdout


def number(version):
    return tuple(int(part) for part in version.split("."))


def faults(path, newest):
    for line in readelf(path, "--dyn-syms").splitlines():
        found = re.search(r"\bUND (\S+)@+GLIBC_([0-9.]+)", line)
        if found and number(found.group(2)) > number(newest):
            yield (f"{path}: {found.group(1)} needs glibc {found.group(2)}, at most {newest} is allowed: "
                   "define it in java/native/glibc.cc")
    for name in re.findall(r"\(NEEDED\).*\[(.*)\]", readelf(path, "-d")):
        if name not in SYSTEM_LIBRARIES:
            yield f"{path}: it needs {name}, which a user's machine may not have: link it statically"


def main():
    if not 2 <= len(sys.argv) <= 3:
        print(__doc__, file=sys.stderr)
        return 2
    newest = sys.argv[2] if len(sys.argv) == 3 else "2.28"
    found = list(faults(sys.argv[1], newest))
    print("\n".join(found) if found else f"glibc_versions: {sys.argv[1]} runs on glibc {newest}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
