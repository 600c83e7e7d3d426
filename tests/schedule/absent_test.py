#!/usr/bin/env python3
"""A release build holds nothing of the scheduler's hook: no symbol, no thread-local pointer, no name of a point.

usage: absent_test.py [--expect-present] FILE...
With --expect-present the other way round: proof that this would notice.
"""

import re
import subprocess
import sys

WORDS = re.compile(r"thread_scheduler|ThreadScheduler|AtSchedulePoint|point of the absent probe|publish a sequence|"
                   r"enter the section alone")


def traces(path):
    found = set()
    for command in (["nm", "-C", path], ["strings", "-a", path]):
        text = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
        found.update(WORDS.findall(text.decode(errors="replace")))
    return found


def main():
    expected = "--expect-present" in sys.argv
    paths = [word for word in sys.argv[1:] if not word.startswith("--")]
    if not paths:
        sys.exit(__doc__)
    for path in paths:
        found = traces(path)
        if bool(found) != expected:
            sys.exit(f"{path}: " + ("no trace of the hook" if expected else "of the hook: " + ", ".join(sorted(found))))
        print(f"{path}: {len(found)} traces of the hook")


if __name__ == "__main__":
    main()
