#!/usr/bin/env python3
"""Runs the example programs of one language and checks what they print.

    run.py FOLDER                 the executables in FOLDER
    run.py FOLDER INTERPRETER     the scripts FOLDER/*.py, by this interpreter

Each program must print examples/expected/NAME.txt, be shorter than 100 lines in its source, and fail with a message if
its database cannot be opened. The word counter runs twice: a file counts once.
"""

import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXPECTED = ROOT / "examples/expected"
TEXTS = [str(ROOT / "examples/text" / name) for name in ("garden.txt", "harbour.txt")]
LINES_MAX = 99


def run(command, directory, texts=()):
    return subprocess.run([*command, str(directory), *texts], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=240, check=False)


def check(name, command):
    """Returns the faults of one program."""
    texts = TEXTS if name == "word_counter" else ()
    faults = []
    with tempfile.TemporaryDirectory(prefix="mergedb-example-") as scratch:
        for _ in range(2 if texts else 1):
            done = run(command, pathlib.Path(scratch) / "db", texts)
            if done.returncode != 0 or done.stdout != (EXPECTED / f"{name}.txt").read_text(encoding="utf-8"):
                faults.append(f"{name}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        blocked = pathlib.Path(scratch) / "file"
        blocked.write_text("no database")
        done = run(command, blocked / "db", texts)
        if done.returncode == 0 or "file" not in done.stderr:
            faults.append(f"{name}: without a database it exits {done.returncode} with: {done.stderr}")
    return faults


def sources_too_long():
    files = [*(ROOT / "examples").glob("c*/*.c*"), *(ROOT / "examples/python").glob("*.py"), *(ROOT / "examples/java").glob("*.java")]
    return [f"{path}: {lines} lines, at most {LINES_MAX}" for path in files
            if (lines := len(path.read_text(encoding="utf-8").splitlines())) > LINES_MAX]


def main():
    folder, interpreter = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    faults = sources_too_long()
    names = sorted(path.stem for path in EXPECTED.glob("*.txt"))
    for name in names:
        faults += check(name, [*interpreter, str(folder / (name + ".py" if interpreter else name))])
    print("\n".join(faults) if faults else f"{len(names)} programs print what they should")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
