"""Turns db_bench's results into the figures of the report, and into Markdown; report_page.py makes the HTML page.

A row is one metric of one experiment: for every engine, the value of each repetition. A ratio compares values
of the same repetition. The engines run alternately, so a disturbance of the machine affects both values of a
pair.
"""

import statistics

import plot

DRAIN = "waitforcompaction"
WRITES = ("fillseq", "fillrandom", "filluniquerandom", "fillbatch", "overwrite", "ycsbload")
KEYS_ONCE = ("fillseq", "filluniquerandom", "ycsbload")  # these write each key exactly once
YCSB = ("ycsba", "ycsbb", "ycsbc", "ycsbd", "ycsbe", "ycsbf")
PERCENTILES = ("p50", "p99", "p99.9", "p99.99")
CHANGES = ("updaterandom", "mergerandom", "appendrandom", "xorupdaterandom", "readrandommergerandom")


def value(benchmark, extra_seconds=0.0, extra_cpu=0.0):
    ops = max(1, benchmark["ops"])
    cpu = benchmark["cpu_user_seconds"] + benchmark["cpu_system_seconds"]
    return {"wall": (benchmark["seconds"] + extra_seconds) * 1e6 / ops, "cpu": (cpu + extra_cpu) * 1e6 / ops}


def metrics_of(run):
    """Returns {metric: {"wall", "cpu"}} of one run, in microseconds an operation; latencies have only wall."""
    found = {}
    steps = run["result"]["benchmarks"]
    for i, step in enumerate(steps):
        name = step["name"]
        if name == DRAIN:
            continue
        if name == "openloop":
            latency = step["open_loop"]["latency_us"]
            for label in (*PERCENTILES, "max"):
                found[f"put {label}"] = {"wall": latency[label]}
            continue
        found[name] = value(step)
        for kind, figures in step.get("operations", {}).items():
            if latency := figures.get("latency_us"):
                found.update({f"{name} {kind} {label}": {"wall": latency[label]} for label in PERCENTILES})
        if name in CHANGES:
            rest = []
            for later in steps[i + 1:]:
                if later["name"] not in (DRAIN, "foldall"):
                    break
                rest.append(later)
            found["change + drain + read"] = value(step, sum(r["seconds"] for r in rest),
                                                   sum(r["cpu_user_seconds"] + r["cpu_system_seconds"] for r in rest))
        if name in WRITES and i + 1 < len(steps) and steps[i + 1]["name"] == DRAIN:
            drain = steps[i + 1]
            found[f"{name} + drain"] = value(step, drain["seconds"], drain["cpu_user_seconds"] + drain["cpu_system_seconds"])
    if run.get("cold"):
        found["cold readrandom"] = value(run["cold"]["benchmarks"][0])
    return found


def live_bytes(context, name, passes):
    """Returns the expected bytes of distinct keys after `passes` uniform random passes over num keys."""
    each = context["key_size"] + context["value_size"]
    share = 1.0 if name in KEYS_ONCE else 1.0 - (1.0 - 1.0 / context["num"]) ** (context["num"] * passes)
    return each * context["num"] * share


def amplification_of(run):
    """Returns {write: {...}}: device bytes per byte put, disk bytes per live byte, and the values they come from."""
    found = {}
    steps, context, passes = run["result"]["benchmarks"], run["result"]["context"], 0
    is_scattered = any("zipfian" in word for word in context["command"])
    for i, step in enumerate(steps):
        if step["name"] not in WRITES or step["bytes"] == 0:
            continue
        passes += 1
        drain = steps[i + 1] if i + 1 < len(steps) and steps[i + 1]["name"] == DRAIN else None
        if not drain or is_scattered:
            continue
        live = live_bytes(context, steps[0]["name"], passes)
        found[step["name"]] = {
            "write": (step["device_bytes_written"] + drain["device_bytes_written"]) / step["bytes"],
            "space": drain["disk_bytes"] / live,
            "space_peak": max(step["disk_bytes_peak"], drain["disk_bytes_peak"]) / live,
            "runs_loaded": step["runs"],
            "runs_drained": drain["runs"],
            "write_memory_mb": step.get("write_memory_bytes_peak", 0) / 1048576,
            "rss_mb": step["rss_bytes_peak"] / 1048576,
        }
    return found


