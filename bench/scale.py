#!/usr/bin/env python3
"""./dev bench --only scale: a database several times as large as the memory. Writes build/bench/scale.json and scale.md.

100 million entries of 100 B and 20 million of 1 KB (key 16 B), in a control group whose processes and page cache have
4 GiB. Each configuration runs in phases, each phase in processes of db_bench of its own:

    tenth        load of a tenth of the entries into another database, which is then removed
    load         load of all entries, each key once, in random order; wait for compactions
    overwrite    a fifth as many overwrites, zipfian; wait for compactions
    get          random gets, uniform, twice; the first ones begin with an empty block cache
    get-zipfian  the same, zipfian
    seek         random seeks, uniform, twice
    kill         three times: overwrites until kill -9, then the time of the open; the third time without page cache

A finished phase is kept in build/bench/scale, and the next call goes on after it. A phase that was interrupted is
repeated. All calls together take at most --minutes.
"""

import argparse
import contextlib
import dataclasses
import datetime
import fcntl
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import compare
import matrix
import peers
import report_page
import scale_report

ROOT = compare.ROOT
ENTRIES = 100_000_000
MEMORY = 4 << 30
WRITE_BUFFER, CACHE = 64 << 20, 512 << 20
MEMORY_LEAST = 2 * (2 * WRITE_BUFFER + CACHE)
FLAGS = [f"--write_buffer_size={WRITE_BUFFER}", f"--cache_size={CACHE}", *matrix.COMMON]
KILLS = (False, False, True)  # the page cache is dropped before the open
SPACE_FACTOR = 1.7            # disk space that a configuration needs, as a multiple of its entries
SPACE_LEAST = 2 << 30         # below this, the running phase is stopped
SERIES_SECONDS = 1.0          # between two kept samples


class Stopped(Exception):
    """A phase did not finish; the reason is for the user."""


class TimeOver(Stopped):
    pass


@dataclasses.dataclass(frozen=True)
class Configuration:
    id: str
    title: str
    entries: int
    value_size: int

    @property
    def bytes(self):
        return self.entries * (16 + self.value_size)

    @property
    def reads(self):
        return min(self.entries, 300_000)


