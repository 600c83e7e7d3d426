#!/usr/bin/env python3
"""Programs of LevelDB's on its own library and on mergedb's: the same words.

transcripts_test.py DROPIN_FOLDER SCRATCH OPENER PROGRAM...      runs every PROGRAM on both libraries; all texts are the same as the first's
transcripts_test.py --upstream SCRATCH OPENER DEBIAN_PROGRAM UPSTREAM_PROGRAM    only the layout of Options differs
transcripts_test.py --locks DROPIN_FOLDER SCRATCH OPENER         a database that one library holds is refused by the other

OPENER makes a database with LevelDB's library, whose files the programs read.
"""

import difflib
import os
import re
import shutil
import subprocess
import sys

LAYOUT = re.compile(r"^(size Options|offset Options::(reuse_logs|filter_policy)): ")


def environment(dropin):
    variables = dict(os.environ)
    variables.pop("LD_LIBRARY_PATH", None)
    if dropin:
        variables["LD_LIBRARY_PATH"] = dropin
    return variables


def fresh(scratch):
    shutil.rmtree(scratch, ignore_errors=True)
    os.makedirs(scratch)
    return scratch


def written_by_leveldb(opener, scratch):
    path = os.path.join(fresh(scratch + ".leveldb"), "db")
    subprocess.run([opener, path, "fill"], env=environment(None), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=60,
                   check=True)
    return path


def transcript(program, dropin, scratch, fixture):
    done = subprocess.run([program, fresh(scratch), fixture], env=environment(dropin), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=300, check=False)
    text = done.stdout.decode(errors="replace")
    if done.returncode != 0:
        sys.exit(f"{program} with {dropin or 'its own library'}: exit {done.returncode}\n{text[-3000:]}")
    return text.splitlines()


def compare(expected, found, title):
    lines = list(difflib.unified_diff(expected, found, "expected", title, lineterm="", n=1))
    if lines:
        sys.exit("\n".join(lines))


def same_words(dropin, scratch, opener, programs):
    fixture = written_by_leveldb(opener, scratch)
    expected = transcript(programs[0], None, scratch, fixture)
    for program in programs:
        for library in (None, dropin):
            compare(expected, transcript(program, library, scratch, fixture), f"{program} with {library or 'LevelDB'}")
    print(f"{len(programs)} programs, {len(expected)} lines each")


def upstream_layout(scratch, opener, debian, upstream):
    fixture = written_by_leveldb(opener, scratch)
    texts = [transcript(program, None, scratch, fixture) for program in (debian, upstream)]
    layouts = [[line for line in text if LAYOUT.match(line)] for text in texts]
    if layouts[1] != ["size Options: 104", "offset Options::reuse_logs: 88", "offset Options::filter_policy: 96"]:
        sys.exit(f"not upstream's layout: {layouts[1]}")
    compare(*[[line for line in text if not LAYOUT.match(line)] for text in texts], upstream)


def locks(dropin, scratch, opener):
    for holder, other in ((None, dropin), (dropin, None), (dropin, dropin)):
        path = os.path.join(fresh(scratch), "db")
        process = subprocess.Popen([opener, path], env=environment(holder), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        first = process.stdout.readline().strip()
        second = subprocess.run([opener, path], env=environment(other), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                timeout=60, check=True).stdout.strip()
        process.communicate()
        expected = f"IO error: lock {path}/LOCK: Resource temporarily unavailable"
        if first != "OK" or second != expected:
            sys.exit(f"held by {holder or 'LevelDB'}: {first}; opened by {other or 'LevelDB'}: {second}, expected {expected}")


def main(arguments):
    if arguments[0] == "--upstream":
        upstream_layout(*arguments[1:])
    elif arguments[0] == "--locks":
        locks(*arguments[1:])
    else:
        same_words(arguments[0], arguments[1], arguments[2], arguments[3:])


main(sys.argv[1:])
