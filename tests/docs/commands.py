#!/usr/bin/env python3
"""Checks the commands that the pages name: each `mergedb VERB --option` and `./dev COMMAND` exists.

    commands.py BIN        the folder of the command mergedb
"""

import os
import re
import subprocess
import sys

from blocks import ROOT

CODE = re.compile(r"^ *```.*?^ *```|`[^`]+`", re.M | re.S)
# A command stands at the beginning of code, or behind a prompt, a pipe, an environment or sudo.
MERGEDB = re.compile(r"(?:^|[`|(;] *|&& |\$ |-- |mergedb-run |sudo )(?:build/release/bin/)?mergedb(?:-static)? ((?:[^`\n|;#>)]|\\\n)+)", re.M)
DEV = re.compile(r"\./dev (build|test)? ?([a-z][a-z0-9-]*)?")


def help_of(program, *words):
    return subprocess.run([program, *words, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout


def options_of(text):
    return set(re.findall(r"(?<![\w-])(-\w|--[\w-]+)", text))


def main():
    program = os.path.join(sys.argv[1], "mergedb")
    verbs = {verb: options_of(help_of(program, verb))
             for verb in re.findall(r"^  (\S+)", help_of(program).split("Subcommands:\n")[1].split("\n\n")[0], re.M)}
    dev = (ROOT / "dev").read_text(encoding="utf-8")
    faults, count = [], 0
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "examples/README.md", ROOT / "python/README.md"]
    for path in pages:
        page = path.relative_to(ROOT)
        if page.parts[:2] == ("docs", "decisions"):  # of the day on which they were written
            continue
        text = path.read_text(encoding="utf-8")
        for code in CODE.finditer(text):
            where = f"{page}:{text.count(chr(10), 0, code.start()) + 1}"
            for command in MERGEDB.finditer(code.group()):
                words = command.group(1).split()
                if words[:1] == ["--db"]:
                    words = words[2:]
                if not words or words[0].startswith("-") or not re.fullmatch(r"[a-z][a-z-]*", words[0]):
                    continue
                count += 1
                if words[0] not in verbs:
                    faults.append(f"{where}: mergedb {words[0]}: no such verb")
                    continue
                for option in options_of(command.group(1).split(" -- ")[0]) - verbs[words[0]]:
                    faults.append(f"{where}: mergedb {words[0]} {option}: no such option")
            for command in DEV.finditer(code.group()):
                kind, word = command.groups()
                count += 1
                if word and not re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", dev):
                    faults.append(f"{where}: ./dev {kind or ''} {word}: no such command")
    print("\n".join(faults) if faults else f"the pages name {count} commands, which exist")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
