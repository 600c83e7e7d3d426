"""Turns the summary of report.summarize() into one HTML page without scripts, which loads nothing.

The first screen says on which machine the runs were made, where mergedb is faster and slower than its peers, and by how
much. Then each comparison is a row that opens to its values and command lines. Goals, plots and all figures follow.
"""

import html
import shlex
import statistics

import matrix
import plot
import report
import scale_report
import verdict

STYLE = """
:root{color-scheme:light dark;--text:#1c2430;--soft:#596474;--line:#d6dbe2;--card:#f4f6f9;--win:#dbe8ff;--loss:#ffe3c2;--zone:#fff1df}
@media(prefers-color-scheme:dark){:root{--text:#e6eaef;--soft:#9eaab8;--line:#36404b;--card:#1d232a;--win:#16305e;--loss:#553410;--zone:#2a2117}}
*{box-sizing:border-box}body{font:14px/1.45 system-ui,sans-serif;max-width:1240px;margin:0 auto;padding:14px 18px 60px;
background:var(--back);color:var(--text)}
h1{font-size:22px;margin:0}h2{font-size:19px;margin:34px 0 4px}h3{font-size:15px;margin:18px 0 2px}p{margin:4px 0;max-width:110ch;overflow-wrap:anywhere}
.soft,small{color:var(--soft)}small{font-size:12px}.answer{font-size:17px;margin:8px 0;max-width:none}.warn{border-left:4px solid var(--leveldb);padding:2px 10px}
svg{display:block;overflow:visible;font-size:12px;fill:var(--text)}.defs{position:absolute}
.grid{stroke:var(--line)}.one{stroke:var(--text);stroke-width:1.5}.slower{fill:var(--zone)}.side{font-size:11px;fill:var(--soft)}
.mark{stroke:var(--text);stroke-dasharray:3 3}.whisker line{stroke:currentColor;stroke-width:1.6;opacity:.75}.error line{stroke:var(--text);stroke-width:1.3}
.bar{fill:currentColor}.variant{fill-opacity:.45;stroke:currentColor}.tear line{stroke:var(--back);stroke-width:3}
.line line{stroke:currentColor;stroke-width:2}
.legend{display:flex;flex-wrap:wrap;gap:2px 14px;margin:4px 0;font-size:13px}.legend span{display:inline-flex;align-items:center;gap:4px}
table{border-collapse:collapse;font-size:13px;margin:6px 0}.scroll{overflow-x:auto}
td,th{border-bottom:1px solid var(--line);padding:2px 9px;text-align:right;white-space:nowrap;font-weight:400}th{color:var(--soft)}
td:first-child,th:first-child{text-align:left;padding-left:0}
.sides{display:grid;grid-template-columns:1fr 1fr;gap:0 28px}.sides h3{font-size:16px;margin:10px 0 2px}
.verdict td{border:2px solid var(--back);padding:3px 9px}.verdict td,.verdict th{text-align:left}.verdict td:first-child{padding-left:0}
td.faster{background:var(--win)}td.slower{background:var(--loss)}td.even{background:var(--card)}td.missed{background:var(--loss)}
.row{border-bottom:1px solid var(--line)}.row>summary,.head{display:grid;grid-template-columns:250px minmax(0,1fr) 190px;gap:0 12px;align-items:center}
.row>summary{cursor:pointer;list-style:none;padding:2px 0}.row>summary::-webkit-details-marker{display:none}
.what::before{content:"▸ ";color:var(--soft)}.row[open]>summary .what::before{content:"▾ "}
.row>summary:hover{background:var(--card)}.what small,.by small{display:block;line-height:1.25}
.short .minor{display:none}.short .row>summary,.short .head{grid-template-columns:170px minmax(0,1fr) 150px}
.inside{padding:4px 0 12px 14px}pre{font-size:12px;white-space:pre-wrap;overflow-wrap:anywhere;margin:4px 0;background:var(--card);padding:6px 8px}
.bars{max-width:900px}.bar-label{font-size:13px;margin-top:8px}.bar-row{display:grid;grid-template-columns:190px 1fr;align-items:center;font-size:12px;
color:var(--soft)}.lines{display:grid;grid-template-columns:56px 1fr;gap:6px;max-width:900px}summary{cursor:pointer}
@media(max-width:900px){.sides{grid-template-columns:1fr}}
@media(max-width:640px){body{padding:10px 10px 40px}.row>summary,.head,.short .row>summary,.short .head{grid-template-columns:minmax(0,1.3fr) minmax(0,1fr);gap:0 8px}
.row>summary svg,.head svg{grid-column:1/3;grid-row:2}.row>summary .by{text-align:right}.minor{display:none}.bar-row{grid-template-columns:118px 1fr}
.answer{font-size:16px}.verdict td,.verdict th{white-space:normal;padding:2px 4px;font-size:12px}.verdict small{display:block;font-size:11px;line-height:1.15}td,th{padding:2px 6px}td:first-child{white-space:normal}.lines{grid-template-columns:40px 1fr}.head span{display:none}}
"""

