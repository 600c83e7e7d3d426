"""Turns db_bench's results into the figures of the report, and into one HTML page.

A row is one metric of one experiment: for every engine, the value of each repetition. A ratio compares values
of the same repetition. The engines run alternately, so a disturbance of the machine affects both values of a
pair.
"""

import html
import statistics

import matrix
import plot

DRAIN = "waitforcompaction"
WRITES = ("fillseq", "fillrandom", "fillbatch", "overwrite", "ycsbload")
KEYS_ONCE = ("fillseq", "ycsbload")  # these write each key exactly once
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
    """Returns [{experiment, title, metric, values: {engine: {repetition: {...}}}}] in order of appearance."""
    rows = {}
    for run in runs:
        for metric, figure in metrics_of(run).items():
            key = (run["experiment"], metric)
            row = rows.setdefault(key, {"experiment": run["experiment"], "title": run["title"], "metric": metric, "values": {}})
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


def summarize(runs, engines, environment, targets):
    rows = gather(runs)
    for row in rows:
        row["ratios"] = {id_: {kind: ratio(row, id_, kind) for kind in ("wall", "cpu")} for id_ in row["values"] if id_ != "mergedb"}
    return {"environment": environment, "engines": engines, "targets": judge(rows, engines, targets), "rows": rows,
            "amplification": [{"experiment": r["experiment"], "engine": r["engine"], "repetition": r["repetition"],
                               "writes": amplification_of(r), "disk": disk_of(r)} for r in runs],
            "runs": runs}


# ---- the page -------------------------------------------------------------------------------------------------------

STYLE = """
:root{color-scheme:light dark;--grid:#8884;--line:#8888}
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;font-size:13px;margin:.5rem 0;display:block;overflow-x:auto}
td,th{border-bottom:1px solid var(--line);padding:.2rem .6rem;text-align:right;white-space:nowrap}
td:first-child,th:first-child{text-align:left}.good{color:#1a7f37}.bad{color:#cf222e;font-weight:600}
svg{width:100%;height:auto}.grid{stroke:var(--grid)}.mark{stroke:#cf222e;stroke-dasharray:4 3}
.whisker{stroke:currentColor;stroke-width:1.5}polyline{fill:none;stroke-width:1.8}
pre{font-size:12px;overflow-x:auto;white-space:pre-wrap}summary{cursor:pointer}
"""
COLOURS = ["#2f6fdb", "#e07b39", "#4c9f70", "#a05fb4", "#c9a227", "#3aa6b9", "#d1495b", "#7f7f7f"]


def table(head, body):
    cells = "".join(f"<th>{html.escape(str(c))}</th>" for c in head)
    lines = "".join("<tr>" + "".join(c if str(c).startswith("<td") else f"<td>{html.escape(str(c))}</td>" for c in row) + "</tr>"
                    for row in body)
    return f"<table><tr>{cells}</tr>{lines}</table>"


def details(title, body):
    return f"<details><summary>{html.escape(title)}</summary>{body}</details>"


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


