#!/usr/bin/env python3
"""./dev bench: run the matrix on all engines and write build/bench/report.html, report.json and report.md.

All engines run an experiment once before any engine repeats it; the order of the engines rotates with the repetition.
Each run has its own directory, which is removed at its end. The report is rewritten after every experiment, so an
early stop loses only the experiments that have not run.
"""

import argparse
import dataclasses
import datetime
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import time

import matrix
import peers
import report
import report_page

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class MemoryLimit:
    """A control group with a memory limit, page cache included, for one child. Without permission it does nothing."""

    ROOTS = [("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")]

    def __init__(self, bytes_):
        self.folder = None
        for root, name in self.ROOTS if bytes_ else []:
            folder = os.path.join(root, f"mergedb-bench-{os.getpid()}")
            try:
                os.mkdir(folder)
                with open(os.path.join(folder, name), "r+") as file:  # a file of the kernel; a plain directory lacks it
                    file.write(str(bytes_))
                self.folder = folder
                return
            except OSError:
                if os.path.isdir(folder):
                    os.rmdir(folder)

    def enter(self):
        if self.folder:
            with open(os.path.join(self.folder, "cgroup.procs"), "w") as file:
                file.write(str(os.getpid()))

    def close(self):
        if self.folder:
            os.rmdir(self.folder)


def drop_page_cache(directory):
    """Drops the whole page cache if permitted; otherwise drops the pages of each file of the directory."""
    os.sync()
    try:
        with open("/proc/sys/vm/drop_caches", "w") as file:
            file.write("1")
    except OSError:
        for folder, _, names in os.walk(directory):
            for name in names:
                fd = os.open(os.path.join(folder, name), os.O_RDONLY)
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                os.close(fd)


def let_the_disk_rest(directory, seconds_max):
    """Waits, so that the disk work of the last run does not slow the next one. A sync may return before the
    discard of removed files' blocks, so this waits until the device has been idle for a fifth of a second."""
    os.sync()
    device = os.stat(directory).st_dev
    counters = f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/stat"
    deadline, quiet_since, last = time.monotonic() + seconds_max, time.monotonic(), None
    while os.path.exists(counters) and time.monotonic() < deadline and time.monotonic() - quiet_since < 0.2:
        with open(counters, encoding="utf-8") as file:
            words = file.read().split()
        if (found := (words[8], words[9])) != last or words[8] != "0":  # requests in flight, milliseconds busy
            last, quiet_since = found, time.monotonic()
        time.sleep(0.02)