def configurations(entries):
    return [Configuration("100", f"{entries:,} entries of 100 B", entries, 100),
            Configuration("1k", f"{max(10, entries // 5):,} entries of 1 KB", max(10, entries // 5), 1000)]


def thin(rows, seconds):
    """Returns the rows that are at least `seconds` apart, and the last one."""
    kept = []
    for row in rows:
        if not kept or row[0] - kept[-1][0] >= seconds:
            kept.append(row)
    return kept if not rows or kept[-1] is rows[-1] else [*kept, rows[-1]]


def series_of(steps):
    """Returns the samples of consecutive benchmarks as one series. Operations and device bytes of a later benchmark
    continue those of the earlier ones."""
    columns, rows, offset, ops, device = [], [], 0.0, 0, 0
    for step in steps:
        columns = step["samples"]["columns"]
        found = step["samples"]["rows"]
        is_wait = step["name"] == matrix.DRAIN
        rows += [[row[0] + offset, ops + (0 if is_wait else row[1]), row[2], row[3], row[4] + device, *row[5:]] for row in found]
        offset += found[-1][0] if found else step["seconds"]
        ops += 0 if is_wait else step["ops"]
        device += step["device_bytes_written"]
    return {"columns": columns, "rows": thin(rows, SERIES_SECONDS)}


def counters_of(text):
    """Returns the lines "name number" that the benchmark `counters` printed."""
    return {name: int(value) for name, value in re.findall(r"^([a-z0-9_]+) (\d+)$", text, re.M)}


class Group(compare.MemoryLimit):
    """One control group for all phases: the page cache of an earlier phase counts until the kernel drops it."""

    def most(self):
        """Returns the most memory since forget_most(), or None."""
        for name in ("memory.max_usage_in_bytes", "memory.peak") if self.folder else ():
            with contextlib.suppress(OSError, ValueError), open(os.path.join(self.folder, name), encoding="ascii") as file:
                return int(file.read())
        return None

    def forget_most(self):
        if self.folder:
            with contextlib.suppress(OSError), open(os.path.join(self.folder, "memory.max_usage_in_bytes"), "w", encoding="ascii") as file:
                file.write("0")

    def close(self):
        for _ in range(50):  # a killed process may need a moment to leave
            try:
                return super().close()
            except OSError:
                time.sleep(0.1)


class Store:
    """The finished phases, one file each, and the settings that they were measured with."""

    def __init__(self, folder, settings):
        self.folder, self.settings = folder, settings
        self.seconds_before = 0.0  # of earlier calls
        self.lock = None

    def path(self, *words):
        return os.path.join(self.folder, "-".join(words) + ".json")

    def save(self, path, value):
        with tempfile.NamedTemporaryFile("w", dir=self.folder, suffix=".part", delete=False, encoding="utf-8") as file:
            json.dump(value, file, indent=1)
        os.replace(file.name, path)

    def load(self, path):
        if not os.path.exists(path):
            return None
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def open(self, is_restart):
        """Returns an error text if there are phases of other settings, or if another call runs."""
        os.makedirs(os.path.dirname(self.folder), exist_ok=True)
        self.lock = open(self.folder + ".lock", "w", encoding="ascii")  # until the end of the process
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return f"another call runs in {self.folder}"
        if is_restart:
            shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder, exist_ok=True)
        if kept := self.load(self.path("settings")):
            if kept["settings"] != self.settings:
                different = [name for name in self.settings if kept["settings"].get(name) != self.settings[name]]
                return (f"{self.folder} has phases of other settings ({', '.join(different)}); --restart removes them, "
                        "--out names another folder")
            self.seconds_before = kept["seconds"]
        self.keep_seconds(0)
        return None

    def keep_seconds(self, seconds):
        self.save(self.path("settings"), {"settings": self.settings, "seconds": self.seconds_before + seconds})

    def begin(self, *words):
        """Returns true if an earlier call began this phase and did not finish it."""
        marker = self.path(*words) + ".began"
        was_begun = os.path.exists(marker)
        with open(marker, "w", encoding="ascii"):
            pass
        return was_begun

    def finish(self, record, *words):
        self.save(self.path(*words), record)
        os.remove(self.path(*words) + ".began")

    def forget(self, *words):
        for path in (self.path(*words), self.path(*words) + ".began"):
            with contextlib.suppress(FileNotFoundError):
                os.remove(path)


class Scale:
    def __init__(self, options, engines, chosen):
        self.options, self.engines, self.configurations = options, engines, chosen
        self.folder = os.path.join(os.path.abspath(options.out), "scale")
        self.store = Store(self.folder, {"entries": options.scale_entries, "memory": 0 if options.unbounded else options.memory,
                                         "flags": FLAGS})
        self.notes, self.failures = [], []
        self.group, self.commands = None, []
        self.started = time.monotonic()
        self.load = " ".join(f"{average:.2f}" for average in os.getloadavg())
        self.version = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()

    # ---- processes -------------------------------------------------------------------------------------------------

    def seconds_left(self):
        return self.options.minutes * 60 - self.store.seconds_before - (time.monotonic() - self.started)

    def check(self):
        if self.seconds_left() <= 0:
            raise TimeOver(f"the {self.options.minutes:g} minutes are over; a call with more --minutes goes on here")
        if shutil.disk_usage(self.folder).free < SPACE_LEAST:
            raise Stopped(f"less than {SPACE_LEAST / 1e9:.1f} GB are free on the disk of {self.folder}")

    def check_space(self, configuration):
        free, needed = shutil.disk_usage(self.folder).free, SPACE_FACTOR * configuration.bytes + SPACE_LEAST
        if free < needed:
            raise Stopped(f"{needed / 1e9:.1f} GB of free disk space are needed, {free / 1e9:.1f} GB are free")

    def command(self, engine, configuration, name, benchmarks, more):
        flags = [f"--num={configuration.entries}", f"--value_size={configuration.value_size}", *FLAGS, *engine.flags, *more]
        return [self.options.db_bench, f"--benchmarks={','.join(benchmarks)}", *flags, f"--db={self.database(engine, configuration, name)}"]

    def database(self, engine, configuration, name="db"):
        return os.path.join(self.folder, f"{engine.id}-{configuration.id}-{name}")

    @contextlib.contextmanager
    def process(self, command, output):
        child = subprocess.Popen(command, preexec_fn=self.group.enter, stdout=output, stderr=output)
        self.commands.append(command)
        try:
            yield child
        finally:
            child.kill()
            child.wait()

    def wait(self, child, seconds=None):
        """Waits for the end of the process, or for some seconds."""
        until = time.monotonic() + seconds if seconds is not None else None
        while until is None or time.monotonic() < until:
            self.check()
            left = 1.0 if until is None else max(0.01, min(1.0, until - time.monotonic()))
            with contextlib.suppress(subprocess.TimeoutExpired):
                return child.wait(left)
        return None

    def bench(self, command):
        """Runs db_bench; returns its JSON, with the counters that it printed."""
        path = os.path.join(self.folder, "run.json")
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
            with self.process([*command, f"--json={path}"], output) as child:
                status = self.wait(child)
            output.seek(0)
            text = output.read()
        if status != 0:
            reason = "it was killed; the memory may be too small" if status == -signal.SIGKILL else (text.strip().splitlines() or ["no message"])[-1]
            raise Stopped(f"db_bench ended with {status}: {reason}")
        result = self.store.load(path)
        os.remove(path)
        return {"open_seconds": result["context"]["open_seconds"], "context": result["context"], "steps": result["benchmarks"],
                "counters": counters_of(text)}

    # ---- phases ----------------------------------------------------------------------------------------------------

    def write(self, engine, configuration, benchmark, more, name="db"):
        """A benchmark that writes and the wait for compactions."""
        return self.bench(self.command(engine, configuration, name, [benchmark, matrix.DRAIN, *self.last(engine)], more))

    def last(self, engine):
        return ["counters"] if engine.id == "mergedb" else []

    def run_tenth(self, engine, configuration):
        self.check_space(configuration)  # not after minutes of loading
        small = dataclasses.replace(configuration, entries=configuration.entries // 10)
        try:
            return {"runs": [self.write(engine, small, "filluniquerandom", [], "tenth")]}
        finally:
            shutil.rmtree(self.database(engine, configuration, "tenth"), ignore_errors=True)

    def run_load(self, engine, configuration):
        shutil.rmtree(self.database(engine, configuration), ignore_errors=True)
        self.check_space(configuration)
        return {"runs": [self.write(engine, configuration, "filluniquerandom", [])]}

    def run_overwrite(self, engine, configuration):
        more = ["--use_existing_db=1", f"--writes={configuration.entries // 5}", "--distribution=zipfian", "--seed=2000"]
        return {"runs": [self.write(engine, configuration, "overwrite", more)]}

    def read(self, engine, configuration, benchmark, seed, more=()):
        flags = ["--use_existing_db=1", f"--reads={configuration.reads}", f"--seed={seed}", *more]
        run = self.bench(self.command(engine, configuration, "db", [benchmark, benchmark, *self.last(engine)], flags))
        self.check_found(run["steps"], configuration.reads)
        return {"runs": [run]}

    def check_found(self, steps, reads):
        if lost := [step["found"] for step in steps if step["found"] != reads]:
            raise Stopped(f"{reads:,} keys were read, {lost[0]:,} of them were found: entries are lost")

    def run_get(self, engine, configuration):
        return self.read(engine, configuration, "readrandom", 3000)

    def run_get_zipfian(self, engine, configuration):
        return self.read(engine, configuration, "readrandom", 4000, ["--distribution=zipfian"])

    def run_seek(self, engine, configuration):
        return self.read(engine, configuration, "seekrandom", 5000)

    def run_kill(self, engine, configuration):
        """Overwrites as fast as possible until kill -9; then an open, and gets."""
        runs, open_seconds = [], self.store.load(self.store.path(engine.id, configuration.id, "seek"))["runs"][0]["open_seconds"]
        for i, is_cold in enumerate(KILLS):
            # openloop at a rate that no engine reaches: overwrites without an end.
            writes = self.command(engine, configuration, "db", ["openloop"],
                                  ["--use_existing_db=1", "--rate=100000000", "--duration=7200", f"--seed={6000 + 10 * i}"])
            with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
                with self.process(writes, output) as child:
                    status = self.wait(child, open_seconds + self.options.write_seconds)
                if status is not None:
                    output.seek(0)
                    raise Stopped(f"the writer ended before kill -9: {(output.read().strip().splitlines() or ['no message'])[-1]}")
            if is_cold:
                compare.drop_page_cache(self.database(engine, configuration))
            reads = min(configuration.reads, 10_000)
            run = self.bench(self.command(engine, configuration, "db", ["readrandom", *self.last(engine)],
                                          ["--use_existing_db=1", f"--reads={reads}", f"--seed={7000 + 10 * i}"]))
            self.check_found(run["steps"], reads)
            runs.append({**run, "is_cold": is_cold})
        return {"runs": runs}

    PHASES = {"tenth": run_tenth, "load": run_load, "overwrite": run_overwrite, "get": run_get, "get-zipfian": run_get_zipfian,
              "seek": run_seek, "kill": run_kill}

    def plan(self):
        return [(engine, configuration, phase) for engine in self.engines for configuration in self.configurations for phase in self.PHASES]

    def run_phase(self, engine, configuration, phase):
        words = (engine.id, configuration.id, phase)
        was_begun = self.store.begin(*words)
        compare.let_the_disk_rest(self.folder, min(self.options.rest, max(0, self.seconds_left())))
        self.group.forget_most()
        self.commands, begun = [], time.monotonic()
        record = self.PHASES[phase](self, engine, configuration)
        for run in record["runs"]:
            if phase in ("tenth", "load", "overwrite"):
                run["series"] = series_of(run["steps"])
            for step in run["steps"]:
                del step["samples"]
        record.update(engine=engine.id, configuration=configuration.id, phase=phase, seconds=time.monotonic() - begun,
                      mergedb=self.version, commands=self.commands, memory_most=self.group.most(), was_interrupted=was_begun,
                      date=datetime.datetime.now().astimezone().isoformat(timespec="minutes"))
        if phase == "kill":
            shutil.rmtree(self.database(engine, configuration), ignore_errors=True)
        self.store.finish(record, *words)
        return record

    # ---- a call ----------------------------------------------------------------------------------------------------

    def forget_lost_databases(self):
        """Without its database, a configuration begins again with the load."""
        for engine in self.engines:
            for configuration in self.configurations:
                records = {phase: self.store.load(self.store.path(engine.id, configuration.id, phase)) for phase in self.PHASES}
                if records["load"] and not records["kill"] and not os.path.isdir(self.database(engine, configuration)):
                    print(f"scale: the database of {engine.title}, {configuration.title}, is gone; it is loaded again", flush=True)
                    for phase in list(self.PHASES)[1:]:
                        self.store.forget(engine.id, configuration.id, phase)

    def left(self):
        return [step for step in self.plan() if not os.path.exists(self.store.path(step[0].id, step[1].id, step[2]))]

    def say(self, engine, configuration, phase, words):
        used = self.store.seconds_before + time.monotonic() - self.started
        print(f"{used:5.0f} s  {engine.title:22} {configuration.id:4} {phase:12} {words}", flush=True)

    def run_all(self):
        """Returns 0 if all phases are finished."""
        self.forget_lost_databases()
        work, total = self.left(), len(self.plan())
        if len(work) < total:
            first = f"goes on with {work[0][0].id}, {work[0][1].id}, {work[0][2]}" if work else "has nothing to run; --restart measures again"
            print(f"scale: {total - len(work)} of {total} phases were finished by earlier calls; this call {first}", flush=True)
            for engine in self.engines:
                for configuration in self.configurations:
                    if os.path.isdir(database := self.database(engine, configuration)):
                        compare.drop_page_cache(database)  # pages of an earlier call belong to no control group
        failed = set()
        for engine, configuration, phase in work:
            if (engine.id, configuration.id) in failed:
                continue
            try:
                self.check()
                record = self.run_phase(engine, configuration, phase)
                self.say(engine, configuration, phase, scale_report.words(record))
            except TimeOver as reason:
                self.notes.append(f"{engine.title}, {configuration.id}, {phase}: {reason}")
                break
            except (Stopped, OSError, subprocess.SubprocessError, ValueError) as reason:
                failed.add((engine.id, configuration.id))
                self.failures.append(f"{engine.title}, {configuration.id}, {phase}: {reason}")
                self.say(engine, configuration, phase, f"FAILED: {reason}")
            finally:
                self.store.keep_seconds(time.monotonic() - self.started)
                self.write_report()
        for words in self.notes:
            print(f"scale: {words}", flush=True)
        return 1 if self.failures else 0

    def environment(self):
        with open("/proc/meminfo", encoding="ascii") as file:
            memory = next((line.split()[1] for line in file if line.startswith("MemTotal")), "0")
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            cpu = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), platform.processor())
        return {"date": datetime.datetime.now().astimezone().isoformat(timespec="minutes"), "mergedb": self.version,
                "CPU": f"{cpu}, {os.cpu_count()} cores", "memory": f"{int(memory) / 1048576:.1f} GiB",
                "memory limit": (f"{self.options.memory / (1 << 30):g} GiB for processes and page cache" if self.group and self.group.folder
                                 else "NONE: the phases of this call had the whole machine"),
                "kernel": platform.release(), "file system": compare.file_system_of(self.folder), "load when it began": self.load,
                "flags": " ".join(FLAGS), "minutes used": f"{(self.store.seconds_before + time.monotonic() - self.started) / 60:.1f}",
                **{f"note {i}": note for i, note in enumerate([*self.notes, *self.failures], 1)}}

    def summary(self):
        records = [record for engine, configuration, phase in self.plan()
                   if (record := self.store.load(self.store.path(engine.id, configuration.id, phase)))]
        return {"environment": self.environment(), "is_full": self.options.scale_entries == ENTRIES,
                "engines": {e.id: e.title for e in self.engines}, "configurations": [dataclasses.asdict(c) for c in self.configurations],
                "phases": records}

    def write_report(self):
        out, summary = os.path.dirname(self.folder), self.summary()
        with open(os.path.join(out, "scale.json"), "w", encoding="utf-8") as file:
            json.dump(summary, file, indent=1)
        with open(os.path.join(out, "scale.md"), "w", encoding="utf-8") as file:
            file.write(scale_report.markdown(summary))
        if comparison := self.store.load(os.path.join(out, "report.json")):
            with open(os.path.join(out, "report.html"), "w", encoding="utf-8") as file:
                file.write(report_page.page(comparison, summary))


def parse():
    arguments = argparse.ArgumentParser(prog="./dev bench --only scale", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--scale-entries", type=int, default=ENTRIES, metavar="N", help="N entries of 100 B and N / 5 of 1 KB (%(default)s)")
    arguments.add_argument("--sizes", default="100,1k", help="the configurations: 100, 1k or both (%(default)s)")
    arguments.add_argument("--peers", default="", help="then also these: leveldb, rocksdb, rocksdb-universal, lmdb, comma-separated")
    arguments.add_argument("--memory", type=int, default=MEMORY, metavar="BYTES", help="for processes and page cache (%(default)s)")
    arguments.add_argument("--unbounded", action="store_true", help="run without the memory limit; the report says so")
    arguments.add_argument("--minutes", type=float, default=120, help="for all calls together (%(default)s)")
    arguments.add_argument("--restart", action="store_true", help="remove the finished phases and begin again")
    arguments.add_argument("--rest", type=float, default=30, help="maximum seconds to wait for an idle disk before a phase (%(default)s)")
    arguments.add_argument("--write-seconds", type=float, default=5, help="of overwrites before each kill -9 (%(default)s)")
    arguments.add_argument("--out", default=os.path.join(ROOT, "build", "bench"))
    arguments.add_argument("--db_bench", default=os.path.join(ROOT, "build", "release", "bin", "db_bench"))
    arguments.add_argument("--list", action="store_true", help="print the phases, and run none")
    options = arguments.parse_args()
    if options.scale_entries < 100:
        arguments.error("--scale-entries: expected at least 100")
    if options.memory < MEMORY_LEAST:
        arguments.error(f"--memory: expected at least {MEMORY_LEAST}: write buffers, block cache and as much for the rest")
    return options


def engines_of(options):
    names = ["mergedb", *filter(None, options.peers.split(","))]
    library, _ = (None, "") if options.list or len(names) == 1 else peers.rocksdb_library(os.path.join(ROOT, "build", "peers"))
    known = {e.id: e for e in matrix.engines(library)}
    if unknown := [name for name in names if name not in known]:
        sys.exit(f"scale: --peers: there is no {unknown[0]}; there are: {', '.join(known)}")
    return [known[name] for name in dict.fromkeys(names)]


def main():
    options = parse()
    chosen = [c for c in configurations(options.scale_entries) if c.id in options.sizes.split(",")]
    scale = Scale(options, engines_of(options), chosen)
    if options.list:
        for engine, configuration, phase in scale.plan():
            print(engine.id, configuration.id, phase)
        return 0
    scale.group = Group(0 if options.unbounded else options.memory)
    try:
        if not options.unbounded and not scale.group.folder:
            print("scale: no control group with a memory limit could be made (this needs root, and cgroup v1 or v2 with the memory "
                  "controller). --unbounded runs with the whole machine; the report then says so.", file=sys.stderr)
            return 2
        if options.unbounded:
            scale.notes.append("--unbounded: there is no memory limit, so the figures are not those of a database beyond the memory")
        if error := scale.store.open(options.restart):
            print(f"scale: {error}", file=sys.stderr)
            return 2
        for stop in (signal.SIGINT, signal.SIGTERM):
            signal.signal(stop, signal.default_int_handler)
        try:
            status = scale.run_all()
        except KeyboardInterrupt:
            scale.notes.append("stopped by hand")
            scale.store.keep_seconds(time.monotonic() - scale.started)
            scale.write_report()
            status = 1
    finally:
        scale.group.close()
    with open(os.path.join(os.path.dirname(scale.folder), "scale.md"), encoding="utf-8") as file:
        print("\n" + file.read())
    return status


if __name__ == "__main__":
    sys.exit(main())
