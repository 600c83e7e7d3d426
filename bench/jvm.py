#!/usr/bin/env python3
"""./dev bench --only jvm: mergedb on the JVM compared with its peers. Writes build/bench/jvm.json and prints tables.

1. The JMH benchmarks of java/mergedb-benchmarks on mergedb-java, rocksdbjni and leveldbjni, each in a JVM of
   its own, one after the other; then a C program over libmergedb.a, so that the difference to mergedb-java is
   the cost of JNI. A figure is the median of the measured iterations, in nanoseconds an operation; JMH's own
   output is in build/bench/jvm-jmh.txt.
2. seed: the scenarios of Voldemort's LevelDB engine (a batch load, then reads; values of 80 B and 1 KB; a cache
   of half of the data and of twice the data; a limited heap) on mergedb, BDB JE and RocksDB with the same
   version logic, without Voldemort. A figure is the median of the rounds.
3. wordCount: a word count topology of Kafka Streams on a real broker, with changelog, in its RocksDB store and in ours.

    bench/jvm.py [--quick] [--only put,getHit,seed,wordCount] [--engines mergedb,rocksdbjni] [--no-build]

It needs build/jni/libmergedb_jni.so (./dev build java) and build/release/lib/libmergedb.a, or other files named
by --jni and --library.
"""

import argparse
import json
import os
import platform
import re
import shlex
import shutil
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MODULE = os.path.join(ROOT, "java", "mergedb-benchmarks")
ENGINES = ["mergedb", "rocksdbjni", "leveldbjni"]
PART = 5  # ReadBenchmark.PART
# benchmark -> (class, operations of an invocation as a function of entries, engines that have the call)
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
# The targets of mergedb-java: the ratio to rocksdbjni, and the largest difference to the C interface in
# nanoseconds.
TARGETS = {"put": 4.0, "getHit": 1.5, "scan": 3.0, "counter": 5.0}
JNI_NANOS_MAX = 250
SEED, WORD_COUNT = "seed", "wordCount"  # in addition to the benchmarks of JMH
SEED_ENGINES = ["mergedb", "bdb", "rocksdb"]
SEED_TARGETS = {"bdb": 2.0, "rocksdb": 1.5}  # with a cache of half of the data
SEED_ENTRY_BYTES = 60  # key, clock and the engine's overhead
WORD_COUNT_TARGET = 1.3


def run(command, **more):
    """Runs a command. If it fails, prints which one and ends."""
    try:
        return subprocess.run(command, check=True, **more)
    except FileNotFoundError:
        sys.exit(f"jvm.py: {command[0]} was not found; install it or add it to PATH")
    except subprocess.CalledProcessError as error:
        sys.exit(f"jvm.py: {shlex.join(command)} failed with status {error.returncode}")


def build(args):
    run(["mvn", "--batch-mode", "--quiet", "-Dstyle.color=never", "--file", os.path.join(ROOT, "java", "pom.xml"),
         "-pl", "mergedb-java,mergedb-versions,mergedb-benchmarks", "package", "-DskipTests"])
    run(["cc", "-std=c11", "-O2", f"-I{ROOT}/include", os.path.join(MODULE, "native", "c_interface.c"), args.library,
         "-lsnappy", "-llz4", "-lzstd", "-lpthread", "-lstdc++", "-lm", "-o", os.path.join(args.out, "c_interface")])


def class_path():
    with open(os.path.join(MODULE, "target", "classpath.txt"), encoding="utf-8") as file:
        return os.path.join(MODULE, "target", "classes") + os.pathsep + file.read().strip()


def run_jmh(args, benchmark, engine):
    """Returns the nanoseconds an operation of each measured iteration."""
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


def run_seed(args):
    """Returns a list of scenarios: {value_bytes, cache_mb, is_larger_than_cache, engines: {name:
    {load_per_second, read_per_second, disk_bytes}}}."""
    scenarios = []
    for value_bytes in (80, 1024):
        data_mb = args.seed_entries * (value_bytes + SEED_ENTRY_BYTES) / (1 << 20)
        for is_larger, cache_mb in ((True, max(4, round(data_mb / 2))), (False, max(8, round(data_mb * 2)))):
            rounds = {engine: [] for engine in SEED_ENGINES}
            for _ in range(1 if args.quick else 3):
                for engine in SEED_ENGINES:
                    print(f"seed: {engine}, {args.seed_entries:,} entries of {value_bytes} B, {data_mb:.0f} MB; cache {cache_mb} MB", file=sys.stderr)
                    rounds[engine].append(run_seed_once(args, engine, value_bytes, cache_mb))
            medians = {engine: {key: statistics.median(one[key] for one in found) for key in ("load_per_second", "read_per_second", "disk_bytes")}
                       for engine, found in rounds.items()}
            scenarios.append({"value_bytes": value_bytes, "cache_mb": cache_mb, "is_larger_than_cache": is_larger, "engines": medians, "rounds": rounds})
    return scenarios