LIST_MAX = 6  # rows of each list of the first screen
# What the first screen says about the machine, with the words before it.
MACHINE = {"CPU": "", "memory": "", "kernel": "Linux ", "file system": ""}
ONCE = "ran once, no error bar"


def esc(words):
    return html.escape(str(words))


def table(head, body, shade=""):
    """A cell that begins with "<td" is HTML."""
    cells = "".join(f"<th>{esc(c)}</th>" for c in head)
    lines = "".join("<tr>" + "".join(c if str(c).startswith("<td") else f"<td>{esc(c)}</td>" for c in row) + "</tr>" for row in body)
    return f'<div class="scroll"><table class="{shade}"><tr>{cells}</tr>{lines}</table></div>'


def details(title, body):
    return f"<details><summary>{esc(title)}</summary>{body}</details>"


class Page:
    def __init__(self, summary, scale=None):
        self.summary, self.scale = summary, scale
        self.environment = summary["environment"]
        self.engines = summary["engines"]
        self.titles = {e["id"]: e["title"] for e in self.engines} | {"control": "control thread"}
        met = {run["engine"] for run in summary["runs"]}
        self.order = [e["id"] for e in self.engines if e["id"] in met]
        self.peers = [id_ for id_ in self.order if id_ != "mergedb" and verdict.is_counted(id_)]
        self.experiments = list(dict.fromkeys(run["experiment"] for run in summary["runs"]))
        self.rows = summary["rows"]
        self.counted = [row for row in self.rows if verdict.group_of(row)]
        # Without any repetition, the first screen says so, and the rows do not.
        self.is_all_once = all(len(values) < 2 for row in self.rows for values in row["values"].values())
        shown = [point for row in self.rows for _, value, low, high in self.points(row) for point in (value, low or value, high or value)]
        self.axis = plot.ratio_axis(shown)

    # ---- one comparison ----------------------------------------------------------------------------------------------

    def points(self, row):
        """Returns [(engine, multiple of mergedb's time, least, most)], mergedb with its own spread; None without repetitions."""
        base = report.middle(row, "mergedb")
        if not base:
            return []
        found = []
        for id_ in self.order:
            three = (row["ratios"].get(id_) or {}).get("wall")
            if id_ == "mergedb":
                own = [figure["wall"] / base for figure in row["values"]["mergedb"].values()]
                three = (1.0, min(own), max(own))
            if three and three[0] > 0:
                is_once = len(row["values"][id_].keys() & row["values"]["mergedb"].keys()) < 2
                found.append((id_, three[0], None if is_once else three[1], None if is_once else three[2]))
        return found

    def values(self, row):
        body = []
        for id_ in (id_ for id_ in self.order if id_ in row["values"]):
            walls = [figure["wall"] for figure in row["values"][id_].values()]
            ratio = (row["ratios"].get(id_) or {}).get("wall")
            body.append([self.titles[id_], plot.number(statistics.median(walls)), *([plot.number(min(walls)), plot.number(max(walls))]
                                                                                   if len(walls) > 1 else ["–", "–"]),
                         plot.number(report.middle(row, id_, "cpu")), report.ratio_text(ratio) if ratio else "–",
                         len(walls) if len(walls) > 1 else "once"])
        return table(["engine", "µs, median", "least", "most", "µs of CPU", "× mergedb's time", "runs"], body)

    def commands(self, experiment):
        commands = dict.fromkeys(shlex.join(command) for run in self.summary["runs"] if run["experiment"] == experiment
                                 for command in run["commands"])
        return "<pre>" + esc("\n\n".join(commands)) + "</pre>"

    def by_text(self, row):
        found = verdict.closest(row, self.engines)
        if not found:
            return "<b>–</b><small>no peer beside mergedb</small>"
        name = esc(self.titles[found["engine"]])
        once = f"<small>{ONCE}</small>" if found["count"] < 2 and not self.is_all_once else ""
        if found["outcome"] == "even":
            return f"<b>even</b><small>with {name}</small>{once}"
        which = "the next: " if found["outcome"] == "faster" and len(verdict.against(row, self.engines)) > 1 else ""
        return f"<b>{verdict.times(found['ratio'][0])}</b><small>than {which}{name}</small>{once}"

    def row(self, row):
        mine = report.middle(row, "mergedb")
        unit = f"mergedb {plot.number(mine)} µs" if mine else "not run by mergedb"
        points = self.points(row)
        picture = plot.dots(points, self.axis, self.titles) if points else "<span></span>"
        return (f'<details class="row"><summary><span class="what">{esc(verdict.words(row["metric"]))}<small>{esc(row["title"])} · {unit}</small></span>'
                f'{picture}<span class="by">{self.by_text(row)}</span></summary><div class="inside"><p class="soft">{esc(row["experiment"])}: '
                f'{esc(row["metric"])}</p>{self.values(row)}{self.commands(row["experiment"])}</div></details>')

    def head(self):
        return f'<div class="head"><span></span>{plot.ratio_head(self.axis)}<span class="soft">against the fastest peer</span></div>'

    def list_of(self, rows, empty):
        return self.head() + "".join(map(self.row, rows)) if rows else f'<p class="soft">{empty}</p>'

    # ---- the first screen --------------------------------------------------------------------------------------------

    def machine(self):
        facts = ", ".join(MACHINE[name] + str(self.environment[name]).split(" (")[0] for name in MACHINE if name in self.environment)
        when = ", ".join(f"{name} {self.environment[name]}" for name in ("mergedb", "repetitions") if name in self.environment)
        quick = "<b>Quick run with small sizes.</b> " if self.summary["is_quick"] else ""
        notes = "".join(f'<p class="warn">{esc(text)}</p>' for name, text in self.environment.items() if name.startswith("note "))
        return f'<p class="soft">{quick}{esc(facts)}. {esc(self.environment.get("date", ""))}; {esc(when)}.</p>{notes}'

    def answer(self):
        outcomes = [found["outcome"] for row in self.counted if (found := verdict.closest(row, self.engines))]
        if not outcomes:
            return '<p class="answer">No comparison of mergedb with a peer was run.</p>'
        count = {word: outcomes.count(word) for word in ("faster", "slower", "even")}
        once = f"Each row {ONCE}s." if self.is_all_once else ""
        return (f'<p class="answer">In {len(outcomes)} comparisons mergedb is faster than every peer in <b>{count["faster"]}</b>, slower than at '
                f'least one in <b>{count["slower"]}</b>, and even with the fastest in <b>{count["even"]}</b>. {once}</p>')

    def matrix(self):
        cells, totals = verdict.table(self.rows, self.engines)
        peers = [peer for peer in self.peers if peer in totals]
        if not peers:
            return ""
        body = []
        for group, found in cells.items():
            line = [f"<td>{esc(group)}</td>"]
            for peer in peers:
                if peer not in found:
                    line.append("<td></td>")
                    continue
                cell = found[peer]
                shade = verdict.outcome((cell["mean"],) * 3, 2)
                words = verdict.times(cell["mean"]) if shade != "even" else "even"
                lost = cell["outcomes"].count("slower")
                if (rows := len(cell["outcomes"])) > 1:
                    span = f"{cell['least']:.2g}–{cell['most']:.2g} ×, " + (f"slower in {lost} of {rows}" if lost else f"{rows} rows")
                else:
                    span = "1 row"
                line.append(f'<td class="{shade}">{words} <small>{span}</small></td>')
            body.append(line)
        last = ["<td>all rows</td>"]
        for peer in peers:
            last.append(f"<td>{totals[peer]['faster']} faster, {totals[peer]['even']} even, {totals[peer]['slower']} slower</td>")
        names = [next(e["title"] for e in self.engines if e["id"] == peer) for peer in peers]
        return table(["mergedb is", *[f"than {name.split(' ')[0]}" for name in names]], [*body, last], "verdict")

    def first_lists(self):
        found = [(entry["ratio"][0], entry["outcome"], row) for row in self.counted if (entry := verdict.closest(row, self.engines))]
        found.sort(key=lambda each: each[0])
        losses = [row for _, word, row in found if word == "slower"]
        wins = [row for _, word, row in reversed(found) if word == "faster"]
        more = [f" ({LIST_MAX} of {len(rows)})" if len(rows) > LIST_MAX else "" for rows in (losses, wins)]
        return (f'{plot.legend(self.order, self.titles)}<div class="sides short"><div><h3>Where mergedb loses most{more[0]}</h3>{self.list_of(losses[:LIST_MAX], "Nowhere.")}</div>'
                f'<div><h3>Where mergedb wins most{more[1]}</h3>{self.list_of(wins[:LIST_MAX], "Nowhere.")}</div></div>')

    def reading(self):
        ran_once = any(entry["count"] < 2 for row in self.counted if (entry := verdict.closest(row, self.engines)))
        once = f" A row that ran once has no error bar; there the limit is {verdict.EVEN_ONCE:.0%}." if ran_once else ""
        return ('<p class="soft">The axis is logarithmic: time of an operation as a multiple of mergedb\'s, which is at 1. Marks are medians, and error bars '
                'go from the least to the most of the repetitions; repetitions are compared in pairs. '
                f'<i>Even</i>: less than {verdict.EVEN:.0%}, or the repetitions disagree.{once} Of the variants of a peer, the fastest counts. '
                'Variants with other settings (64 MB buffers, get + put) are shown and not counted.</p>')

    # ---- the other sections ------------------------------------------------------------------------------------------

    def comparisons(self):
        parts = []
        for group in verdict.GROUPS:
            rows = [row for row in self.counted if verdict.group_of(row) == group]
            if rows:
                parts.append(f"<h3>{esc(group)}</h3>{self.head()}" + "".join(map(self.row, rows)))
        others = [row for row in self.rows if not verdict.group_of(row)]
        rest = details(f"{len(others)} parts and percentiles that are not counted", self.head() + "".join(map(self.row, others))) if others else ""
        return plot.legend(self.order, self.titles) + "".join(parts) + rest if self.rows else "<p>Nothing was run.</p>"

    def targets(self):
        kind = ("These are the goals of the quick run: they notice a regression. The goals of docs/benchmarks-journal.md are for the full sizes."
                if self.summary["is_quick"] else "These are the goals of docs/benchmarks-journal.md.")
        if not self.summary["targets"]:
            return f'<p class="soft">{kind}</p><p>None of the agreed comparisons was run.</p>'
        body = []
        for t in self.summary["targets"]:
            word, shade = ("reached", "faster") if t["is_reached"] else ("missed", "missed")
            body.append([f"{t['experiment']}: {verdict.words(t['metric'])}", self.titles[t["engine"]], f"{t['least']} ×",
                         f'<td class="{shade}">{report.ratio_text((t["ratio"], t["ratio_min"], t["ratio_max"]))} × {word}</td>',
                         f"{t['cpu_ratio']:.2f} ×" if t["cpu_ratio"] else "–"])
        reached = sum(t["is_reached"] for t in self.summary["targets"])
        return (f'<p class="soft">{kind} {reached} of {len(body)} are reached.</p>' +
                table(["what", "against", "goal, at least", "measured, by the clock", "by CPU"], body))

    def figures(self):
        head = ["µs per operation (CPU) · × mergedb's", *[self.titles[id_] for id_ in self.order]]
        body = []
        for row in self.rows:
            cells = [f"{row['experiment']}: {row['metric']}"]
            for id_ in self.order:
                wall, cpu = report.middle(row, id_), report.middle(row, id_, "cpu")
                cell = plot.number(wall) + (f" ({plot.number(cpu)})" if cpu is not None else "")
                if row["ratios"].get(id_, {}).get("wall"):
                    cell += f" · {report.ratio_text(row['ratios'][id_]['wall'])}"
                cells.append(cell)
            body.append(cells)
        return details("Table", table(head, body))

    def first_runs(self, experiment):
        found = {}
        for run in self.summary["runs"]:
            if run["experiment"] == experiment:
                found.setdefault(run["engine"], run)
        return {id_: found[id_] for id_ in self.order if id_ in found}

    def throughput(self):
        parts = []
        for experiment in self.experiments:
            if not experiment.startswith(("random", "zipfian")):
                continue
            series = {id_: throughput_of(run["result"]["benchmarks"][0]) for id_, run in self.first_runs(experiment).items()}
            body = [[self.titles[id_], *[plot.number(y) for _, y in points[:40]]] for id_, points in series.items()]
            plotted = plot.lines(series, self.titles, "seconds; a line ends with its load", "thousand operations a second, first repetition")
            parts.append(f"<h3>{esc(experiment)}</h3>" + plotted +
                         details("Table (first 40 samples)", table(["engine", "thousand operations a second"], body)))
        return "".join(parts) or "<p>Not run.</p>"

    def latency(self):
        labels = ["p50", "p90", "p99", "p99.9", "p99.99", "max"]
        parts = []
        for experiment in self.experiments:
            series, rate, control = {}, 0, None
            for id_, run in self.first_runs(experiment).items():
                if loop := run["result"]["benchmarks"][0].get("open_loop"):
                    rate = loop["rate"]
                    series[id_] = [(i, loop["latency_us"][label]) for i, label in enumerate(labels)]
                    control = control or [(i, loop["control_latency_us"][label]) for i, label in enumerate(labels)]
            if series:
                series["control"] = control
                body = [[self.titles[id_], *[plot.number(y) for _, y in points]] for id_, points in series.items()]
                parts.append(f"<h3>{esc(experiment)}: {rate:,.0f} puts a second</h3>" +
                             plot.lines(series, self.titles, "percentile", "µs from the moment a put was due, first repetition", labels, True) +
                             details("Table", table(["µs", *labels], body)))
        return "".join(parts) or "<p>Not run.</p>"

    def amplification(self, kind, label, marks=()):
        rows = {}
        for entry in self.summary["amplification"]:
            for name, figures in entry["writes"].items():
                if kind in figures:
                    rows.setdefault(f"{entry['experiment']}: {name}", {}).setdefault(entry["engine"], []).append(figures[kind])
        bars = [(label_, {id_: (statistics.median(values[id_]), min(values[id_]), max(values[id_])) for id_ in self.order if id_ in values})
                for label_, values in rows.items()]
        if not bars:
            return "<p>Not run.</p>"
        is_once = all(len(values) < 2 for engines in rows.values() for values in engines.values())
        body = [[label_, *[plot.number(values[id_][0]) if id_ in values else "–" for id_ in self.order]] for label_, values in bars]
        return (plot.bars(bars, self.titles, label + (", each ran once: no error bars" if is_once else ", with least and most"), marks) +
                details("Table", table([label, *[self.titles[id_] for id_ in self.order]], body)))

    def disk(self):
        body = []
        for experiment, write in dict.fromkeys((e["experiment"], write) for e in self.summary["amplification"] for write in e["disk"]):
            for id_ in self.order:
                if cells := report.disk_cells(self.summary, experiment, write, id_):
                    body.append([f"{experiment}: {write}", self.titles[id_], *cells])
        return table(["write", "engine", *report.DISK_COLUMNS], body) if body else "<p>Not run.</p>"

    def growth(self):
        body = []
        rows = {(r["experiment"], r["metric"]): r for r in self.rows}
        for (experiment, metric), small in rows.items():
            large = rows.get((experiment + "-large", metric))
            if not large:
                continue
            cells = [f"{experiment}: {metric}"]
            for id_ in self.order:
                a, b = report.middle(small, id_), report.middle(large, id_)
                cells.append(f"{plot.number(a)} → {plot.number(b)} (× {b / a:.2f})" if a and b else "–")
            body.append(cells)
        if not body:
            return "<p>Only one size was run.</p>"
        return table([f"µs per operation, then at {matrix.LARGE} times the size", *[self.titles[id_] for id_ in self.order]], body)

    def html(self):
        first = self.machine() + self.answer() + self.matrix() + self.first_lists() + self.reading()
        sections = [
            ("Each comparison", "<p>A row opens to its values and command lines.</p>" + self.comparisons()),
            ("Goals", self.targets()),
            ("Growth", self.growth()), ("Throughput over time", self.throughput()), ("Latency, open loop", self.latency()),
            ("Write amplification", self.amplification("write", "Bytes to the device for each byte put, until compacted")),
            ("Device and directory", "<p>Device: bytes written for each byte put; dirty pages count only after the close and a sync. "
                                     "Directory: MB allocated (apparent).</p>" + details("Table", self.disk())),
            ("Space amplification", self.amplification("space", "Bytes on disk for each live byte, compacted; lines at 1 and 1.25", (1, 1.25))),
            ("Space at its peak", details("Plot", self.amplification("space_peak", "Most bytes on disk for each live byte, running compactions "
                                                                     "included"))),
            ("Sorted runs", details("After the load", self.amplification("runs_loaded", "Sorted runs after the load")) +
             details("Compacted", self.amplification("runs_drained", "Sorted runs, compacted"))),
            ("Memory", details("For writes", self.amplification("write_memory_mb", "MB at the peak, by the engine's own account")) +
             details("Resident", self.amplification("rss_mb", "Resident MB at the peak of the load"))),
            *([("A database larger than the memory", scale_report.section(self.scale))] if self.scale else []),
            ("All figures", self.figures()),
            ("Environment", table(["environment", ""], self.environment.items())),
        ]
        body = "".join(f"<h2>{title}</h2>{part}" for title, part in sections)
        return (f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
                f"<title>mergedb beside its peers</title><style>{STYLE}{plot.colour_css()}</style>{plot.definitions()}"
                f"<h1>mergedb beside its peers</h1>{first}{body}</html>\n")


def throughput_of(step):
    """Returns [(second, thousand operations a second)]. A load that ended before its second sample has its mean, as a line."""
    rows = step["samples"]["rows"]
    points = [((a[0] + b[0]) / 2, (b[1] - a[1]) / (b[0] - a[0]) / 1000) for a, b in zip([[0, 0], *rows], rows) if b[0] - a[0] > 0.1]
    if len(points) > 1:
        return points
    mean = step["ops"] / max(step["seconds"], 1e-9) / 1000
    return [(0, mean), (step["seconds"], mean)]


def page(summary, scale=None):
    """`scale` is the summary of ./dev bench --only scale, if that has run."""
    return Page(summary, scale).html()
