#!/usr/bin/env python3
"""Debian's own programs that use LMDB, as they are packaged, on the drop-in liblmdb.

  debian_lmdb.py postfix --dropin BUILD/dropin   postmap: maps built, queried, changed by several processes, killed
  debian_lmdb.py php --dropin BUILD/dropin       php-cli's dba with its lmdb handler

The packages are downloaded by apt-get, with the machine's own configuration, once, and unpacked into build/clients without being installed: no root is
needed. Each program runs on Debian's liblmdb and on the drop-in, and says the same. Exit code 77: it cannot be had here, and the message says what.
"""

import argparse
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
HOME = os.path.join(ROOT, "build", "clients", "debian")
SKIP = 77
LIBRARIES = "lib/postfix", "lib", "lib/*-linux-gnu"


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(SKIP)


def run(command, **options):
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, **options)


def expect(condition, what, output=""):
    if condition:
        return
    print(output[-4000:])
    print(f"FAILED: {what}")
    sys.exit(1)


def is_installed(package):
    return run(["dpkg-query", "-W", "-f", "${Status}", package]).stdout.endswith("ok installed")


def unpack(name, programs, libraries):
    """A directory with what the packages hold; of the libraries those that the machine lacks."""
    target = os.path.join(HOME, name)
    mark = os.path.join(target, "unpacked")
    if os.path.exists(mark):
        return target
    shutil.rmtree(target, ignore_errors=True)
    os.makedirs(target)
    for tool in ("apt-get", "dpkg-deb"):
        if shutil.which(tool) is None:
            skip(f"no {tool} on this machine")
    wanted = programs + [each for each in libraries if not is_installed(each)]
    try:
        done = run(["apt-get", "download", "-q", "-o", "Acquire::Retries=1", "-o", "Acquire::http::Timeout=20", *wanted], cwd=target)
    except subprocess.TimeoutExpired:
        skip(f"{name}: no answer from the network")
    if done.returncode != 0:
        print(done.stdout[-2000:])
        skip(f"{name}: apt-get download {' '.join(wanted)} failed (is there a network, and are there package lists?)")
    for package in glob.glob(os.path.join(target, "*.deb")):
        expect(run(["dpkg-deb", "-x", package, target]).returncode == 0, f"{package} cannot be unpacked")
        os.remove(package)
    open(mark, "w").close()
    return target


def environment(target, dropin):
    """For the drop-in, or, with None, for the machine's own liblmdb."""
    paths = [path for pattern in LIBRARIES for path in sorted(glob.glob(os.path.join(target, "usr", pattern)))]
    return dict(os.environ, LD_LIBRARY_PATH=":".join(([dropin] if dropin else []) + paths), LC_ALL="C")


def expect_liblmdb(file, env, dropin):
    linked = run(["ldd", file], env=env).stdout
    missing = re.findall(r"(\S+) => not found", linked)
    if missing:
        skip(f"{os.path.basename(file)} wants {', '.join(missing)}")
    at_dropin = f"{dropin}/liblmdb.so.0" in linked
    expect(at_dropin if env["LD_LIBRARY_PATH"].startswith(dropin) else not at_dropin, f"{file} does not find the liblmdb that it should", linked)


# ---- postfix ---------------------------------------------------------------------------------------------------------------

CONFIGURATION = """compatibility_level = 3.6
config_directory = {home}
meta_directory = {home}
queue_directory = {home}/queue
data_directory = {home}/data
shlib_directory = {shlib}
mail_owner = mail
setgid_group = daemon
"""