def run_seed_once(args, engine, value_bytes, cache_mb):
    folder = os.path.join(args.folder, "seed")
    shutil.rmtree(folder, ignore_errors=True)
    heap_mb = cache_mb + 192  # the cache of BDB is on the heap
    done = run(["java", f"-Xmx{heap_mb}m", "-XX:+UseSerialGC", f"-Dmergedb.library.path={args.jni}", "-cp", class_path(),
                "dev.mergedb.benchmarks.seed.SeedScenario", "--engine", engine, "--folder", folder, "--entries", str(args.seed_entries),
                "--operations", str(args.seed_entries), "--value", str(value_bytes), "--cache", str(cache_mb)], stdout=subprocess.PIPE, text=True)
    shutil.rmtree(folder, ignore_errors=True)
    return json.loads(done.stdout)


def seed_table(scenarios, is_quick):
    lines = [f"{'the scenarios of the seed':38}" + "".join(f"{name:>12}" for name in SEED_ENGINES) + f"{'to bdb':>14}{'to rocksdb':>14}"]
    for scenario in scenarios:
        name = f"{scenario['value_bytes']:,} B, cache {scenario['cache_mb']} MB"
        for figure, unit in (("load_per_second", "load, op/s"), ("read_per_second", "reads, op/s"), ("disk_bytes", "disk, MB")):
            values = {engine: found[figure] / (1e6 if figure == "disk_bytes" else 1) for engine, found in scenario["engines"].items()}
            cells = "".join(f"{values[engine]:>12,.0f}" for engine in SEED_ENGINES)
            ratios = ""
            for peer, target in SEED_TARGETS.items():
                ratio = values["mergedb"] / values[peer]
                is_judged = scenario["is_larger_than_cache"] and figure != "disk_bytes" and not is_quick
                ratios += f"{ratio:>8.2f} x" + (f"{'yes' if ratio >= target else 'no':>4}" if is_judged else f"{'':4}")
            lines.append(f"{name + ', ' + unit:38}{cells}{ratios}")
    if not is_quick:
        lines.append(f"targets where the data is larger than the cache: {SEED_TARGETS['bdb']:g} x BDB, {SEED_TARGETS['rocksdb']:g} x RocksDB")
    return lines


WORD_COUNT_LINE = re.compile(r"^(\S+)\s+median\s+([\d,]+) words/s.*x ([\d.]+) of rocksdb; stream thread\s+([\d,]+) ns a word, x ([\d.]+)$")


def run_word_count(args):
    """Returns {store: {words_per_second, ratio, stream_thread_nanos, stream_thread_ratio}}."""
    words = 20_000 if args.quick else 1_000_000
    print(f"word count: {words:,} words", file=sys.stderr)
    found = {}
    done = run(["mvn", "--batch-mode", "-Dstyle.color=never", "--file", os.path.join(ROOT, "java", "pom.xml"), "-Pword-count",
                "-pl", "mergedb-kafka-streams", "-am", "-DskipTests", "test", f"-Dmergedb.jni={args.jni}",
                f"-Dword.count=--words {words} --keys {words // 2} --rounds {1 if args.quick else 3} --stores rocksdb,mergedb,merge"],
               stdout=subprocess.PIPE, text=True)
    with open(os.path.join(args.out, "jvm-word-count.txt"), "w", encoding="utf-8") as log:
        log.write(done.stdout)
    for line in done.stdout.splitlines():
        if fields := WORD_COUNT_LINE.match(line.strip()):
            store, rate, ratio, nanos, cpu_ratio = fields.groups()
            found[store] = {"words_per_second": int(rate.replace(",", "")), "ratio": float(ratio),
                            "stream_thread_nanos": int(nanos.replace(",", "")), "stream_thread_ratio": float(cpu_ratio)}
    if set(found) != {"rocksdb", "mergedb", "merge"}:
        sys.exit(f"jvm.py: the word count printed figures of {sorted(found) or 'no store'}, expected three; its output: {args.out}/jvm-word-count.txt")
    return found


