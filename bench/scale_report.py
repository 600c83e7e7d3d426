"""The figures of ./dev bench --only scale (scale.py): words for the terminal, Markdown, and a section of the report's page.

A column is one configuration of one engine; a row is one figure. A figure of a phase that has not run is a dash.
"""

import html

import plot

BLOOM_BITS = 10         # a key: matrix.COMMON
COST_RATIO_MAX = 1.2    # a put at all entries against one at a tenth of them, compactions included
OPEN_SECONDS_MAX = 1.0  # after kill -9
# The columns of the samples that the page plots: label, and the divisor of the values.
PLOTS = [("pending_compaction_bytes", "MB that compactions still have to rewrite", 1e6), ("disk_bytes", "MB on disk", 1e6),
         ("runs", "sorted runs", 1)]


def cost(run):
    """Returns (us a write, us with the wait for compactions) of a run of a benchmark and the wait."""
    write, wait = run["steps"][:2]
    operations = max(1, write["ops"])
    return write["seconds"] * 1e6 / operations, (write["seconds"] + wait["seconds"]) * 1e6 / operations


def micros(step):
    return step["seconds"] * 1e6 / max(1, step["ops"])


def column_of(series, name):
    place = series["columns"].index(name)
    return [row[place] for row in series["rows"]]


def megabytes(bytes_):
    return f"{bytes_ / 1e6:,.0f}"


def backlog_words(series):
    """The most sorted runs and the most pending bytes, each with the value at the end."""
    runs, pending = column_of(series, "runs"), column_of(series, "pending_compaction_bytes")
    words = f"{max(runs)} ({runs[-1]})" if runs else "–"
    return words + (f"; {megabytes(max(pending))} ({megabytes(pending[-1])}) MB" if pending and max(pending) >= 0 else "")


def write_rows(name, run):
    write, wait = run["steps"][:2]
    alone, drained = cost(run)
    latency, directory = write.get("latency_us", {}), write.get("directory_bytes", {})
    sizes = {moment: megabytes(directory[moment]["allocated"]) for moment in ("largest", "drained", "closed") if moment in directory}
    device = [write.get("device_bytes_per_user_byte"), write.get("device_bytes_per_user_byte_closed")]
    return {
        f"{name}: us, with the wait": f"{alone:.2f}, {drained:.2f}",
        f"{name}: wait for compactions, s": f"{wait['seconds']:.1f}",
        f"{name}: p99.99, worst, us": f"{latency['p99.99']:,.0f}, {latency['max']:,.0f}" if latency else "–",
        f"{name}: device bytes a user byte, drained, closed": ", ".join("–" if figure is None else f"{figure:.2f}" for figure in device),
        f"{name}: MB on disk: largest, at rest, closed": ", ".join(sizes.get(moment, "–") for moment in ("largest", "drained", "closed")),
        f"{name}: sorted runs, most (at rest); pending, most (at rest)": backlog_words(run["series"]),
        f"{name}: resident, most, MB": megabytes(max(write["rss_bytes_peak"], wait["rss_bytes_peak"])),
    }


def read_rows(name, record):
    first, then = record["runs"][0]["steps"][:2]
    latency = then.get("latency_us", {})
    device = then["device_bytes_read"] / max(1, then["ops"])
    return {
        f"{name}: us, first, then": f"{micros(first):.1f}, {micros(then):.1f}",
        f"{name}: p50, p99, p99.99, us": ", ".join(f"{latency[p]:,.0f}" for p in ("p50", "p99", "p99.99")) if latency else "–",
        f"{name}: device bytes each": f"{device:,.0f}",
    }


def memory_rows(records, entries):
    """Of the phase that read last: by then the caches are full."""
    read = next((records[phase] for phase in ("seek", "get-zipfian", "get") if phase in records), None)
    if not read:
        return {}
    run, rows = read["runs"][0], {}
    counters = run["counters"]
    rows["resident while reading, most, MB"] = megabytes(max(step["rss_bytes_peak"] for step in run["steps"]))
    if "table_memory_bytes" in counters:
        rows["indexes and filters of the open tables, MB (open tables, all tables; filters of all keys as configured)"] = (
            f"{megabytes(counters['table_memory_bytes'])} ({counters['tables_open']:,}, {counters['tables']:,}; "
            f"{megabytes(entries * BLOOM_BITS / 8)})")
        rows["block cache, used, of, MB"] = f"{megabytes(counters['block_cache_bytes'])}, {megabytes(counters['block_cache_bytes_max'])}"
    most = [record["memory_most"] for record in records.values() if record.get("memory_most")]
    if most:
        rows["control group, most, MB"] = megabytes(max(most))
    return rows


def open_seconds(record):
    """Returns the times of the opens after kill -9, and of those without page cache."""
    return [[run["open_seconds"] for run in record["runs"] if run["is_cold"] is is_cold] for is_cold in (False, True)]


def cost_ratio(records):
    """Returns the cost of a put at all entries as a multiple of that at a tenth, or None."""
    if "tenth" not in records or "load" not in records:
        return None
    return cost(records["load"]["runs"][0])[1] / cost(records["tenth"]["runs"][0])[1]


def by_column(summary):
    """Returns {(engine, configuration): {phase: record}} of the columns that have a record."""
    found = {}
    for record in summary["phases"]:
        found.setdefault((record["engine"], record["configuration"]), {})[record["phase"]] = record
    return found


