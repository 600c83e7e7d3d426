"""./dev bench --only scale (bench/scale.py) with a few entries: all phases on a real db_bench, a second call after a failed
phase, and what the runner refuses. The first argument is db_bench.
"""

import contextlib
import fcntl
import io
import json
import os
import shlex
import shutil
import sys
import tempfile
import unittest
from unittest import mock
import xml.dom.minidom

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench"))

import compare  # noqa: E402
import matrix  # noqa: E402
import report  # noqa: E402
import report_page  # noqa: E402
import scale  # noqa: E402
import scale_report  # noqa: E402

DB_BENCH = os.path.join(ROOT, "build", "dev", "bin", "db_bench")
ENTRIES = 2000


class Folder(unittest.TestCase):
    def setUp(self):
        self.out = tempfile.mkdtemp(prefix="mergedb-scale-")
        self.addCleanup(shutil.rmtree, self.out)
        small = mock.patch.object(scale, "FLAGS", ["--write_buffer_size=1048576", *matrix.COMMON])  # opens after kill -9 are fast
        small.start()
        self.addCleanup(small.stop)

    def call(self, *flags, db_bench=None):
        """Runs scale.py; returns (exit status, output and errors)."""
        words = ["scale.py", f"--scale-entries={ENTRIES}", f"--out={self.out}", f"--db_bench={db_bench or DB_BENCH}", "--rest=0",
                 "--write-seconds=0.1", *flags]
        output = io.StringIO()
        with mock.patch.object(sys, "argv", words), contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            status = scale.main()
        return status, output.getvalue()

    def path(self, name):
        return os.path.join(self.out, name)

    def text(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def summary(self):
        return json.loads(self.text("scale.json"))


class Run(Folder):
    def failing_db_bench(self):
        """A db_bench that fails in overwrites, once."""
        path = self.path("db_bench")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\ncase $1 in *overwrite*) mkdir {shlex.quote(self.path("failed"))} 2>/dev/null && '
                       f'{{ echo "overwrite: no space" >&2; exit 1; }} ;; esac\nexec {shlex.quote(DB_BENCH)} "$@"\n')
        os.chmod(path, 0o755)
        return path

    def check_phases(self, configurations):
        summary = self.summary()
        self.assertEqual([(r["configuration"], r["phase"]) for r in summary["phases"]],
                         [(c, phase) for c in configurations for phase in scale.Scale.PHASES])
        for record in summary["phases"]:
            entries = ENTRIES if record["configuration"] == "100" else ENTRIES // 5
            first = record["runs"][0]["steps"][0]
            operations = {"tenth": entries // 10, "load": entries, "overwrite": entries // 5, "kill": entries}
            self.assertEqual(first["ops"], operations.get(record["phase"], entries), record["phase"])
            for run in record["runs"] if record["phase"] in ("get", "get-zipfian", "kill") else []:
                self.assertEqual(run["steps"][0]["found"], entries, record["phase"])
        return summary

    def test_a_call_goes_on_after_the_last_finished_phase(self):
        db_bench = self.failing_db_bench()
        status, text = self.call("--unbounded", "--sizes=100", db_bench=db_bench)
        self.assertEqual(status, 1, text)
        self.assertIn("FAILED: db_bench ended with 1: overwrite: no space", text)
        self.assertEqual([r["phase"] for r in self.summary()["phases"]], ["tenth", "load"])
        kept = self.text("scale/mergedb-100-load.json")

        status, text = self.call("--unbounded", "--sizes=100", db_bench=db_bench)
        self.assertEqual(status, 0, text)
        self.assertIn("2 of 7 phases were finished by earlier calls; this call goes on with mergedb, 100, overwrite", text)
        self.assertEqual(self.text("scale/mergedb-100-load.json"), kept)
        summary = self.check_phases(["100"])
        self.assertIn("mergedb, 100, overwrite: repeated after an interruption", self.text("scale.md"))
        self.assertEqual([r["was_interrupted"] for r in summary["phases"]].count(True), 1)
        self.assertEqual([run["is_cold"] for run in summary["phases"][-1]["runs"]], [False, False, True])
        self.assertNotIn("mergedb-100-db", os.listdir(self.path("scale")))
        for record in summary["phases"][:3]:
            series = record["runs"][0]["series"]
            self.assertEqual({len(row) for row in series["rows"]}, {len(series["columns"])})
            self.assertEqual(series["rows"][-1][1], record["runs"][0]["steps"][0]["ops"])

        status, text = self.call("--unbounded", "--sizes=100")
        self.assertEqual(status, 0, text)
        self.assertIn("7 of 7 phases were finished by earlier calls; this call has nothing to run; --restart", text)

    def test_the_figures_and_a_section_of_the_page(self):
        with open(self.path("report.json"), "w", encoding="utf-8") as file:
            json.dump(report.summarize([], [], {"CPU": "one"}, []), file)
        status, text = self.call("--unbounded", "--sizes=1k")
        self.assertEqual(status, 0, text)
        summary = self.check_phases(["1k"])
        markdown = self.text("scale.md")
        self.assertIn("| NONE: the phases of this call had the whole machine |", markdown)
        self.assertIn("A small run", markdown)
        for name in ("load: device bytes a user byte", "open after kill -9", "indexes and filters of the open tables", "seek, uniform: us"):
            self.assertRegex(markdown, rf"\| {name}[^|]*\|[^|]+\|")
        self.assertEqual(markdown.count("slowest open after kill -9"), 1)
        page = self.text("report.html")
        self.assertIn("<h2>A database larger than the memory</h2>", page)
        self.assertEqual(page, report_page.page(json.loads(self.text("report.json")), summary))
        for picture in page.split("<svg")[1:]:
            xml.dom.minidom.parseString("<svg" + picture.split("</svg>")[0] + "</svg>")


class Refusals(Folder):
    def test_without_a_control_group_it_runs_nothing(self):
        with mock.patch.object(compare.MemoryLimit, "ROOTS", [(self.out, "memory.max")]):
            status, text = self.call()
        self.assertEqual(status, 2)
        self.assertIn("--unbounded runs with the whole machine", text)
        self.assertEqual(os.listdir(self.out), [])

    def test_phases_of_other_settings_are_neither_used_nor_removed(self):
        self.assertEqual(self.call("--unbounded", "--minutes=0")[0], 0)
        kept = os.path.join(self.out, "scale", "mergedb-100-tenth.json")
        with open(kept, "w", encoding="ascii"):
            pass
        status, text = self.call("--unbounded", "--scale-entries=3000")
        self.assertEqual(status, 2)
        self.assertIn("has phases of other settings (entries); --restart removes them", text)
        self.assertTrue(os.path.exists(kept))
        self.assertEqual(self.call("--unbounded", "--scale-entries=3000", "--minutes=0", "--restart")[0], 0)
        self.assertFalse(os.path.exists(kept))

    def test_a_second_call_at_the_same_time_is_refused(self):
        with open(self.path("scale.lock"), "w", encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            status, text = self.call("--unbounded", "--minutes=0", "--restart")
            self.assertEqual(status, 2)
            self.assertIn("another call runs in", text)
            self.assertFalse(os.path.exists(self.path("scale")))
        self.assertEqual(self.call("--unbounded", "--minutes=0")[0], 0)

    def test_the_time_of_all_calls_counts(self):
        self.call("--unbounded", "--minutes=0")
        settings = json.loads(self.text("scale/settings.json"))
        settings["seconds"] = 3600
        with open(self.path("scale/settings.json"), "w", encoding="utf-8") as file:
            json.dump(settings, file)
        status, text = self.call("--unbounded", "--minutes=60")
        self.assertEqual(status, 0)
        self.assertIn("mergedb, 100, tenth: the 60 minutes are over; a call with more --minutes goes on here", text)
        self.assertEqual(self.summary()["phases"], [])

    def test_a_disk_that_is_too_small_is_told(self):
        with mock.patch.object(scale.shutil, "disk_usage", return_value=mock.Mock(free=3 << 30)):
            status, text = self.call("--unbounded", "--sizes=1k", "--scale-entries=100000000")
        self.assertEqual(status, 1)
        self.assertIn("36.7 GB of free disk space are needed, 3.2 GB are free", text)

    def test_a_lost_database_is_loaded_again(self):
        self.call("--unbounded", "--minutes=0")
        for phase in ("tenth", "load", "get"):
            with open(self.path(f"scale/mergedb-100-{phase}.json"), "w", encoding="ascii") as file:
                file.write('{"phase": "x"}')
        with mock.patch.object(scale.Scale, "write_report"), contextlib.suppress(FileNotFoundError):
            text = self.call("--unbounded", "--minutes=0")[1]
            self.assertIn("the database of mergedb, 2,000 entries of 100 B, is gone; it is loaded again", text)
        self.assertEqual(sorted(name for name in os.listdir(self.path("scale")) if name.endswith(".json")),
                         ["mergedb-100-tenth.json", "settings.json"])


class Parts(unittest.TestCase):
    def test_reads_that_find_less_are_a_failure(self):
        check = scale.Scale.check_found
        check(None, [{"found": 10}], 10)
        with self.assertRaisesRegex(scale.Stopped, "10 keys were read, 9 of them were found: entries are lost"):
            check(None, [{"found": 10}, {"found": 9}], 10)

    def test_a_series_goes_on_through_the_wait(self):
        columns = ["seconds", "ops", "disk_bytes", "runs", "device_bytes_written", "pending_compaction_bytes", "rss_bytes"]
        load = {"name": "filluniquerandom", "ops": 50, "seconds": 3.1, "device_bytes_written": 900,
                "samples": {"columns": columns, "rows": [[t, 10 * t, 7, 5, 100 * t, 3, 4] for t in (0.5, 1, 1.5, 2, 3)]}}
        wait = {"name": "waitforcompaction", "ops": 1, "seconds": 1.0, "device_bytes_written": 400,
                "samples": {"columns": columns, "rows": [[0.5, 0, 6, 2, 50, 1, 4], [1.25, 1, 6, 1, 90, 0, 4]]}}
        series = scale.series_of([load, wait])
        self.assertEqual(series["columns"], columns)
        self.assertEqual([row[:5] for row in series["rows"]],
                         [[0.5, 5, 7, 5, 50], [1.5, 15, 7, 5, 150], [3, 30, 7, 5, 300], [4.25, 50, 6, 1, 990]])

    def test_counters_are_told_from_other_lines(self):
        self.assertEqual(scale.counters_of("Keys:       16 bytes each\n\nruns 3\ntable_memory_bytes 120\nfound 5 of 6\nreadrandom   : 5 micros/op;\n"),
                         {"runs": 3, "table_memory_bytes": 120})

    def test_a_missed_limit_is_told(self):
        def load(ops, seconds, wait):
            return {"runs": [{"steps": [{"ops": ops, "seconds": seconds}, {"ops": 1, "seconds": wait}]}]}

        records = {"tenth": load(1000, 0.5, 0.5), "load": load(10000, 10, 2.5),
                   "kill": {"runs": [{"open_seconds": 0.5, "is_cold": False}, {"open_seconds": 0.9, "is_cold": True}]}}
        targets = scale_report.targets_of(records)
        self.assertEqual([(measured, is_reached) for _, measured, _, is_reached in targets], [("1.25 x", False), ("0.900 s", True)])


if __name__ == "__main__":
    if len(sys.argv) > 1 and os.path.exists(sys.argv[1]):
        DB_BENCH = sys.argv.pop(1)
    unittest.main()