def disk_of(run):
    """Returns {write: {figure: value}}: device bytes for each byte put, and MB of the directory."""
    found = {}
    for step in run["result"]["benchmarks"]:
        if not (directory := step.get("directory_bytes")):
            continue
        figures = {"device_drained": step.get("device_bytes_per_user_byte"), "device_closed": step.get("device_bytes_per_user_byte_closed")}
        for moment, size in directory.items():
            for kind, bytes_ in size.items():
                figures[f"{kind}_{moment}"] = bytes_ / 1e6
        found.setdefault(step["name"], {name: figure for name, figure in figures.items() if figure is not None})
    return found


def gather(runs):
    """Returns [{experiment, title, metric, is_synced, values: {engine: {repetition: {...}}}}] in order of appearance."""
    rows = {}
    for run in runs:
        for metric, figure in metrics_of(run).items():
            key = (run["experiment"], metric)
            row = rows.setdefault(key, {"experiment": run["experiment"], "title": run["title"], "metric": metric, "values": {},
                                        "is_synced": "--sync=1" in run["commands"][0]})
            row["values"].setdefault(run["engine"], {})[run["repetition"]] = figure
    return list(rows.values())


def middle(row, engine, kind="wall"):
    figures = [v[kind] for v in row["values"].get(engine, {}).values() if kind in v]
    return statistics.median(figures) if figures else None


def ratio(row, engine, kind="wall", base="mergedb"):
    """Returns (median, smallest, largest) of engine / base over the repetitions that have both. Above 1, base
    is faster."""
    ours, theirs = row["values"].get(base, {}), row["values"].get(engine, {})
    pairs = [theirs[r][kind] / ours[r][kind] for r in sorted(ours.keys() & theirs.keys())
             if kind in ours[r] and kind in theirs[r] and ours[r][kind] > 0]
    return (statistics.median(pairs), min(pairs), max(pairs)) if pairs else None


def judge(rows, engines, targets):
    """Returns [{experiment, metric, peer, least, reached, engine}]; the best variant of a peer counts."""
    verdicts = []
    for experiment, metric, peer, least in targets:
        row = next((r for r in rows if (r["experiment"], r["metric"]) == (experiment, metric)), None)
        found = [(ratio(row, e["id"]), e["id"]) for e in engines if row and e["peer"] == peer]
        found = [(r, id_) for r, id_ in found if r]
        if found:
            best, id_ = min(found)
            cpu = ratio(row, id_, "cpu")
            verdicts.append({"experiment": experiment, "metric": metric, "peer": peer, "engine": id_, "least": least,
                             "ratio": best[0], "ratio_min": best[1], "ratio_max": best[2], "cpu_ratio": cpu[0] if cpu else None,
                             "is_reached": best[0] >= least})
    return verdicts


def summarize(runs, engines, environment, targets, is_quick=False):
    rows = gather(runs)
    for row in rows:
        row["ratios"] = {id_: {kind: ratio(row, id_, kind) for kind in ("wall", "cpu")} for id_ in row["values"] if id_ != "mergedb"}
    return {"environment": environment, "engines": engines, "is_quick": is_quick, "targets": judge(rows, engines, targets), "rows": rows,
            "amplification": [{"experiment": r["experiment"], "engine": r["engine"], "repetition": r["repetition"],
                               "writes": amplification_of(r), "disk": disk_of(r)} for r in runs],
            "runs": runs}


# ---- words and cells of both outputs --------------------------------------------------------------------------------


def ratio_text(three):
    """Returns the median, and the range if there is more than one value."""
    if not three:
        return "–"
    spread = f" ({three[1]:.2f}–{three[2]:.2f})" if three[1] != three[2] else ""
    return f"{three[0]:.2f}{spread}"


DEVICE = {"drained": "device, until drained", "closed": "device, after close and sync"}
DIRECTORY = {"largest": "directory, largest", "drained": "directory, drained", "closed": "directory, closed"}
DISK_COLUMNS = [*DEVICE.values(), *DIRECTORY.values()]