class Comparison:
    def __init__(self, options, engines, experiments):
        self.options, self.engines, self.experiments = options, engines, experiments
        self.by_id = {e.id: e for e in engines}
        self.folder = os.path.abspath(options.out)
        self.runs, self.failures, self.notes = [], [], []
        self.deadline = time.monotonic() + options.minutes * 60 if options.minutes else None
        self.started = time.monotonic()
        self.load = " ".join(f"{average:.2f}" for average in os.getloadavg())
        os.makedirs(self.folder, exist_ok=True)

    def engines_of(self, experiment, repetition):
        ids = experiment.engines or [e.id for e in self.engines if e.id not in matrix.OTHERWISE]
        chosen = [self.by_id[id_] for id_ in ids if id_ in self.by_id]
        turn = repetition % len(chosen) if chosen else 0
        return chosen[turn:] + chosen[:turn]

    def command(self, experiment, engine, database, json_path, benchmarks, more=()):
        return [self.options.db_bench, f"--benchmarks={','.join(benchmarks)}", *experiment.flags, *engine.flags, *more,
                f"--db={database}", f"--json={json_path}"]

    def execute(self, command, memory_limit):
        limit = MemoryLimit(memory_limit)
        if memory_limit and not limit.folder and "no memory limit" not in " ".join(self.notes):
            self.notes.append("no memory limit could be set: the large runs had the whole machine")
        try:
            done = subprocess.run(command, preexec_fn=limit.enter, capture_output=True, text=True, timeout=self.options.timeout)
        finally:
            limit.close()
        if done.returncode != 0:
            raise RuntimeError((done.stderr.strip().splitlines() or ["db_bench ended without a message"])[-1])
        with open(next(word for word in command if word.startswith("--json="))[len("--json="):], encoding="utf-8") as file:
            return json.load(file)

    def rate_flags(self, experiment):
        if not experiment.rate_of:
            return []
        rates = []
        for run in self.runs:
            if run["experiment"] == experiment.rate_of and run["engine"] == "leveldb":
                metric = report.metrics_of(run).get("fillrandom + drain")
                rates.append(1e6 / metric["wall"])
        return [f"--rate={round(statistics.median(rates) / 2) if rates else 50000}"]

    def run(self, experiment, engine, repetition):
        database = os.path.join(self.folder, "db")
        shutil.rmtree(database, ignore_errors=True)
        let_the_disk_rest(self.folder, self.options.rest)
        json_path = os.path.join(self.folder, "run.json")
        more = self.rate_flags(experiment)
        benchmarks = experiment.benchmarks_of.get(engine.id, experiment.benchmarks)
        command = self.command(experiment, engine, database, json_path, benchmarks, more)
        record = {"experiment": experiment.id, "title": experiment.title, "engine": engine.id, "repetition": repetition,
                  "commands": [command]}
        try:
            record["result"] = self.execute(command, experiment.memory_limit)
            if experiment.cold_reads:
                drop_page_cache(database)
                cold = self.command(experiment, engine, database, json_path, ["readrandom"],
                                    ["--use_existing_db=1", f"--reads={experiment.cold_reads}"])
                record["commands"].append(cold)
                record["cold"] = self.execute(cold, experiment.memory_limit)
        except (RuntimeError, OSError, subprocess.SubprocessError, ValueError) as error:
            self.failures.append(f"{experiment.id}, {engine.title}: {error}")
            return None
        finally:
            shutil.rmtree(database, ignore_errors=True)
        self.runs.append(record)
        return record

    def say(self, done, total, experiment, engine, record, seconds):
        figures = report.metrics_of(record) if record else {}
        words = [f"{name} {report.plot.number(v['wall'])}" for name, v in figures.items()
                 if ("cpu" in v or name.startswith("put ")) and name != "put p50"][:4]
        elapsed = time.monotonic() - self.started
        left = elapsed / done * (total - done)
        clock = f"{elapsed:4.0f} s, about {left:.0f} s left" if not self.deadline else f"{elapsed:4.0f} s"
        outcome = "; ".join(words) + " us" if record else "FAILED: " + self.failures[-1]
        print(f"[{done:3}/{total}] {clock}  {experiment.id:20} {engine.title:28} {seconds:6.1f} s  {outcome}", flush=True)

    def plan(self):
        for repetition in range(self.options.repeat):
            for experiment in self.experiments:
                if repetition < experiment.repeat_max:
                    for engine in self.engines_of(experiment, repetition):
                        yield repetition, experiment, engine

    def resume(self):
        """Takes over the results of an earlier call into the same folder that were measured with the same flags."""
        path = os.path.join(self.folder, "report.json")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                before = json.load(file)
            self.load = before["environment"]["load when it began"]
            flags = {x.id: set(x.flags) for x in self.experiments}
            self.runs = [run for run in before["runs"] if flags.get(run["experiment"], set()) <= set(run["commands"][0])]

    def run_all(self):
        done_before = {(run["repetition"], run["experiment"], run["engine"]) for run in self.runs}
        work = [step for step in self.plan() if (step[0], step[1].id, step[2].id) not in done_before]
        longest = {}
        for done, (repetition, experiment, engine) in enumerate(work, 1):
            key = (experiment.id, engine.id)
            if self.deadline and time.monotonic() + longest.get(key, 5) > self.deadline:
                self.notes.append(f"the time of --minutes ran out in repetition {repetition + 1} of {self.options.repeat}")
                break
            begun = time.monotonic()
            record = self.run(experiment, engine, repetition)
            longest[key] = time.monotonic() - begun
            self.say(done, len(work), experiment, engine, record, longest[key])
            if done == len(work) or work[done][1] is not experiment:
                self.write()
        self.write()

    def environment(self):
        context = self.runs[0]["result"]["context"] if self.runs else {}
        with open("/proc/meminfo", encoding="ascii") as file:
            memory = next((line.split()[1] for line in file if line.startswith("MemTotal")), "0")
        commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True)
        facts = {
            "date": datetime.datetime.now().astimezone().isoformat(timespec="minutes"),
            "mergedb": commit.stdout.strip() or "unknown commit",
            "CPU": f"{context.get('cpu', platform.processor())}, {os.cpu_count()} cores",
            "memory": f"{int(memory) / 1048576:.1f} GiB",
            "kernel": platform.release(),
            "load when it began": self.load,
            "file system": file_system_of(self.folder),
            "device bytes": f"from {context.get('device_source', '?')} (whatever else ran on the machine included)",
            "experiments": f"those with {self.options.only} in their names" if self.options.only else "all",
            "repetitions": str(1 + max((r["repetition"] for r in self.runs), default=0)),
            "LevelDB": "Debian's build, which keeps its assertions on",
            "writes": "unsynced, surviving kill -9, unless a line says otherwise; no compression",
        }
        for run in self.runs:
            facts[f"engine {run['engine']}"] = run["result"]["context"]["engine_version"]
        facts.update({f"note {i}": note for i, note in enumerate([*self.notes, *self.failures], 1)})
        return facts

    def scale(self):
        """Returns the summary of ./dev bench --only scale in the same folder, or None."""
        path = os.path.join(self.folder, "scale.json")
        if not os.path.exists(path):
            return None
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def write(self):
        engines = [{"id": e.id, "title": e.title, "peer": e.peer} for e in self.engines]
        summary = report.summarize(self.runs, engines, self.environment(), matrix.targets(self.options.quick), self.options.quick)
        with open(os.path.join(self.folder, "report.json"), "w", encoding="utf-8") as file:
            json.dump(summary, file, indent=1)
        with open(os.path.join(self.folder, "report.html"), "w", encoding="utf-8") as file:
            file.write(report_page.page(summary, self.scale()))
        with open(os.path.join(self.folder, "report.md"), "w", encoding="utf-8") as file:
            file.write(report.markdown(summary))