def word_count_table(found, is_quick):
    lines = [f"{'word count':16}{'words/s':>12}{'to rocksdb':>12}{'stream thread, ns a word':>26}{'to rocksdb':>12}"]
    for store, row in found.items():
        lines.append(f"{store:16}{row['words_per_second']:>12,}{row['ratio']:>10.2f} x{row['stream_thread_nanos']:>26,}{row['stream_thread_ratio']:>10.2f} x")
    if not is_quick:
        reached = {name: "yes" if found["mergedb"][name] >= WORD_COUNT_TARGET else "no" for name in ("ratio", "stream_thread_ratio")}
        lines.append(f"target for mergedb: {WORD_COUNT_TARGET:g} x; by words a second: {reached['ratio']}; "
                     f"by the CPU of the stream thread: {reached['stream_thread_ratio']}")
    return lines


def number(value):
    return "-" if value is None else f"{value:,.0f}"


def times(value, base):
    return "-" if value is None or base is None else f"{base / value:.2f} x"


def table(results, is_quick):
    """Returns lines of text: nanoseconds an operation, the ratios to rocksdbjni and leveldbjni, and whether the
    target is reached. A quick run has no targets."""
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
    parser.add_argument("--quick", action="store_true", help="20,000 entries and 2 iterations: checks that the benchmarks run; the figures mean nothing")
    parser.add_argument("--entries", type=int, default=None, help="default 1,000,000; 20,000 with --quick")
    parser.add_argument("--seed-entries", type=int, default=None,
                        help="entries in the seed scenarios (500,000 to 3,000,000 in the original); default 500,000; 5,000 with --quick")
    every = [*BENCHMARKS, SEED, WORD_COUNT]
    parser.add_argument("--only", default=",".join(every), help="benchmarks, comma-separated: " + ", ".join(every))
    parser.add_argument("--engines", default=",".join(ENGINES), help="engines, comma-separated: " + ", ".join(ENGINES))
    parser.add_argument("--no-build", action="store_true", help="use the existing build")
    parser.add_argument("--jni", default=os.path.join(ROOT, "build", "jni", "libmergedb_jni.so"))
    parser.add_argument("--library", default=os.path.join(ROOT, "build", "release", "lib", "libmergedb.a"))
    parser.add_argument("--folder", default=os.path.join(ROOT, "build", "bench", "jvm"), help="directory for the databases")
    args = parser.parse_args()
    args.out = os.path.join(ROOT, "build", "bench")
    args.entries = args.entries or (20_000 if args.quick else 1_000_000)
    args.seed_entries = args.seed_entries or (5_000 if args.quick else 500_000)
    for name, value in (("--entries", args.entries), ("--seed-entries", args.seed_entries)):
        if value < 1000:
            parser.error(f"{name}: expected at least 1,000, found {value}")
    args.only = args.only.split(",")
    args.engines = args.engines.split(",")
    for name, known in [(each, every) for each in args.only] + [(each, ENGINES) for each in args.engines]:
        if name not in known:
            parser.error(f"unknown name {name}; one of: {', '.join(known)}")
    needed = [(args.jni, "./dev build java"), (args.library, "./dev build")]
    if args.no_build:
        needed += [(os.path.join(args.out, "c_interface"), "bench/jvm.py without --no-build")]
    for path, what in needed:
        if not os.path.exists(path):
            parser.error(f"{path} does not exist; {what} builds it")
    return args


def main():
    args = parse()
    os.makedirs(args.folder, exist_ok=True)
    if not args.no_build:
        build(args)
    open(os.path.join(args.out, "jvm-jmh.txt"), "w", encoding="utf-8").close()
    results = {}
    for benchmark in [name for name in args.only if name in BENCHMARKS]:
        results[benchmark] = {}
        for engine in args.engines:
            if engine in BENCHMARKS[benchmark][2]:
                print(f"{benchmark} on {engine}", file=sys.stderr)
                results[benchmark][engine] = run_jmh(args, benchmark, engine)
    if results:
        for benchmark, values in run_native(args).items():
            if benchmark in results:
                results[benchmark]["c"] = values
    seed = run_seed(args) if SEED in args.only else []
    word_count = run_word_count(args) if WORD_COUNT in args.only else {}
    machine = {"cpus": os.cpu_count(), "machine": platform.machine(), "kernel": platform.release()}
    with open(os.path.join(args.out, "jvm.json"), "w", encoding="utf-8") as file:
        json.dump({"entries": args.entries, "quick": args.quick, "unit": "nanoseconds an operation", "machine": machine,
                   "results": results, "seed_entries": args.seed_entries, "seed": seed, "word_count": word_count}, file, indent=1)
    tables = [make(found, args.quick) for make, found in ((table, results), (seed_table, seed), (word_count_table, word_count)) if found]
    print("\n\n".join("\n".join(lines) for lines in tables))
    if args.quick:
        print("A quick run shows that the benchmarks run; its figures mean nothing.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