def disk_cells(summary, experiment, write, engine):
    """Returns the cells of DISK_COLUMNS, medians over the repetitions; nothing if the engine did not run it."""
    runs = [e["disk"][write] for e in summary["amplification"]
            if e["experiment"] == experiment and e["engine"] == engine and write in e["disk"]]

    def median(name):
        figures = [run[name] for run in runs if name in run]
        return statistics.median(figures) if figures else None

    if not runs:
        return []
    device = [median(f"device_{moment}") for moment in DEVICE]
    directory = [(median(f"allocated_{moment}"), median(f"apparent_{moment}")) for moment in DIRECTORY]
    return [*["–" if figure is None else f"{figure:.2f}" for figure in device],
            *["–" if allocated is None else f"{allocated:,.1f} ({apparent:,.1f})" for allocated, apparent in directory]]


# ---- the same figures as Markdown, for docs/ ------------------------------------------------------------------------


def markdown_table(head, body):
    lines = ["| " + " | ".join(str(c) for c in row) + " |" for row in [head, ["---"] * len(head), *body]]
    return "\n".join(lines) + "\n"


def markdown_experiment(summary, experiment, titles):
    rows = [row for row in summary["rows"] if row["experiment"] == experiment]
    ids = [id_ for id_ in titles if any(id_ in row["values"] for row in rows)]
    body = []
    for row in rows:
        cells = [row["metric"]]
        for id_ in ids:
            wall, cpu = middle(row, id_), middle(row, id_, "cpu")
            cell = plot.number(wall) if wall is not None else "–"
            times = row["ratios"].get(id_, {}).get("wall")
            cells.append(cell + (f" ({plot.number(cpu)})" if cpu is not None else "") + (f", {ratio_text(times)} x" if times else ""))
        body.append(cells)
    for entry in AMPLIFICATIONS:
        for write in ("fillseq", "fillrandom", "overwrite", "ycsbload"):
            found = {id_: [e["writes"][write][entry] for e in summary["amplification"]
                           if e["experiment"] == experiment and e["engine"] == id_ and write in e["writes"]] for id_ in ids}
            if any(found.values()):
                body.append([f"{AMPLIFICATIONS[entry]}, {write}",
                             *[plot.number(statistics.median(found[id_])) if found[id_] else "–" for id_ in ids]])
    disk = []
    for write in dict.fromkeys(write for e in summary["amplification"] if e["experiment"] == experiment for write in e["disk"]):
        disk += [[write, titles[id_], *cells] for id_ in titles if (cells := disk_cells(summary, experiment, write, id_))]
    command = next(" ".join(run["commands"][0][1:]) for run in summary["runs"] if run["experiment"] == experiment)
    flags = " ".join(word for word in command.split() if not word.startswith(("--db=", "--json=", "--engine=", "--rocksdb", "--peer_library=")))
    return (f"### {experiment}: {rows[0]['title']}\n\n`{flags}`\n\n" +
            markdown_table(["", *[titles[id_] for id_ in ids]], body) +
            ("\n" + markdown_table(["write", "engine", *DISK_COLUMNS], disk) if disk else ""))


AMPLIFICATIONS = {"write": "bytes written a byte put", "space": "bytes on disk a live byte, drained"}


def markdown(summary):
    titles = {e["id"]: e["title"] for e in summary["engines"]}
    targets = [[f"{t['experiment']}: {t['metric']}", titles[t["engine"]], t["least"],
                ratio_text((t["ratio"], t["ratio_min"], t["ratio_max"])) + ("" if t["is_reached"] else " MISSED"),
                f"{t['cpu_ratio']:.2f}" if t["cpu_ratio"] else "–"] for t in summary["targets"]]
    experiments = dict.fromkeys(row["experiment"] for row in summary["rows"])
    is_full = summary["environment"].get("experiments", "all") == "all"
    return "\n".join([
        "# A quick run\n" if summary["is_quick"] else "# A full run\n" if is_full else "# A run of some experiments\n", "Written by `./dev bench` (build/bench/report.md), not by hand.\n",
        markdown_table(["environment", ""], summary["environment"].items()), "## What was to be reached\n",
        markdown_table(["what", "against the better of its kind", "at least", "by the clock", "by CPU"], targets), "## All figures\n",
        "Microseconds of wall time an operation, in brackets of CPU of the whole process, then how many times mergedb's time that is (least and most of\n"
        "the repetitions). Open loop: lateness of a put from the moment it was due. Device: bytes written for each byte put; dirty\n"
        "pages count only after the close and a sync. Directory: MB allocated (apparent). ycsb, p50 to p99.99: latency of one\n"
        "operation of this kind.\n",
        *[markdown_experiment(summary, experiment, titles) for experiment in experiments]])