def file_system_of(path):
    best = ("", "unknown")
    with open("/proc/mounts", encoding="utf-8") as mounts:
        for line in mounts:
            device, point, kind, options = line.split()[:4]
            if os.path.abspath(path).startswith(point) and len(point) > len(best[0]):
                best = (point, f"{kind} on {device} ({options})")
    return best[1]


def print_targets(summary_path):
    with open(summary_path, encoding="utf-8") as file:
        summary = json.load(file)
    titles = {e["id"]: e["title"] for e in summary["engines"]}
    for t in summary["targets"]:
        verdict = "ok  " if t["is_reached"] else "LESS"
        cpu = f", by CPU {t['cpu_ratio']:.2f}" if t["cpu_ratio"] else ""
        print(f"{verdict} {t['experiment'] + ': ' + t['metric']:42} {t['ratio']:6.2f} x {titles[t['engine']]}"
              f"  ({t['ratio_min']:.2f} to {t['ratio_max']:.2f}{cpu}; at least {t['least']})")


def parse():
    arguments = argparse.ArgumentParser(prog="./dev bench", description="Compare mergedb with LevelDB, RocksDB, LMDB, fjall and Pebble.")
    arguments.add_argument("--quick", action="store_true", help="small sizes; less than five minutes")
    arguments.add_argument("--repeat", type=int, help="repetitions (quick: as many as fit, at most 3; full: 3)")
    arguments.add_argument("--minutes", type=float, help="start no run of a new repetition after this time (quick: 4.2)")
    arguments.add_argument("--rest", type=float, help="maximum seconds to wait for an idle disk between two runs (quick: 2; full: 30)")
    arguments.add_argument("--only", help="experiments whose name contains one of these, comma-separated; 10m: YCSB with 10 M operations")
    arguments.add_argument("--divide", type=int, default=1, metavar="N",
                           help="an N-th of the keys and operations, to see that the experiments run")
    arguments.add_argument("--engines", help="only these engines, comma-separated")
    arguments.add_argument("--peers", default="", help="also build and run these: fjall, pebble or all (needs cargo, go)")
    arguments.add_argument("--out", default=os.path.join(ROOT, "build", "bench"))
    arguments.add_argument("--db_bench", default=os.path.join(ROOT, "build", "release", "bin", "db_bench"))
    arguments.add_argument("--timeout", type=float, default=7200, help="seconds after which a run is cancelled")
    arguments.add_argument("--continue", action="store_true", dest="resume", help="continue an interrupted comparison")
    arguments.add_argument("--list", action="store_true", help="print the runs, and run none")
    options = arguments.parse_args()
    options.repeat = options.repeat or 3
    if options.rest is None:
        options.rest = 2 if options.quick else 30
    if options.minutes is None:
        options.minutes = 4.2 if options.quick else 0
    return options


def peers_of(options):
    """Returns fjall and Pebble as far as --peers or --engines names them."""
    words = [*options.peers.split(","), *(options.engines or "").split(",")]
    return [engine for engine in peers.BUILT if engine in words or options.peers == "all"]


def main():
    options = parse()
    folder = os.path.join(ROOT, "build", "peers")
    library, why_not = (None, "") if options.list else peers.rocksdb_library(folder)
    named = peers_of(options)
    built, left_out = (dict.fromkeys(named, "FILE"), []) if options.list else peers.build_all(named, folder)
    engines = matrix.engines(library, built)
    if options.engines:
        engines = [e for e in engines if e.id in options.engines.split(",")]
    experiments = matrix.experiments(options.quick)
    words = options.only.split(",") if options.only else None
    experiments = [x for x in experiments if (any(word in x.id for word in words) if words else not x.is_long)]
    if options.divide > 1:
        experiments = [matrix.divided(x, options.divide) for x in experiments]
    comparison = Comparison(options, engines, experiments)
    if options.divide > 1:
        comparison.notes.append(f"sizes divided by {options.divide}: the figures show that the experiments run, and no more")
    if why_not:
        comparison.notes.append(why_not + "; RocksDB is Debian's 7.8")
    for note in left_out:
        print(note, file=sys.stderr)
    comparison.notes += left_out
    if options.list:
        for repetition, experiment, engine in comparison.plan():
            print(repetition, " ".join(comparison.command(experiment, engine, "DIR", "FILE",
                                                          experiment.benchmarks_of.get(engine.id, experiment.benchmarks))))
        return 0
    if options.resume:
        comparison.resume()
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, signal.default_int_handler)
    try:
        comparison.run_all()
    except KeyboardInterrupt:
        comparison.notes.append("stopped by hand")
        comparison.write()
    print_targets(os.path.join(comparison.folder, "report.json"))
    print(f"\nreport: {os.path.join(comparison.folder, 'report.html')}")
    return 1 if comparison.failures else 0


if __name__ == "__main__":
    sys.exit(main())
