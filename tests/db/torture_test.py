#!/usr/bin/env python3
"""`mergedb torture`: what a disk keeps of what it acknowledged, when the power fails.

  torture_test.py MERGEDB

A run that ends, and one that is killed, keep everything; each kind of loss is found and named. If the caller may mount a loop device, the
file system is stopped as by a power failure (FS_IOC_SHUTDOWN without a flush of its journal), mounted again and judged.
"""

import fcntl
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

FS_IOC_SHUTDOWN = 0x8004587D
NO_LOG_FLUSH = 2
KINDS = ("append", "overwrite", "create", "replace", "synced", "flushed", "unsynced")
MERGEDB = sys.argv[1]


def check(condition, what):
    if not condition:
        print(f"FAILED: {what}")
        sys.exit(1)


def run(*arguments, **options):
    return subprocess.run([MERGEDB, "torture", *arguments], text=True, capture_output=True, timeout=120, **options)


def start(device, marks):
    return subprocess.Popen([MERGEDB, "torture", "--device", device], stdout=open(marks, "w"), stderr=subprocess.PIPE, text=True)


def count_marks(marks):
    with open(marks) as file:
        lines = file.read().splitlines()[1:]
    return {kind: sum(line.startswith(kind + " ") for line in lines) for kind in KINDS}


def wait_for_marks(writer, marks, least=5):
    """Until each kind has some marks: a slow machine needs longer."""
    for _ in range(600):
        time.sleep(0.1)
        check(writer.poll() is None, f"the run ended: {writer.stderr.read() if writer.poll() is not None else ''}")
        if min(count_marks(marks).values()) >= least:
            return
    check(False, f"no marks: {count_marks(marks)}")


def verify(device, marks):
    """The exit code, and of each kind whether it was kept."""
    done = run("--device", device, "--verify", marks, "--json")
    check(done.returncode in (0, 1), f"verify: {done.returncode} {done.stderr}")
    report = json.loads(done.stdout)
    check(report["kept"] == (done.returncode == 0), done.stdout)
    return done.returncode, {each["kind"]: each["kept"] for each in report["promises"]}, report


def expect_kept(what, device, marks):
    code, _, report = verify(device, marks)
    check(code == 0, f"{what}: {json.dumps(report, indent=1)}")
    check(all(each["acknowledged"] >= 5 for each in report["promises"]), f"{what}: too little was written: {report}")
    text = run("--device", device, "--verify", marks)
    check(text.returncode == 0 and text.stdout.count(" kept\n") == len(KINDS) and "kept all promises" in text.stdout, text.stdout)


def test_words(home):
    for words in ((), ("--device", ""), ("--device", home, "--seconds", "0"), ("--device", home, "--json"), ("--device", home, "more")):
        done = run(*words)
        check(done.returncode == 2 and done.stdout == "", f"{words}: {done.returncode} {done.stdout}{done.stderr}")
    done = run("--device", os.path.join(home, "absent"))
    check(done.returncode == 3 and "absent" in done.stderr, done.stderr)
    bad = os.path.join(home, "bad")
    for text, part in (("", "found nothing"), ("nonsense\n", "line 1"), ("mergedb-torture 1 5\nsynced 2 3\n", "line 2"),
                       ("mergedb-torture 1 5\nsynced 1 x\n", "line 2"), ("mergedb-torture 1 -5\n", "line 1")):
        with open(bad, "w") as file:
            file.write(text)
        done = run("--device", home, "--verify", bad)
        check(done.returncode in (2, 3) and part in done.stderr, f"{text!r}: {done.returncode} {done.stderr}")


