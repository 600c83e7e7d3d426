"""The HTML page of ./dev bench, from made-up runs: its first screen, its plots, and the commands behind each row.

Colours are checked as numbers: contrast by WCAG, and the distance of the colours as the colour-blind see them
(matrices of Machado, Oliveira and Fernandes, 2009).
"""

import argparse
import itertools
import json
import os
import re
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench"))

import compare  # noqa: E402
import matrix  # noqa: E402
import plot  # noqa: E402
import report  # noqa: E402
import report_page  # noqa: E402
import verdict  # noqa: E402

ENGINES = [{"id": e.id, "title": e.title, "peer": e.peer} for e in matrix.engines("lib.so", {"fjall": "f.so", "pebble": "p.so"})]
TITLES = {e["id"]: e["title"] for e in ENGINES}
COLOUR_BLIND = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritan": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


def step(name, ops, seconds, samples=4):
    rows = [[seconds * i / samples, ops * i // samples, 1000, 1, 1000] for i in range(1, samples + 1)]
    made = {"name": name, "ops": ops, "seconds": seconds, "cpu_user_seconds": seconds, "cpu_system_seconds": 0, "bytes": ops * 116,
            "device_bytes_written": ops * 232, "disk_bytes": 100000, "disk_bytes_peak": 150000, "rss_bytes_peak": 1 << 20, "runs": 2,
            "write_memory_bytes_peak": 8 << 20, "samples": {"rows": rows}}
    if name == "openloop":
        latency = {label: seconds * 10 for label in ("p50", "p90", "p99", "p99.9", "p99.99", "max")}
        made["open_loop"] = {"rate": 50000, "latency_us": latency, "control_latency_us": latency}
    return made


def run(experiment, engine, repetition, factor, samples=4):
    steps = experiment.benchmarks_of.get(engine, experiment.benchmarks)
    context = {"command": ["db_bench"], "key_size": 16, "value_size": 100, "num": 1000, "engine_version": engine}
    made = {"experiment": experiment.id, "title": experiment.title, "engine": engine, "repetition": repetition,
            "commands": [["db_bench", f"--benchmarks={','.join(steps)}", *experiment.flags, f"--engine={engine}"]],
            "result": {"context": context, "benchmarks": [step(name, 1000, factor, samples) for name in steps]}}
    if experiment.cold_reads:
        made["cold"] = {"benchmarks": [step("readrandom", 1000, factor)]}
    return made


def runs_of(experiments, repetitions=2):
    """Every engine that an experiment names; the load of mergedb is so short that it has one sample."""
    runs = []
    for x, repetition in itertools.product(experiments, range(repetitions)):
        for i, id_ in enumerate(x.engines or [e["id"] for e in ENGINES]):
            runs.append(run(x, id_, repetition, (i + 1) * (1 + 0.1 * repetition) * (0.05 if id_ == "mergedb" else 1), 1 if id_ == "mergedb" else 4))
    return runs


def page_of(runs, targets=(), is_quick=True, environment=None):
    return report_page.page(report.summarize(runs, ENGINES, environment or {}, targets, is_quick))


def rows_in(page):
    """Returns {experiment: metric: the HTML of the row}."""
    found = {}
    for part in page.split('<details class="row">')[1:]:
        part = part.split("</div></details>")[0]
        found[re.search(r'<div class="inside"><p class="soft">([^<]*)</p>', part).group(1)] = part
    return found


def first_screen(page):
    return page.split("<h2>Each comparison</h2>")[0]


def load(id_="random-100"):
    return next(x for x in matrix.quick() if x.id == id_)


class FirstScreen(unittest.TestCase):
    def test_it_says_where_mergedb_wins_and_loses_by_how_much_and_on_what_machine(self):
        x = load()
        runs = [run(x, "mergedb", 0, 1.0), run(x, "leveldb", 0, 5.0), run(x, "lmdb", 0, 5.0)]
        runs[2]["result"]["benchmarks"][4] = step("readrandom", 1000, 0.4)
        page = first_screen(page_of(runs, environment={"CPU": "a <fast> one", "memory": "23.5 GiB", "kernel": "6.1", "file system": "ext4 (rw,relatime)"}))
        self.assertIn("a &lt;fast&gt; one, 23.5 GiB, Linux 6.1, ext4.", page)
        self.assertIn("faster than every peer in <b>7</b>, slower than at least one in <b>1</b>, and even with the fastest in <b>0</b>", page)
        losses, wins = page.split("<h3>Where mergedb wins most")
        self.assertEqual(list(rows_in(losses)), ["random-100: readrandom"])
        self.assertIn("<b>2.5× slower</b><small>than LMDB</small>", losses)
        self.assertIn("<b>5× faster</b>", wins)
        self.assertIn('<td class="faster">5× faster <small>5–5 ×, 3 rows</small></td>', page)

    def test_a_difference_within_the_noise_is_even(self):
        self.assertEqual(verdict.outcome((1.2, 0.9, 1.5), 3), "even")
        self.assertEqual(verdict.outcome((1.04, 1.03, 1.05), 3), "even")
        self.assertEqual(verdict.outcome((1.2, 1.1, 1.5), 3), "faster")
        self.assertEqual(verdict.outcome((0.8, 0.7, 0.9), 3), "slower")
        self.assertEqual(verdict.outcome((1.08, 1.08, 1.08), 1), "even")
        self.assertEqual(verdict.outcome((0.5, 0.5, 0.5), 1), "slower")

    def test_of_the_variants_of_a_peer_the_fastest_counts_and_other_settings_do_not(self):
        x = load("random-4k-seed")
        runs = [run(x, "mergedb", 0, 1.0), run(x, "rocksdb", 0, 9.0), run(x, "rocksdb-universal", 0, 4.0), run(x, "rocksdb-64m", 0, 0.5)]
        row = report.summarize(runs, ENGINES, {}, [])["rows"][0]
        found = verdict.against(row, ENGINES)
        self.assertEqual({peer: entry["engine"] for peer, entry in found.items()}, {"rocksdb": "rocksdb-universal"})

    def test_a_load_counts_with_its_compactions_only(self):
        counted = {row["metric"] for row in report.summarize(runs_of([load()]), ENGINES, {}, [])["rows"] if verdict.group_of(row)}
        self.assertLessEqual({"fillrandom + drain", "overwrite + drain", "readrandom", "seekrandom", "readseq"}, counted)
        self.assertFalse({"fillrandom", "overwrite"} & counted)

    def test_every_figure_of_a_goal_counts(self):
        for metric in {target[1] for target in matrix.TARGETS + matrix.QUICK_TARGETS}:
            self.assertIsNotNone(verdict.group_of({"metric": metric}), metric)


class Plots(unittest.TestCase):
    def test_mergedb_is_in_every_plot_that_it_has_rows_in(self):
        for experiments, is_quick in [(matrix.quick(), True), (matrix.full(), False)]:
            runs = runs_of(experiments)
            page = page_of(runs, is_quick=is_quick)
            names = {f"{row['experiment']}: {row['metric']}" for row in report.gather(runs) if "mergedb" in row["values"]}
            self.assertGreater(len(names), 30)
            rows = rows_in(page)
            for name in names:
                self.assertEqual(rows[name].count('data-engine="mergedb"'), 1, name)
            lines = page.split('<div class="lines">')[1:]
            self.assertEqual(len(lines), sum(x.id.startswith(("random", "zipfian", "openloop")) for x in experiments))
            for part in lines:
                self.assertRegex(part.split("</div>")[0], r'<g class="line e-mergedb" data-engine="mergedb"[^>]*><line')
            bars = page.split('<div class="bar-label">')[1:]
            self.assertGreater(len(bars), 40)
            for part in bars:
                self.assertIn('data-engine="mergedb"', part.split('<div class="bar-label">')[0].split("</div></div>")[0])

    def test_an_engine_has_one_colour_everywhere_and_a_marker_of_its_own(self):
        page = page_of(runs_of(matrix.full()), is_quick=False)
        colours = {}
        for colour, engine in re.findall(r'class="(?:line )?e-(\w+)" data-engine="([^"]*)"', page):
            colours.setdefault(engine, set()).add(colour)
        self.assertLessEqual(set(TITLES), set(colours))
        for engine, found in colours.items():
            self.assertEqual(found, {plot.style_of(engine)[0]}, engine)
        self.assertEqual(page.count("data-engine="), len(re.findall(r'class="(?:line )?e-\w+" data-engine=', page)))
        self.assertEqual(len({plot.style_of(id_) for id_ in TITLES}), len(TITLES), "two engines look the same")
        for id_ in TITLES:
            self.assertIn(id_, plot.STYLES)

    def test_one_large_ratio_does_not_flatten_the_others(self):
        runs = [run(load(), "mergedb", 0, 1.0), run(load(), "leveldb", 0, 247.0), run(load(), "rocksdb", 0, 1.5)]
        row = rows_in(page_of(runs))["random-100: readrandom"]
        at = {engine: float(x) for engine, x in re.findall(r'data-engine="([^"]*)"><use href="[^"]*" x="([\d.]+)%"', row)}
        self.assertGreater(at["rocksdb"] - at["mergedb"], 4)
        self.assertGreater(at["leveldb"] - at["rocksdb"], 40)
        self.assertLessEqual(at["leveldb"], 98)

    def test_a_bar_far_longer_than_the_others_is_cut_and_the_plot_says_so(self):
        made = plot.bars([("a", {"mergedb": (1, 1, 1), "leveldb": (2, 2, 2), "lmdb": (247, 247, 247)})], TITLES, "bytes")
        widths = dict(zip(["mergedb", "leveldb", "lmdb"], map(float, re.findall(r'class="bar" x="0" y="3" width="([\d.]+)%"', made))))
        self.assertGreater(widths["mergedb"], 4)
        self.assertAlmostEqual(widths["leveldb"], 2 * widths["mergedb"], delta=0.05)
        self.assertEqual(made.count('class="tear"'), 1)
        self.assertIn(">247</text>", made)
        self.assertIn("The axis ends at 20: longer bars are cut", made)
        for longest in (3, 9.5):  # the axis of the second one ends at 10
            made = plot.bars([("a", {"mergedb": (1.1,) * 3, "lmdb": (1.1,) * 3, "leveldb": (longest,) * 3})], TITLES, "bytes")
            self.assertNotIn("cut", made)

    def test_lines_that_a_linear_axis_would_flatten_are_on_a_logarithmic_one(self):
        for factor, is_log in [(247, True), (2, False)]:
            made = plot.lines({"mergedb": [(0, factor), (1, factor)], "leveldb": [(0, 1), (5, 1.1)]}, TITLES, "seconds", "speed")
            self.assertEqual("logarithmic axis" in made, is_log)

    def test_repetitions_make_error_bars_and_a_row_that_ran_once_says_so(self):
        runs = runs_of([load("counter-1m")], 2) + runs_of([load("sync-1")], 1)
        rows = rows_in(page_of(runs))
        repeated, once = rows["counter-1m: change + drain + read"], rows["sync-1: fillrandom"]
        self.assertEqual(repeated.count('class="whisker'), len(load("counter-1m").engines))
        self.assertNotIn("ran once", repeated)
        self.assertNotIn('class="whisker', once)
        self.assertIn("ran once", once)
        self.assertIn("Each row ran once, no error bars.", first_screen(page_of(runs_of([load("sync-1")], 1))))
        self.assertNotIn("Each row ran once", page_of(runs))

    def test_error_bars_go_from_the_least_to_the_most_repetition(self):
        x = load()
        runs = [run(x, "mergedb", 0, 1.0), run(x, "leveldb", 0, 2.0), run(x, "mergedb", 1, 2.0), run(x, "leveldb", 1, 10.0)]
        summary = report.summarize(runs, ENGINES, {}, [])
        points = {engine: figures for engine, *figures in report_page.Page(summary).points(summary["rows"][0])}
        self.assertEqual(points["leveldb"], [3.5, 2.0, 5.0])
        self.assertEqual([round(figure, 3) for figure in points["mergedb"]], [1.0, 0.667, 1.333])

    def test_each_row_opens_to_its_command_lines(self):
        experiments = matrix.quick()
        rows = rows_in(page_of(runs_of(experiments)))
        for name, row in rows.items():
            experiment = next(x for x in experiments if x.id == name.split(":")[0])
            for id_ in experiment.engines:
                self.assertIn(f"--engine={id_}", row)
            for flag in experiment.flags:
                self.assertIn(flag, row)

    def test_log_ticks_enclose_the_values(self):
        for low, high in [(0.8, 2), (0.0066, 247), (1, 1), (3, 3.1), (0.5, 1000)]:
            ticks = plot.log_ticks(low, high)
            self.assertLessEqual(ticks[0], low * 1.001)
            self.assertGreaterEqual(ticks[-1], high * 0.999)
            self.assertGreater(len(ticks), 1)


class QuickRun(unittest.TestCase):
    def test_its_goals_name_what_it_runs(self):
        figures = {(row["experiment"], row["metric"], engine) for row in report.gather(runs_of(matrix.quick())) for engine in row["values"]}
        peers = {e["peer"] for e in ENGINES}
        for experiment, metric, peer, _ in matrix.QUICK_TARGETS:
            self.assertIn(peer, peers)
            self.assertTrue(any((experiment, metric, e["id"]) in figures for e in ENGINES if e["peer"] == peer), (experiment, metric, peer))

    def test_it_is_judged_by_its_own_goals(self):
        for is_quick, goals in [(True, matrix.QUICK_TARGETS), (False, matrix.TARGETS)]:
            with tempfile.TemporaryDirectory() as folder:
                options = argparse.Namespace(out=folder, minutes=0, quick=is_quick, only=None)
                comparison = compare.Comparison(options, matrix.engines("lib.so"), matrix.experiments(is_quick))
                comparison.runs = runs_of(matrix.quick(), 1)
                comparison.write()
                with open(os.path.join(folder, "report.json"), encoding="utf-8") as file:
                    judged = {(t["experiment"], t["metric"], t["peer"], t["least"]) for t in json.load(file)["targets"]}
                with open(os.path.join(folder, "report.html"), encoding="utf-8") as file:
                    page = file.read()
            self.assertGreater(len(judged), 10)
            self.assertLessEqual(judged, set(goals))
            self.assertEqual("These are the goals of the quick run" in page, is_quick)
            self.assertEqual("Quick run with small sizes." in first_screen(page), is_quick)


def linear(colour):
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def contrast(one, other):
    light = sorted(0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in (linear(one), linear(other)))
    return (light[1] + 0.05) / (light[0] + 0.05)


def lab(colour, kind):
    seen = [min(1.0, max(0.0, sum(a * b for a, b in zip(row, linear(colour))))) for row in COLOUR_BLIND[kind]]
    xyz = [sum(a * b for a, b in zip(row, seen)) / white for row, white in [
        ((0.4124564, 0.3575761, 0.1804375), 0.95047), ((0.2126729, 0.7151522, 0.0721750), 1.0), ((0.0193339, 0.1191920, 0.9503041), 1.08883)]]
    x, y, z = [t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in xyz]
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


class Colours(unittest.TestCase):
    def test_every_colour_stands_out_from_the_page_in_light_and_dark(self):
        for name, pair in plot.COLOURS.items():
            for colour, back in zip(pair, plot.BACKGROUNDS):
                self.assertGreaterEqual(contrast(colour, back), 3, (name, colour))

    def test_colours_of_two_engines_differ_also_for_the_colour_blind(self):
        engines = [name for name in plot.COLOURS if name != "other"]
        for i, kind in itertools.product((0, 1), COLOUR_BLIND):
            for one, other in itertools.combinations(engines, 2):
                distance = sum((a - b) ** 2 for a, b in zip(lab(plot.COLOURS[one][i], kind), lab(plot.COLOURS[other][i], kind))) ** 0.5
                self.assertGreater(distance, 20, (("light", "dark")[i], kind, one, other))


if __name__ == "__main__":
    unittest.main()