def figures_of(records, entries):
    rows = {}
    if "tenth" in records:
        rows["load of a tenth: us, with the wait"] = "{:.2f}, {:.2f}".format(*cost(records["tenth"]["runs"][0]))
    for phase in ("load", "overwrite"):
        if phase in records:
            rows.update(write_rows(phase, records[phase]["runs"][0]))
    for phase, name in (("get", "get, uniform"), ("get-zipfian", "get, zipfian"), ("seek", "seek, uniform")):
        if phase in records:
            rows.update(read_rows(name, records[phase]))
    if "kill" in records:
        warm, cold = open_seconds(records["kill"])
        rows["open after kill -9, s; without page cache"] = "; ".join(", ".join(f"{s:.3f}" for s in times) for times in (warm, cold))
    rows.update(memory_rows(records, entries))
    return rows


def targets_of(records):
    """Returns [(what, measured, limit, is_reached)]."""
    found = []
    if (ratio := cost_ratio(records)) is not None:
        found.append(("a put with the wait, against one at a tenth of the entries", f"{ratio:.2f} x", f"{COST_RATIO_MAX} x", ratio <= COST_RATIO_MAX))
    if "kill" in records:
        slowest = max(sum(open_seconds(records["kill"]), []))
        found.append(("slowest open after kill -9", f"{slowest:.3f} s", f"{OPEN_SECONDS_MAX:g} s", slowest <= OPEN_SECONDS_MAX))
    return found


def words(record):
    """What a finished phase measured, for one line."""
    run, text = record["runs"][0], f"{record['seconds']:.1f} s"
    if record["phase"] in ("tenth", "load", "overwrite"):
        alone, drained = cost(run)
        return f"{text}: {alone:.2f} us a put, {drained:.2f} with the wait"
    if record["phase"] == "kill":
        return f"{text}: opened in " + ", ".join(f"{each['open_seconds']:.3f}" for each in record["runs"]) + " s"
    return f"{text}: {micros(run['steps'][0]):.1f} us, then {micros(run['steps'][1]):.1f}"


def titles_of(summary):
    configurations = {c["id"]: c["title"] for c in summary["configurations"]}
    return {column: f"{summary['engines'][column[0]]}, {configurations[column[1]]}" for column in by_column(summary)}


def tables(summary):
    """Returns (head, body) of the figures, and of the targets."""
    columns, titles = by_column(summary), titles_of(summary)
    entries = {c["id"]: c["entries"] for c in summary["configurations"]}
    figures = {column: figures_of(records, entries[column[1]]) for column, records in columns.items()}
    names = list(dict.fromkeys(name for rows in figures.values() for name in rows))
    body = [[name, *[figures[column].get(name, "–") for column in columns]] for name in names]
    judged = [[titles[column], what, measured, limit, "reached" if is_reached else "MISSED"]
              for column, records in columns.items() for what, measured, limit, is_reached in targets_of(records)]
    return (["", *titles.values()], body), (["", "what", "measured", "at most", ""], judged)


def notes_of(summary):
    notes = [] if summary["is_full"] else ["A small run: its figures are not those of the benchmark."]
    for record in summary["phases"]:
        if record["was_interrupted"]:
            notes.append(f"{record['engine']}, {record['configuration']}, {record['phase']}: repeated after an interruption")
    if len(versions := dict.fromkeys(record["mergedb"] for record in summary["phases"])) > 1:
        notes.append(f"the phases were measured with several builds: {', '.join(versions)}")
    return notes


def markdown(summary):
    def table(head, body):
        return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in [head, ["---"] * len(head), *body]) + "\n"

    figures, targets = tables(summary)
    return "\n".join(["# A database larger than the memory\n", "Written by `./dev bench --only scale` (build/bench/scale.md), not by hand.\n",
                      table(["environment", ""], summary["environment"].items()), *[f"{note}\n" for note in notes_of(summary)],
                      "## Limits\n", table(*targets), "## Figures\n", table(*figures),
                      "us: microseconds of wall time an operation. *first, then*: the same benchmark twice in one process, with other "
                      "keys; the first one begins with an empty block cache.\n"])


def section(summary):
    """The same as HTML, with the samples over time."""
    def table(head, body):
        lines = "".join("<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>" for row in body)
        return f'<div class="scroll"><table><tr>{"".join(f"<th>{html.escape(cell)}</th>" for cell in head)}</tr>{lines}</table></div>'

    figures, targets = tables(summary)
    parts = [f'<p class="soft">{html.escape(name)}: {html.escape(str(value))}</p>' for name, value in summary["environment"].items()
             if name in ("memory limit", "date", "mergedb") or name.startswith("note ")]
    parts += [f'<p class="warn">{html.escape(note)}</p>' for note in notes_of(summary)] + [table(*targets), table(*figures)]
    configurations = {c["id"]: c["title"] for c in summary["configurations"]}
    for phase in ("load", "overwrite"):
        for id_, title in configurations.items():
            series = {column[0]: records[phase]["runs"][0]["series"] for column, records in by_column(summary).items()
                      if column[1] == id_ and phase in records}
            if series:
                parts.append(f"<h3>{html.escape(title)}: {phase} and wait</h3>")
                for name, label, unit in PLOTS:
                    parts.append(plot.lines(
                        {engine: list(zip(column_of(each, "seconds"), [max(0, y) / unit for y in column_of(each, name)])) for engine, each in series.items()},
                        summary["engines"], "seconds", label, is_log=False))
    return "".join(parts)
