#!/usr/bin/env python3
"""No build but the zoo holds a trace of the planted bugs: neither a symbol nor a string of src/base/zoo.h in the library.

usage: absent_test.py LIBRARY...
With --expect-present the other way round: proof that this would notice.
"""

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def traces(library):
    with open(os.path.join(ROOT, "src/base/zoo.h"), encoding="utf-8") as header:
        bugs = re.findall(r"^\s*X\((k\w+)\)", header.read(), re.M)
    assert len(bugs) >= 30, "src/base/zoo.h has its list in another form"
    words = re.compile("|".join(bugs) + r"|base::zoo|base3zoo|MERGEDB_ZOO")
    found = set()
    for command in (["nm", "-C", library], ["nm", "-C", "-D", library], ["strings", "-a", library]):
        text = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
        found.update(words.findall(text.decode(errors="replace")))
    symbols = subprocess.run(["nm", library], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    assert b"mergedb" in symbols, f"{library}: nm shows nothing of ours"
    return found


def main():
    expected = "--expect-present" in sys.argv
    libraries = [word for word in sys.argv[1:] if not word.startswith("--")]
    if not libraries:
        sys.exit(__doc__)
    for library in libraries:
        found = traces(library)
        if bool(found) != expected:
            sys.exit(f"{library}: " + ("no trace of the zoo" if expected else "of the zoo: " + " ".join(sorted(found))))
        print(f"{library}: {len(found)} traces of the zoo")


if __name__ == "__main__":
    main()
