#!/usr/bin/env python3
"""The names that a library offers, beside Debian's libleveldb.so.1d: all of its public ones, and nothing that is not LevelDB's.

symbols_test.py DEBIAN_LIBRARY SONAME LIBRARY
"""

import re
import subprocess
import sys

# Debian's library also offers what its compiler left visible: instances of the standard library's templates, local classes of its C
# functions, and private members that no header lets a program call.
ACCIDENTAL = re.compile(
    r"^(void |)std::|^(vtable|typeinfo|typeinfo name) for (std::|leveldb_\w+::)|^leveldb_\w+::"
    r"|^std::|::_M_|^leveldb::Table::(BlockReader|InternalGet|ReadMeta|ReadFilter)\(|^leveldb::TableBuilder::Write(Raw)?Block\(")
OURS = re.compile(r"^leveldb(::|_)|^(vtable|typeinfo|typeinfo name) for leveldb::")
KINDS = {"T": "code", "W": "code", "V": "data", "B": "data", "D": "data", "R": "data", "u": "data"}


def run(*command, given=None):
    return subprocess.run(command, input=given, stdout=subprocess.PIPE, text=True, check=True).stdout


def names(library):
    found = {}
    for line in run("nm", "-D", "--defined-only", library).splitlines():
        _, kind, name = line.split()
        found[name] = KINDS.get(kind, kind)
    return found


def spellings(mangled):
    return dict(zip(mangled, run("c++filt", given="\n".join(mangled)).splitlines()))


def main(debian, soname, library):
    theirs, ours = names(debian), names(library)
    spelled = spellings(sorted(theirs | ours))
    missing = [text for name, text in spelled.items()
               if name in theirs and ours.get(name) != theirs[name] and not ACCIDENTAL.search(text)]
    foreign = [text for name, text in spelled.items() if name in ours and not OURS.search(text)]
    problems = [f"missing: {text}" for text in missing] + [f"not LevelDB's: {text}" for text in foreign]
    dynamic = run("readelf", "-dV", library)
    if f"soname: [{soname}]" not in dynamic:
        problems.append(f"the soname is not {soname}")
    if "Version definition" in dynamic or ".gnu.version_d" in dynamic:
        problems.append("there are symbol versions; Debian's library has none")
    print(f"{library}: {len(ours)} names; {debian}: {len(theirs)}")
    if problems:
        sys.exit("\n".join(problems))


main(*sys.argv[1:])