def test_losses(home, device, marks):
    """Each kind of loss is told of, and no other."""
    plain, database = "mergedb-torture/plain", "mergedb-torture/db"
    last = {kind: count for kind, count in count_marks(marks).items()}

    def cut(path, size):
        os.truncate(path, size)

    def damage(path, offset):
        with open(path, "r+b") as file:
            file.seek(offset)
            byte = file.read(1)[0]
            file.seek(offset)
            file.write(bytes([byte ^ 0xFF]))

    def largest(folder, suffix):
        names = [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(suffix)]
        return max(names, key=os.path.getsize)

    losses = {
        "append": lambda d: cut(f"{d}/{plain}/appended", 64 * last["append"] - 1),
        "overwrite": lambda d: damage(f"{d}/{plain}/overwritten", 64 * last["overwrite"] + 3),
        "create": lambda d: os.remove(f"{d}/{plain}/created-{last['create']}"),
        "replace": lambda d: cut(f"{d}/{plain}/replaced", 0),
    }
    for kind, lose in losses.items():
        copy = os.path.join(home, "copy-" + kind)
        shutil.copytree(device, copy)
        lose(copy)
        code, kept, report = verify(copy, marks)
        check(code == 1 and [each for each in KINDS if not kept[each]] == [kind], f"{kind}: {report}")
    copy = os.path.join(home, "copy-table")
    shutil.copytree(device, copy)
    damage(largest(f"{copy}/{database}", ".tbl"), 100)
    code, _, report = verify(copy, marks)
    check(code == 1 and report["problems"], f"a damaged table: {report}")
    # A mark of a write that the database does not have.
    more = os.path.join(home, "more")
    with open(marks) as file, open(more, "w") as out:
        text = file.read()
        text = text[:text.rindex("\n") + 1]
        for kind in ("synced", "flushed"):
            for i in (1, 2, 3):
                text += f"{kind} {last[kind] + i} 99999\n"
        out.write(text)
    code, kept, report = verify(device, more)
    check(code == 1 and not kept["synced"] and not kept["flushed"] and kept["append"], f"writes that are missing: {report}")
    check("broken" in run("--device", device, "--verify", more).stdout.lower(), "the text says that a promise was broken")


def test_power_failure(home):
    image, mount = os.path.join(home, "image"), os.path.join(home, "mount")
    os.mkdir(mount)
    with open(image, "wb") as file:
        file.truncate(512 << 20)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    if subprocess.run(["mkfs.ext4", "-q", image], **quiet).returncode != 0 or subprocess.run(["mount", "-o", "loop", image, mount], **quiet).returncode != 0:
        print("SKIPPED here: the power failure of a loop device; it needs root and mount")
        return
    marks = os.path.join(home, "marks-of-power")
    try:
        writer = start(mount, marks)
        wait_for_marks(writer, marks)
        directory = os.open(mount, os.O_RDONLY)
        fcntl.ioctl(directory, FS_IOC_SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
        os.close(directory)
        writer.wait(60)
        check(writer.returncode == 3, f"a disk that is gone is an error: {writer.returncode}")
        subprocess.run(["umount", mount], check=True)
        subprocess.run(["mount", "-o", "loop", image, mount], check=True)
        expect_kept("a power failure", mount, marks)
        print("a power failure of a loop device: all kept", count_marks(marks))
    finally:
        subprocess.run(["umount", mount], **quiet)


def which(program):
    return shutil.which(program) or (f"/usr/sbin/{program}" if os.path.exists(f"/usr/sbin/{program}") else None)


def main():
    with tempfile.TemporaryDirectory() as home:
        test_words(home)
        device, marks = os.path.join(home, "device"), os.path.join(home, "marks")
        os.mkdir(device)
        with open(marks, "w") as out:
            done = subprocess.run([MERGEDB, "torture", "--device", device, "--seconds", "2"], stdout=out, stderr=subprocess.PIPE, text=True)
        check(done.returncode == 0, done.stderr)
        expect_kept("a run that ends", device, marks)
        done = run("--device", device, "--seconds", "1")
        check(done.returncode == 3 and "earlier run" in done.stderr, f"twice: {done.returncode} {done.stderr}")
        test_losses(home, device, marks)

        device, marks = os.path.join(home, "killed"), os.path.join(home, "marks-of-killed")
        os.mkdir(device)
        writer = start(device, marks)
        wait_for_marks(writer, marks)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        with open(marks, "a") as file:
            file.write("synced 99999")  # the last line is cut
        expect_kept("a run that was killed", device, marks)
        if os.geteuid() == 0 and which("mkfs.ext4"):
            test_power_failure(home)
        else:
            print("SKIPPED here: the power failure of a loop device; it needs root and mkfs.ext4")


if __name__ == "__main__":
    main()
