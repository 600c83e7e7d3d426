"""The report of ./dev bench, from made-up runs: ratios pair repetitions, targets are judged, page and Markdown hold it all."""

import argparse
import json
import os
import sys
import tempfile
import unittest
from unittest import mock
import xml.dom.minidom

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench"))

import compare  # noqa: E402
import matrix  # noqa: E402
import peers  # noqa: E402
import plot  # noqa: E402
import report  # noqa: E402
import report_page  # noqa: E402

ENGINES = [{"id": "mergedb", "title": "mergedb", "peer": ""}, {"id": "leveldb", "title": "LevelDB", "peer": "leveldb"},
           {"id": "rocksdb", "title": "RocksDB <leveled>", "peer": "rocksdb"},
           {"id": "rocksdb-universal", "title": "RocksDB universal", "peer": "rocksdb"}]


def step(name, ops, seconds, **more):
    rows = [[0.25 * i, ops * i // 4, 1000, 1, 1000] for i in range(1, 5)]
    return {"name": name, "ops": ops, "seconds": seconds, "cpu_user_seconds": seconds / 2, "cpu_system_seconds": 0,
            "bytes": ops * 116, "device_bytes_written": ops * 232, "disk_bytes": 100000, "disk_bytes_peak": 150000,
            "rss_bytes_peak": 1 << 20, "runs": 2, "samples": {"rows": rows}, **more}


def run(engine, repetition, load_seconds, drain_seconds=0.0):
    context = {"command": ["db_bench"], "key_size": 16, "value_size": 100, "num": 1000}
    steps = [step("fillrandom", 1000, load_seconds), step("waitforcompaction", 1, drain_seconds), step("readrandom", 500, 1.0)]
    return {"experiment": "random-100", "title": "random", "engine": engine, "repetition": repetition,
            "commands": [["db_bench", f"--engine={engine}"]], "result": {"context": context, "benchmarks": steps}}


class Report(unittest.TestCase):
    def test_a_change_is_charged_with_its_drain_and_the_read_that_folds(self):
        made = run("mergedb", 0, 1.0)
        made["result"]["benchmarks"] = [step("mergerandom", 1000, 2.0), step("waitforcompaction", 1, 1.0), step("foldall", 700, 0.5),
                                        step("readrandom", 500, 1.0)]
        figures = report.metrics_of(made)
        self.assertAlmostEqual(figures["mergerandom"]["wall"], 2000)
        self.assertAlmostEqual(figures["change + drain + read"]["wall"], 3500)

    def test_each_kind_of_operation_of_ycsb_has_its_percentiles(self):
        made = run("mergedb", 0, 1.0)
        latency = {"p50": 1.0, "p90": 2.0, "p99": 3.0, "p99.9": 4.0, "p99.99": 5.0}
        operations = {"read": {"ops": 500, "latency_us": latency}, "update": {"ops": 500}}
        made["result"]["benchmarks"] = [step("ycsbload", 1000, 1.0), step("waitforcompaction", 1, 0.5),
                                        step("ycsba", 1000, 2.0, operations=operations)]
        figures = report.metrics_of(made)
        self.assertAlmostEqual(figures["ycsbload + drain"]["wall"], 1500)
        self.assertAlmostEqual(figures["ycsba"]["wall"], 2000)
        self.assertEqual({name: figures[f"ycsba read {name}"]["wall"] for name in report.PERCENTILES},
                         {"p50": 1.0, "p99": 3.0, "p99.9": 4.0, "p99.99": 5.0})
        self.assertNotIn("ycsba update p50", figures)
        self.assertAlmostEqual(report.amplification_of(made)["ycsbload"]["space"], 100000 / 116000)
        text = report.markdown(report.summarize([made], ENGINES, {}, []))
        self.assertIn("| ycsba read p99.99 | 5 |", text)
        self.assertIn("| bytes on disk a live byte, drained, ycsbload |", text)

    def test_load_and_drain_add_up(self):
        figures = report.metrics_of(run("leveldb", 0, 2.0, 1.0))
        self.assertAlmostEqual(figures["fillrandom"]["wall"], 2000)
        self.assertAlmostEqual(figures["fillrandom + drain"]["wall"], 3000)
        self.assertAlmostEqual(figures["fillrandom + drain"]["cpu"], 1500)
        self.assertAlmostEqual(figures["readrandom"]["wall"], 2000)

    def test_ratios_pair_repetitions(self):
        runs = [run("mergedb", 0, 1.0), run("leveldb", 0, 5.0), run("mergedb", 1, 2.0), run("leveldb", 1, 12.0),
                run("leveldb", 2, 100.0)]
        row = next(r for r in report.gather(runs) if r["metric"] == "fillrandom")
        self.assertEqual(report.ratio(row, "leveldb"), (5.5, 5.0, 6.0))
        self.assertIsNone(report.ratio(row, "rocksdb"))

    def test_the_better_variant_of_a_peer_counts(self):
        runs = [run("mergedb", 0, 1.0), run("rocksdb", 0, 9.0), run("rocksdb-universal", 0, 4.0)]
        verdict, = report.judge(report.gather(runs), ENGINES, [("random-100", "fillrandom + drain", "rocksdb", 5)])
        self.assertEqual(verdict["engine"], "rocksdb-universal")
        self.assertFalse(verdict["is_reached"])

    def test_amplification_counts_the_drain_and_the_live_bytes(self):
        figures = report.amplification_of(run("leveldb", 0, 1.0))["fillrandom"]
        self.assertAlmostEqual(figures["write"], (1000 * 232 + 232) / 116000)
        self.assertAlmostEqual(figures["space"], 100000 / (116000 * (1 - 0.999 ** 1000)))

    def test_the_disk_has_a_column_for_each_moment(self):
        def size(megabytes):
            return {"allocated": megabytes * 1000000, "apparent": megabytes * 2000000}

        runs = [run("mergedb", 0, 1.0), run("leveldb", 0, 2.0)]
        runs[0]["result"]["benchmarks"][0].update(
            device_bytes_per_user_byte=2.25, device_bytes_per_user_byte_closed=3.125,
            directory_bytes={"largest": size(9), "drained": size(5), "closed": size(4)})
        runs[1]["result"]["benchmarks"][0].update(directory_bytes={"largest": size(7), "closed": size(6)})
        summary = report.summarize(runs, ENGINES, {}, [])
        text = report.markdown(summary)
        self.assertIn("| write | engine | device, until drained | device, after close and sync | directory, largest | "
                      "directory, drained | directory, closed |", text)
        self.assertIn("| fillrandom | mergedb | 2.25 | 3.12 | 9.0 (18.0) | 5.0 (10.0) | 4.0 (8.0) |", text)
        self.assertIn("| fillrandom | LevelDB | – | – | 7.0 (14.0) | – | 6.0 (12.0) |", text)
        self.assertIn("<td>9.0 (18.0)</td>", report_page.page(summary))

    def test_page_is_self_contained_and_escapes(self):
        runs = [run(e["id"], r, 1.0 + i, 0.5) for r in range(2) for i, e in enumerate(ENGINES)]
        summary = report.summarize(runs, ENGINES, {"CPU": "a <fast> one"}, matrix.TARGETS)
        page = report_page.page(summary)
        self.assertIn("RocksDB &lt;leveled&gt;", page)
        self.assertIn("a &lt;fast&gt; one", page)
        self.assertIn("--engine=leveldb", page)
        self.assertNotIn("<script", page)
        self.assertNotIn("http", page.replace("http-equiv", ""))
        for picture in page.split("<svg")[1:]:
            xml.dom.minidom.parseString("<svg" + picture.split("</svg>")[0] + "</svg>")

    def test_markdown_has_a_table_an_experiment_and_says_what_was_missed(self):
        runs = [run("mergedb", 0, 1.0), run("leveldb", 0, 4.0)]
        text = report.markdown(report.summarize(runs, ENGINES, {"CPU": "one"}, [("random-100", "fillrandom", "leveldb", 5)]))
        self.assertIn("| random-100: fillrandom | LevelDB | 5 | 4.00 MISSED | 4.00 |", text)
        self.assertIn("### random-100: random", text)
        self.assertIn("| fillrandom | 1,000 (500) | 4,000 (2,000), 4.00 x |", text)
        for line in text.splitlines():
            if line.startswith("| fillrandom"):
                self.assertEqual(line.count("|"), 4, line)

    def test_a_page_without_mergedb_or_runs_is_still_a_page(self):
        for runs in [[], [run("leveldb", 0, 1.0)]]:
            summary = report.summarize(runs, ENGINES, {}, matrix.TARGETS)
            self.assertIn("<html", report_page.page(summary))
            self.assertIn("# A full run", report.markdown(summary))
            self.assertIn("# A quick run", report.markdown(report.summarize(runs, ENGINES, {}, matrix.TARGETS, is_quick=True)))
            summary["environment"]["experiments"] = "those with counter in their names"
            self.assertIn("# A run of some experiments", report.markdown(summary))


class Matrix(unittest.TestCase):
    def test_targets_name_experiments_and_engines_that_exist(self):
        peers = {e.peer for e in matrix.engines("lib.so")}
        ids = {x.id for x in matrix.full()}
        for experiment, _, peer, _ in matrix.TARGETS:
            self.assertIn(experiment, ids)
            self.assertIn(peer, peers)

    def test_experiments_run_engines_that_exist(self):
        known = {e.id for e in matrix.engines("lib.so", {"fjall": "f.so", "pebble": "p.so"})}
        for experiment in matrix.quick() + matrix.full():
            self.assertLessEqual(set(experiment.engines or []), known)

    def test_divided_experiments_have_fewer_keys_and_operations_and_nothing_else(self):
        flags = ["--num=300000", "--writes=75000", "--reads=20000", "--value_size=1000", "--threads=4", "--write_buffer_size=65536"]
        experiment = matrix.Experiment("id", "title", flags, ["ycsbload"], engines=["mergedb"], repeat_max=2)
        self.assertEqual(matrix.divided(experiment, 100), matrix.Experiment("id", "title", [
            "--num=3000", "--writes=750", "--reads=200", "--value_size=1000", "--threads=4", "--write_buffer_size=65536"], ["ycsbload"],
            engines=["mergedb"], repeat_max=2))
        self.assertIn("--writes=100", matrix.divided(experiment, 1_000_000).flags)

    def test_a_full_run_has_all_workloads_of_ycsb_and_a_quick_one_has_none(self):
        workloads = {f"ycsb{letter}" for letter in "abcdef"}
        full = {step for x in matrix.full() if x.id.startswith("ycsb") for step in x.benchmarks}
        self.assertEqual(full, workloads | {"ycsbload", matrix.DRAIN})
        self.assertFalse({step for x in matrix.quick() for step in x.benchmarks} & workloads)
        for experiment in (x for x in matrix.full() if x.id.startswith("ycsb")):
            self.assertEqual(experiment.benchmarks[0], "ycsbload")

    def test_ten_million_operations_of_ycsb_run_only_by_name(self):
        def planned(*flags):
            with mock.patch.object(sys, "argv", ["compare.py", "--list", *flags]), mock.patch("builtins.print") as printed:
                compare.main()
            return [call.args[1] for call in printed.call_args_list]
        self.assertFalse([line for line in planned() if "--writes=10000000 " in line and "ycsb" in line])
        self.assertFalse([line for line in planned("--only", "ycsb") if "--writes=10000000 " in line])
        named = planned("--only", "10m")
        for flags in ("--writes=10000000 --threads=1", "--writes=2500000 --threads=4", "--writes=1000000 --threads=1", "--distribution=uniform"):
            self.assertTrue([line for line in named if flags in line], flags)
        self.assertFalse([line for line in named if "ycsb" not in line])

    def test_ticks_reach_the_top(self):
        for top in (0.3, 1, 7, 99, 12345):
            self.assertGreaterEqual(plot.nice_ticks(top)[-1], top)


class Peers(unittest.TestCase):
    def test_named_peers_are_built_and_no_others(self):
        for peers_flag, engines_flag, named in [("", None, []), ("all", None, ["fjall", "pebble"]), ("pebble", "mergedb", ["pebble"]),
                                                ("", "mergedb,fjall", ["fjall"])]:
            options = argparse.Namespace(peers=peers_flag, engines=engines_flag)
            self.assertEqual(compare.peers_of(options), named)

    def test_a_peer_without_its_tool_is_left_out_with_a_reason(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(peers.shutil, "which", return_value=None):
            built, notes = peers.build_all(["fjall", "pebble"], folder)
        self.assertEqual(built, {})
        self.assertEqual(notes, ["fjall is left out: there is no cargo", "pebble is left out: there is no go"])
        self.assertNotIn("fjall", {e.id for e in matrix.engines(None, built)})

    def test_a_failed_build_is_told_with_its_error(self):
        with tempfile.TemporaryDirectory() as folder:
            tool = os.path.join(folder, "cargo")
            with open(tool, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\necho some words\necho 'error: no network'\necho the end\nexit 1\n")
            os.chmod(tool, 0o755)
            with mock.patch.object(peers.shutil, "which", return_value=tool), mock.patch("builtins.print"):
                built, notes = peers.build_all(["fjall"], os.path.join(folder, "out"))
        self.assertEqual((built, notes), ({}, ["fjall is left out: cargo build failed: error: no network"]))


class Continue(unittest.TestCase):
    def test_what_was_measured_with_other_flags_is_run_again(self):
        with tempfile.TemporaryDirectory() as folder:
            made = run("leveldb", 0, 1.0)
            made["commands"] = [["db_bench", "--num=1"]]
            with open(os.path.join(folder, "report.json"), "w", encoding="utf-8") as file:
                json.dump({"runs": [made], "environment": {"load when it began": "0"}}, file)
            for num, kept in [(1, 1), (2, 0)]:
                options = argparse.Namespace(out=folder, minutes=0)
                experiment = matrix.Experiment("random-100", "random", [f"--num={num}"], ["fillrandom"])
                comparison = compare.Comparison(options, [], [experiment])
                comparison.resume()
                self.assertEqual(len(comparison.runs), kept)


class MemoryLimit(unittest.TestCase):
    def test_a_plain_directory_is_no_control_group(self):
        with tempfile.TemporaryDirectory() as plain, mock.patch.object(compare.MemoryLimit, "ROOTS", [(plain, "memory.max")]):
            limit = compare.MemoryLimit(1 << 29)
            self.assertIsNone(limit.folder)
            limit.close()
            self.assertEqual(os.listdir(plain), [])


if __name__ == "__main__":
    unittest.main()
