#!/usr/bin/env python3
"""The effects of misuse on three Java bindings: mergedb-java, leveldbjni 1.8 and rocksdbjni 11.8.1.

Each misuse runs in a JVM of its own, --times times, because a race ends differently each time. Prints the table of
docs/api/java.md. Fails if a misuse of mergedb-java ends its JVM.

Needs ./dev build java; Maven downloads the jars of the other bindings into build/jni/peers."""

import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PEERS = ["org.fusesource.leveldbjni:leveldbjni-all:1.8", "org.rocksdb:rocksdbjni:11.8.1"]
BINDINGS = ["mergedb", "leveldbjni", "rocksdbjni"]
SIGNALS = {134: "SIGABRT", 139: "SIGSEGV", 135: "SIGBUS", 136: "SIGFPE"}
SECONDS_MAX = 60


def peers():
    folder = ROOT / "build/jni/peers"
    for name in PEERS:
        artifact = name.split(":")[1]
        if not list(folder.glob(f"{artifact}-*.jar")):
            copy = ["mvn", "--batch-mode", "-q", "dependency:copy", f"-Dartifact={name}", f"-DoutputDirectory={folder}"]
            subprocess.run(copy, check=True)
    return sorted(folder.glob("*.jar"))


def compiled(classpath):
    folder = ROOT / "build/jni/misuse"
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["javac", "-cp", classpath, "-d", folder, ROOT / "java/peers/Misuse.java"], check=True)
    return f"{folder}:{classpath}"


def signal_of(output, code):
    found = re.search(r"#\s+(SIG[A-Z]+)", output)
    return found.group(1) if found else SIGNALS.get(code if code > 0 else 128 - code, f"exit {code}")


def outcome(classpath, binding, misuse, errors):
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as directory:
        command = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:-CreateCoredumpOnCrash"]
        command += [f"-XX:ErrorFile={errors}/hs_err_%p.log"]
        command += ["-cp", classpath, "Misuse", binding, misuse, directory + "/db"]
        try:
            child = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX, errors="replace")
        except subprocess.TimeoutExpired:
            return f"hangs (over {SECONDS_MAX} s)"
        if child.returncode != 0 or "ALIVE" not in child.stdout:
            return f"**JVM dead: {signal_of(child.stdout + child.stderr, child.returncode)}**"
        said = re.search(r"OUTCOME (.*)", child.stdout).group(1)
        code = re.search(r"MergedbException: ([A-Z_]+)", said)
        if code:
            return code.group(1)
        return said if said == "nothing" else re.sub(r"^[\w.$]*\.", "", said.split(":")[0])


def cell(seen, times):
    return "; ".join(what if count == times else f"{what} ({count} of {times})" for what, count in seen.most_common())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=3, help="runs of each misuse (3)")
    parser.add_argument("--binding", choices=BINDINGS, help="only this binding")
    arguments = parser.parse_args()
    jars = [ROOT / "java/mergedb-java/target/mergedb-java-0.1.0.jar", *peers()]
    if not jars[0].exists():
        print("java_misuse: java/mergedb-java/target has no jar; run `./dev build java` first", file=sys.stderr)
        return 1
    classpath = compiled(":".join(map(str, jars)))
    bindings = [arguments.binding] if arguments.binding else BINDINGS
    listing = subprocess.run(["java", "-cp", classpath, "Misuse"], capture_output=True, text=True, check=True)
    misuses = listing.stdout.splitlines()
    print("| misuse | " + " | ".join(bindings) + " |\n| --- |" + " --- |" * len(bindings))
    deaths = 0
    with tempfile.TemporaryDirectory() as errors:
        for misuse in misuses:
            cells = []
            for binding in bindings:
                seen = collections.Counter(outcome(classpath, binding, misuse, errors) for _ in range(arguments.times))
                if binding == "mergedb":
                    deaths += sum(count for what, count in seen.items() if "dead" in what or "hangs" in what)
                cells.append(cell(seen, arguments.times))
            print(f"| {misuse} | " + " | ".join(cells) + " |", flush=True)
    return 1 if deaths else 0


if __name__ == "__main__":
    os.nice(5)
    sys.exit(main())