class Postmap:
    def __init__(self, target, env, home):
        self.map = f"lmdb:{home}/map"
        self.source = os.path.join(home, "map")
        self.env = env
        self.command = [os.path.join(target, "usr", "sbin", "postmap"), "-c", home]
        self.said = []
        with open(os.path.join(home, "main.cf"), "w", encoding="utf-8") as file:
            file.write(CONFIGURATION.format(home=home, shlib=os.path.join(target, "usr", "lib", "postfix")))
        with open(os.path.join(home, "dynamicmaps.cf"), "w", encoding="utf-8") as file:
            file.write("lmdb\tpostfix-lmdb.so\tdict_lmdb_open\tmkmap_lmdb_open\n")

    def __call__(self, *arguments, text=None):
        done = run([*self.command, *arguments, self.map], env=self.env, input=text)
        self.said.append((arguments, done.returncode, done.stdout))
        return done

    def build(self, entries):
        with open(self.source, "w", encoding="utf-8") as file:
            file.writelines(f"{key} {value}\n" for key, value in entries.items())
        return self()

    def add(self, key, value):
        return self("-i", "-r", text=f"{key} {value}\n")

    def shown(self):
        done = self("-s")
        expect(done.returncode == 0, "postmap -s fails", done.stdout)
        return dict(line.split("\t", 1) for line in done.stdout.splitlines())

    def holding(self, text):
        """A process that has the map open for changes, and has read `text`, until its input ends."""
        process = subprocess.Popen([*self.command, "-i", "-r", self.map], env=self.env, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        process.stdin.write(text)
        process.stdin.flush()
        wait_for(lambda: process.poll() is not None or has_open_for_writing(process.pid, "/data.mdb"), "postmap opens its map")
        expect(process.poll() is None, "a process that holds the map", "" if process.poll() is None else process.stderr.read())
        return process


def one_after_the_other(postmap):
    entries = {f"user{i:04}": f"box{i}@example.org" for i in range(2000)}
    first = postmap.build(entries)
    if "unsupported dictionary type" in first.stdout or "not owned by root" in first.stdout:
        skip("postmap takes its dynamicmaps.cf of root only")
    expect(first.returncode == 0, "postmap does not build a map", first.stdout)
    expect(postmap.shown() == entries, "postmap -s does not show what was built")
    for key in ("user0000", "user1234", "user1999"):
        expect(postmap("-q", key).stdout == entries[key] + "\n", f"postmap -q {key}")
    expect(postmap("-q", "nobody").returncode == 1, "postmap -q of a key that is not there")
    several = postmap("-q", "-", text="user0007\nnobody\nuser0009\n")
    expect(several.stdout == f"user0007\t{entries['user0007']}\nuser0009\t{entries['user0009']}\n", "postmap -q -", several.stdout)
    for i in range(20):  # a process each
        entries[f"new{i % 7}"] = f"other{i}@example.org"
        expect(postmap.add(f"new{i % 7}", f"other{i}@example.org").returncode == 0, "postmap -i")
        if i % 3 == 0:
            expect(postmap("-d", f"user{i:04}").returncode == 0, "postmap -d")
            del entries[f"user{i:04}"]
    expect(postmap("-d", "nobody").returncode == 1, "postmap -d of a key that is not there")
    expect(postmap.shown() == entries, "postmap -s after changes by many processes")
    fewer = {"only": "one@example.org"}
    expect(postmap.build(fewer).returncode == 0 and postmap.shown() == fewer, "a map that is built again has what it is built of")


def wait_for(condition, what):
    for _ in range(600):
        if condition():
            return
        time.sleep(0.05)
    expect(False, what)


def has_open_for_writing(process, suffix):
    for descriptor in glob.glob(f"/proc/{process}/fd/*"):
        try:
            with open(descriptor.replace("/fd/", "/fdinfo/"), encoding="ascii") as file:
                flags = int(re.search(r"flags:\s+([0-7]+)", file.read()).group(1), 8)
            if os.readlink(descriptor).endswith(suffix) and flags & os.O_ACCMODE == os.O_RDWR:
                return True
        except FileNotFoundError:
            pass  # closed meanwhile
    return False


def is_busy(postmap):
    done = postmap.add("tried", "zero@example.org")
    return done.returncode == 1 and "Device or resource busy" in done.stdout


def beside_each_other(postmap):
    """The drop-in alone: while one process changes the map, the next that would is told so. Readers see what was committed when they opened."""
    holder = postmap.holding("held first@example.org\n")
    expect(is_busy(postmap), "a second process that changes is told that it is busy")
    expect(postmap("-q", "only").stdout == "one@example.org\n", "postmap -q beside a process that changes")
    holder.stdin.close()
    expect(holder.wait(timeout=60) == 0, "the process that changed", holder.stderr.read())
    expect(postmap("-q", "held").stdout == "first@example.org\n", "what it changed")
    expect(postmap.add("tried", "second@example.org").returncode == 0, "after it, the next one may")

    holder = postmap.holding("killed third@example.org\n")
    expect(is_busy(postmap), "a second process that changes is told that it is busy")
    holder.send_signal(signal.SIGKILL)
    holder.wait(timeout=60)
    expect(postmap.add("last", "fourth@example.org").returncode == 0, "after a kill, the next one may")
    shown = postmap.shown()
    expect(shown.pop("killed", None) in (None, "third@example.org"), "what the killed process changed is there or not")
    expected = {"only": "one@example.org", "held": "first@example.org", "last": "fourth@example.org"}
    expect(shown.pop("tried") == "second@example.org" and shown == expected, "postmap -s after a kill", str(shown))


def postfix(dropin):
    target = unpack("postfix", ["postfix", "postfix-lmdb"], ["libicu72", "libdb5.3", "libnsl2", "libtirpc3", "libsasl2-2", "libssl3", "liblmdb0"])
    said = []
    for library in (None, dropin):
        env = environment(target, library)
        expect_liblmdb(os.path.join(target, "usr", "lib", "postfix", "postfix-lmdb.so"), env, dropin)
        with tempfile.TemporaryDirectory() as home:
            os.chmod(home, 0o755)
            postmap = Postmap(target, env, home)
            one_after_the_other(postmap)
            said.append([(arguments, code, output.replace(home, "")) for arguments, code, output in postmap.said])
            if library:
                beside_each_other(postmap)
    expect(said[0] == said[1], "postmap says the same on both libraries",
           "\n".join(f"{a}\n{b}" for a, b in zip(*said) if a != b))
    print(f"postfix: {len(said[0])} calls of postmap say the same on Debian's liblmdb and on the drop-in; two processes, and a kill")


# ---- php -------------------------------------------------------------------------------------------------------------------


def php(dropin):
    depends = run(["apt-cache", "depends", "php-cli"]).stdout if shutil.which("apt-cache") else ""
    version = re.search(r"php([0-9.]+)-cli", depends)
    if version is None:
        skip("no php-cli in the machine's package lists")
    name = f"php{version.group(1)}"
    target = unpack("php", [f"{name}-cli", f"{name}-dba"],
                    ["libqdbm14", "libdb5.3", "libargon2-1", "libsodium23", "libedit2", "libbsd0", "libmd0", "libxml2", "libpcre2-8-0", "libicu72", "libssl3",
                     "liblmdb0"])
    program = os.path.join(target, "usr", "bin", name)
    extension = glob.glob(os.path.join(target, "usr", "lib", "php", "*", "dba.so"))
    expect(len(extension) == 1, f"{name}-dba has no dba.so")
    said = []
    for library in (None, dropin):
        env = environment(target, library)
        expect_liblmdb(extension[0], env, dropin)
        with tempfile.TemporaryDirectory() as home:
            done = run([program, "-n", "-d", f"extension={extension[0]}", os.path.join(HERE, "dba_lmdb.php"), os.path.join(home, "db.lmdb")], env=env)
            said.append(done.stdout.replace(home, ""))
            expect(done.returncode == 0 and done.stdout.endswith("done\n"), "the program does not come to its end", done.stdout)
    expect(said[0] == said[1], "php says the same on both libraries", "\n".join(said))
    print(f"{name}'s dba: {len(said[0].splitlines())} lines, the same on Debian's liblmdb and on the drop-in")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("client", choices=("postfix", "php"))
    parser.add_argument("--dropin", required=True, help="where liblmdb.so.0 is")
    arguments = parser.parse_args()
    dropin = os.path.abspath(arguments.dropin)
    expect(os.path.exists(os.path.join(dropin, "liblmdb.so.0")), f"no drop-in library in {dropin}")
    {"postfix": postfix, "php": php}[arguments.client](dropin)


if __name__ == "__main__":
    main()