class Page:
    def __init__(self, summary):
        self.summary = summary
        self.titles = {e["id"]: e["title"] for e in summary["engines"]}
        met = {run["engine"] for run in summary["runs"]}
        self.order = [e["id"] for e in summary["engines"] if e["id"] in met]

    def targets(self):
        if not self.summary["targets"]:
            return "<p>None of the agreed comparisons was run.</p>"
        body = []
        for t in self.summary["targets"]:
            shade = "good" if t["is_reached"] else "bad"
            body.append([f"{t['experiment']}: {t['metric']}", self.titles[t["engine"]], f"{t['least']} x",
                         f'<td class="{shade}">{ratio_text((t["ratio"], t["ratio_min"], t["ratio_max"]))} x</td>',
                         f"{t['cpu_ratio']:.2f} x" if t["cpu_ratio"] else "–"])
        return table(["what", "against", "at least", "measured, by the clock", "by CPU"], body)

    def ratios(self):
        peers = [id_ for id_ in self.order if id_ != "mergedb"]
        chosen = [row for row in self.summary["rows"] if row["metric"].endswith("+ drain") or row["metric"].startswith("read") or
                  row["metric"].startswith("seek") or row["metric"] in YCSB]
        bars = [(f"{row['experiment']}: {row['metric']}", {self.titles[p]: row["ratios"][p]["wall"] for p in peers
                                                          if row["ratios"].get(p, {}).get("wall")}) for row in chosen]
        bars = [bar for bar in bars if bar[1]]
        picture = plot.bars(bars, [self.titles[p] for p in peers], "times as long as mergedb", marks=(1,)) if bars else ""
        return picture + details("Table", self.figures())

    def figures(self):
        head = ["µs per operation (CPU)", *[self.titles[id_] for id_ in self.order]]
        body = []
        for row in self.summary["rows"]:
            cells = [f"{row['experiment']}: {row['metric']}"]
            for id_ in self.order:
                wall, cpu = middle(row, id_), middle(row, id_, "cpu")
                cell = plot.number(wall) + (f" ({plot.number(cpu)})" if cpu is not None else "")
                if row["ratios"].get(id_, {}).get("wall"):
                    cell += f" · {ratio_text(row['ratios'][id_]['wall'])}"
                cells.append(cell)
            body.append(cells)
        return table(head, body)

    def first_runs(self, experiment):
        found = {}
        for run in self.summary["runs"]:
            if run["experiment"] == experiment:
                found.setdefault(run["engine"], run)
        return {id_: found[id_] for id_ in self.order if id_ in found}

    def throughput(self):
        parts = []
        for experiment in dict.fromkeys(run["experiment"] for run in self.summary["runs"]):
            series = {}
            for id_, run in self.first_runs(experiment).items():
                rows = run["result"]["benchmarks"][0]["samples"]["rows"]
                points = [((a[0] + b[0]) / 2, (b[1] - a[1]) / (b[0] - a[0]) / 1000) for a, b in zip([[0, 0], *rows], rows)
                          if b[0] - a[0] > 0.1]
                if len(points) > 1:
                    series[self.titles[id_]] = points
            if series and experiment.startswith(("random", "zipfian")):
                body = [[name, *[plot.number(y) for _, y in points[:40]]] for name, points in series.items()]
                parts.append(f"<h3>{html.escape(experiment)}</h3>" + plot.lines(series, "seconds", "thousand operations a second") +
                             details("Table (first 40 samples)", table(["engine", "thousand operations a second"], body)))
        return "".join(parts) or "<p>No run was long enough.</p>"

    def latency(self):
        labels = ["p50", "p90", "p99", "p99.9", "p99.99", "max"]
        parts = []
        for experiment in dict.fromkeys(run["experiment"] for run in self.summary["runs"]):
            series, rate = {}, 0
            for id_, run in self.first_runs(experiment).items():
                loop = run["result"]["benchmarks"][0].get("open_loop")
                if loop:
                    rate = loop["rate"]
                    series[self.titles[id_]] = [(i, loop["latency_us"][label]) for i, label in enumerate(labels)]
                    series.setdefault("control thread", []).extend(
                        [] if series.get("control thread") else [(i, loop["control_latency_us"][l]) for i, l in enumerate(labels)])
            if series:
                body = [[name, *[plot.number(y) for _, y in points]] for name, points in series.items()]
                parts.append(f"<h3>{html.escape(experiment)}: {rate:,.0f} puts a second</h3>" +
                             plot.lines(series, "percentile", "µs from the moment a put was due", labels, True) +
                             details("Table", table(["µs", *labels], body)))
        return "".join(parts) or "<p>Not run.</p>"

    def amplification(self, kind, label, marks=()):
        rows = {}
        for entry in self.summary["amplification"]:
            for name, figures in entry["writes"].items():
                rows.setdefault(f"{entry['experiment']}: {name}", {}).setdefault(entry["engine"], []).append(figures[kind])
        bars = [(label_, {self.titles[id_]: (statistics.median(v), min(v), max(v)) for id_, v in values.items()})
                for label_, values in rows.items()]
        if not bars:
            return "<p>Not run.</p>"
        names = [self.titles[id_] for id_ in self.order]
        body = [[label_, *[plot.number(values[n][0]) if n in values else "–" for n in names]] for label_, values in bars]
        return plot.bars(bars, names, label, marks) + details("Table", table([label, *names], body))

    def disk(self):
        body = []
        for experiment, write in dict.fromkeys((e["experiment"], write) for e in self.summary["amplification"] for write in e["disk"]):
            for id_ in self.order:
                if cells := disk_cells(self.summary, experiment, write, id_):
                    body.append([f"{experiment}: {write}", self.titles[id_], *cells])
        return table(["write", "engine", *DISK_COLUMNS], body) if body else "<p>Not run.</p>"

    def growth(self):
        body = []
        rows = {(r["experiment"], r["metric"]): r for r in self.summary["rows"]}
        for (experiment, metric), small in rows.items():
            large = rows.get((experiment + "-large", metric))
            if not large:
                continue
            cells = [f"{experiment}: {metric}"]
            for id_ in self.order:
                a, b = middle(small, id_), middle(large, id_)
                cells.append(f"{plot.number(a)} → {plot.number(b)} (x {b / a:.2f})" if a and b else "–")
            body.append(cells)
        if not body:
            return "<p>Only one size was run.</p>"
        return table([f"µs per operation, then at {matrix.LARGE} times the size", *[self.titles[id_] for id_ in self.order]], body)

    def commands(self):
        seen = dict.fromkeys(" ".join(command) for run in self.summary["runs"] for command in run["commands"])
        return "<pre>" + html.escape("\n".join(seen)) + "</pre>"

    def html(self):
        environment = table(["environment", ""], self.summary["environment"].items())
        colours = "".join(f".c{i}{{fill:{c}}}.s{i}{{stroke:{c}}}" for i, c in enumerate(COLOURS))
        sections = [
            ("What was to be reached", self.targets()), ("Environment", environment),
            ("Ratios", "<p>Time per operation against mergedb's: above 1, mergedb is faster. Whiskers: least and most of the "
                       "repetitions.</p>" + self.ratios()),
            ("Growth", self.growth()), ("Throughput over time", self.throughput()), ("Latency, open loop", self.latency()),
            ("Write amplification", self.amplification("write", "bytes to the device per byte put, drain included")),
            ("Device and directory", "<p>Device: bytes written for each byte put; dirty pages count only after the close and a sync. "
                                     "Directory: MB allocated (apparent).</p>" + self.disk()),
            ("Space amplification", self.amplification("space", "bytes on disk per live byte after the drain", (1, 1.25))),
            ("Space at its peak", self.amplification("space_peak", "maximum bytes on disk per live byte, running compactions included")),
            ("Runs after the load", self.amplification("runs_loaded", "sorted runs")),
            ("Runs after the drain", self.amplification("runs_drained", "sorted runs")),
            ("Memory for writes", self.amplification("write_memory_mb", "MB at the peak, by the engine's own account")),
            ("Resident memory", self.amplification("rss_mb", "MB at the peak of the load")),
            ("Command lines", self.commands()),
        ]
        body = "".join(f"<h2>{title}</h2>{part}" for title, part in sections)
        return (f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
                f"<title>mergedb beside its peers</title><style>{STYLE}{colours}</style>"
                f"<h1>mergedb beside its peers</h1>{body}</html>\n")


def page(summary):
    return Page(summary).html()


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
        "# A full run\n" if is_full else "# A run of some experiments\n", "Written by `./dev bench` (build/bench/report.md), not by hand.\n",
        markdown_table(["environment", ""], summary["environment"].items()), "## What was to be reached\n",
        markdown_table(["what", "against the better of its kind", "at least", "by the clock", "by CPU"], targets), "## All figures\n",
        "Microseconds of wall time an operation, in brackets of CPU of the whole process, then how many times mergedb's time that is (least and most of\n"
        "the repetitions). Open loop: lateness of a put from the moment it was due. Device: bytes written for each byte put; dirty\n"
        "pages count only after the close and a sync. Directory: MB allocated (apparent). ycsb, p50 to p99.99: latency of one\n"
        "operation of this kind.\n",
        *[markdown_experiment(summary, experiment, titles) for experiment in experiments]])
