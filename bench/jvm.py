#!/usr/bin/env python3
"""./dev bench --only jvm: the JMH benchmarks of java/mergedb-benchmarks, and the same puts and gets through the C interface.

mergedb-java, rocksdbjni and leveldbjni, each in a JVM of its own, one after the other; then a C program over libmergedb.a, so that the
difference to mergedb-java is the cost of JNI. Writes build/bench/jvm.json and prints a table. A figure is the median of the measured
iterations, in nanoseconds an operation; JMH's own output is in build/bench/jvm-jmh.txt.

    bench/jvm.py [--quick] [--only put,getHit] [--engines mergedb,rocksdbjni] [--no-build]

It needs build/jni/libmergedb_jni.so (./dev build java) and build/release/lib/libmergedb.a, or other files named by --jni and --library.
"""

import argparse
import json
import os
import platform
import shlex
import shutil
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MODULE = os.path.join(ROOT, "java", "mergedb-benchmarks")
ENGINES = ["mergedb", "rocksdbjni", "leveldbjni"]
PART = 5  # ReadBenchmark.PART
# benchmark -> (class, operations an invocation as a function of entries, engines that have the call)
BENCHMARKS = {
    "put": ("WriteBenchmark", lambda n: n, ENGINES),
    "putDirect": ("WriteBenchmark", lambda n: n, ENGINES[:2]),
    "counter": ("WriteBenchmark", lambda n: n, ENGINES[:2]),
    "getHit": ("ReadBenchmark", lambda n: n // PART, ENGINES),
    "getHitDirect": ("ReadBenchmark", lambda n: n // PART, ENGINES[:2]),
    "getMiss": ("ReadBenchmark", lambda n: n // PART, ENGINES),
    "multiGet": ("ReadBenchmark", lambda n: n // PART // 100 * 100, ENGINES[:2]),
    "scan": ("ReadBenchmark", lambda n: n, ENGINES),
}
# What mergedb-java is to reach against rocksdbjni, and above the C interface in nanoseconds.
TARGETS = {"put": 4.0, "getHit": 1.5, "scan": 3.0, "counter": 5.0}
JNI_NANOS_MAX = 250


def run(command, **more):
    """Run a command; on failure say which one and end."""
    try:
        return subprocess.run(command, check=True, **more)
    except FileNotFoundError:
        sys.exit(f"jvm.py: {command[0]} is not there; install it or put it on PATH")
    except subprocess.CalledProcessError as error:
        sys.exit(f"jvm.py: {shlex.join(command)} failed with status {error.returncode}")


def build(args):
    run(["mvn", "--batch-mode", "--quiet", "-Dstyle.color=never", "--file", os.path.join(ROOT, "java", "pom.xml"),
         "-pl", "mergedb-java,mergedb-benchmarks", "package", "-DskipTests"])
    run(["cc", "-std=c11", "-O2", f"-I{ROOT}/include", os.path.join(MODULE, "native", "c_interface.c"), args.library,
         "-lsnappy", "-llz4", "-lzstd", "-lpthread", "-lstdc++", "-lm", "-o", os.path.join(args.out, "c_interface")])


def class_path():
    with open(os.path.join(MODULE, "target", "classpath.txt"), encoding="utf-8") as file:
        return os.path.join(MODULE, "target", "classes") + os.pathsep + file.read().strip()


def run_jmh(args, benchmark, engine):
    """The nanoseconds an operation of each measured iteration."""
    result = os.path.join(args.out, "jvm-jmh.json")
    cls, operations, _ = BENCHMARKS[benchmark]
    command = ["java", "-cp", class_path(), "org.openjdk.jmh.Main", f"dev\\.mergedb\\.benchmarks\\.{cls}\\.{benchmark}$",
               "-p", f"engine={engine}", "-p", f"entries={args.entries}", "-rf", "json", "-rff", result, "-foe", "true",
               "-jvmArgs", f"-Xms768m -Xmx768m -XX:+UseSerialGC -Dmergedb.library.path={args.jni} -Dmergedb.bench.folder={args.folder}"]
    if args.quick:
        command += ["-wi", "1", "-i", "2"]
    with open(os.path.join(args.out, "jvm-jmh.txt"), "a", encoding="utf-8") as log:
        run(command, stdout=log, stderr=subprocess.STDOUT)
    with open(result, encoding="utf-8") as file:
        (found,) = json.load(file)
    os.remove(result)
    return [nanos / operations(args.entries) for fork in found["primaryMetric"]["rawData"] for nanos in fork]


def run_native(args):
    path = os.path.join(args.folder, "c_interface")
    shutil.rmtree(path, ignore_errors=True)
    done = run([os.path.join(args.out, "c_interface"), path, str(args.entries), str(2 if args.quick else 5)],
               stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def number(value):
    return "-" if value is None else f"{value:,.0f}"


def times(value, base):
    return "-" if value is None or base is None else f"{base / value:.2f} x"


def table(results, is_quick):
    """Lines of text: nanoseconds an operation, how many times faster than rocksdbjni and leveldbjni, and whether that is the target, of
    which a quick run says nothing."""
    lines = [f"{'ns an operation':16}{'mergedb':>10}{'rocksdbjni':>12}{'leveldbjni':>12}{'C interface':>13}"
             f"{'to rocksdbjni':>15}{'to leveldbjni':>15}{'target':>9}"]
    for benchmark, found in results.items():
        median = {name: statistics.median(values) for name, values in found.items()}
        ours, rocks, level, native = (median.get(name) for name in ENGINES + ["c"])
        target = None if is_quick else TARGETS.get(benchmark)
        verdict = "-" if target is None or ours is None or rocks is None else f"{target:g} x {'yes' if rocks / ours >= target else 'no'}"
        lines.append(f"{benchmark:16}{number(ours):>10}{number(rocks):>12}{number(level):>12}{number(native):>13}"
                     f"{times(ours, rocks):>15}{times(ours, level):>15}{verdict:>9}")
        if benchmark == "put" and ours is not None and native is not None:
            within = "yes" if ours - native <= JNI_NANOS_MAX else "no"
            target = "" if is_quick else f"; target: at most {JNI_NANOS_MAX}: {within}"
            lines.append(f"{'':4}JNI adds {ours - native:,.0f} ns to a put{target}")
    return lines


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="20,000 entries and 2 iterations: shows that it runs, not how fast")
    parser.add_argument("--entries", type=int, default=None, help="default 1,000,000; 20,000 with --quick")
    parser.add_argument("--only", default=",".join(BENCHMARKS), help="benchmarks, by comma: " + ", ".join(BENCHMARKS))
    parser.add_argument("--engines", default=",".join(ENGINES), help="by comma: " + ", ".join(ENGINES))
    parser.add_argument("--no-build", action="store_true", help="use what an earlier call built")
    parser.add_argument("--jni", default=os.path.join(ROOT, "build", "jni", "libmergedb_jni.so"))
    parser.add_argument("--library", default=os.path.join(ROOT, "build", "release", "lib", "libmergedb.a"))
    parser.add_argument("--folder", default=os.path.join(ROOT, "build", "bench", "jvm"), help="where the databases are")
    args = parser.parse_args()
    args.out = os.path.join(ROOT, "build", "bench")
    args.entries = args.entries or (20_000 if args.quick else 1_000_000)
    if args.entries < 1000:
        parser.error("--entries must be at least 1,000")
    args.only = args.only.split(",")
    args.engines = args.engines.split(",")
    for name, known in [(each, BENCHMARKS) for each in args.only] + [(each, ENGINES) for each in args.engines]:
        if name not in known:
            parser.error(f"there is no {name}; there are: {', '.join(known)}")
    needed = [(args.jni, "./dev build java"), (args.library, "./dev build")]
    if args.no_build:
        needed += [(os.path.join(args.out, "c_interface"), "bench/jvm.py without --no-build")]
    for path, what in needed:
        if not os.path.exists(path):
            parser.error(f"{path} is not there; {what} makes it")
    return args


def main():
    args = parse()
    os.makedirs(args.folder, exist_ok=True)
    if not args.no_build:
        build(args)
    open(os.path.join(args.out, "jvm-jmh.txt"), "w", encoding="utf-8").close()
    results = {}
    for benchmark in args.only:
        results[benchmark] = {}
        for engine in args.engines:
            if engine in BENCHMARKS[benchmark][2]:
                print(f"{benchmark} on {engine}", file=sys.stderr)
                results[benchmark][engine] = run_jmh(args, benchmark, engine)
    for benchmark, values in run_native(args).items():
        if benchmark in results:
            results[benchmark]["c"] = values
    machine = {"cpus": os.cpu_count(), "machine": platform.machine(), "kernel": platform.release()}
    with open(os.path.join(args.out, "jvm.json"), "w", encoding="utf-8") as file:
        json.dump({"entries": args.entries, "quick": args.quick, "unit": "nanoseconds an operation", "machine": machine,
                   "results": results}, file, indent=1)
    print("\n".join(table(results, args.quick)))
    if args.quick:
        print("A quick run shows that the benchmarks run; its figures say nothing.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
