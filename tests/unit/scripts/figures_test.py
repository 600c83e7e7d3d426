#!/usr/bin/env python3
"""Goal: scripts/figures.py accepts the repository, refuses a figure that only a page has, and names page, line and figure.
Method: a copy of the pages and of the file of figures, of which each test changes one."""

import re
import unittest

from copied_tree import ROOT, CopiedTreeTest
import figures

# The pages with regions and those with measurements.
PAGES = {figures.FILE, *(path for path in figures.pages(ROOT) if "<!-- figures " in figures.read(ROOT, path)),
         *(f"docs/{figure.source.partition('#')[0]}" for figure in figures.Figures(ROOT).figures.values())}
PUT = '"values": {"mergedb": 0.523, "leveldb": 2.94, "rocksdb": 1.86, "lmdb": 2.98}'
PUT_CELLS = "| **0.523** | 2.94 | 1.86 | 2.98 |"


class FiguresTest(CopiedTreeTest):
    script = figures

    def setUp(self):
        super().setUp()
        self.copy(PAGES)

    def change(self, name, old, new):
        self.assertIn(old, self.text(name), name)
        self.rewrite(name, lambda text: text.replace(old, new, 1))

    def append(self, name, sentence):
        self.rewrite(name, lambda text: f"{text}\n{sentence}\n")

    def test_accepts_the_repository(self):
        self.expect_accepted()

    # ---- regions

    def test_names_the_figure_that_a_page_shows_otherwise(self):
        for page in figures.WHOLE_PAGES:
            with self.subTest(page=page):
                line = self.text(page).split("\n").index(next(each for each in self.text(page).split("\n") if PUT_CELLS in each)) + 1
                self.change(page, PUT_CELLS, PUT_CELLS.replace("0.523", "0.42"))
                self.expect_error(f"{page}:{line}", "put-100 differs", "0.523", "--write")
                self.assertEqual(self.run_script("--write")[0], 0)
                self.expect_as_in_the_repository(page)

    def test_names_the_figure_of_a_sentence(self):
        self.change("docs/guides/time-series.md", "0.523 us", "0.5 us")
        self.expect_error("docs/guides/time-series.md", "time-series-guide differs")

    def test_refuses_a_row_that_is_added_or_removed(self):
        row = next(line for line in self.text("README.md").split("\n") if PUT_CELLS in line) + "\n"
        for new in ("", row + row.replace("0.523", "0.1")):
            with self.subTest(new=new):
                self.change("README.md", row, new)
                self.expect_error("README.md", "differs")
                self.copy(["README.md"])

    def test_a_win_that_becomes_a_loss_changes_its_table(self):
        self.change(figures.FILE, PUT, PUT.replace("2.98", "0.25"))
        self.run_script("--write")
        faster, slower = re.split(r"\n## Where another", self.text("docs/comparison.md"))
        self.assertNotIn("| 0.523 |", faster)
        self.assertIn("| 0.523 | 2.94 | 1.86 | **0.25** |", slower)

    def test_a_row_of_another_option_says_so_and_comes_later(self):
        self.change(figures.FILE, '"what": "random puts of 100 B, compacted, write buffers of 4 MB", "unit": "us", "installed": true',
                    '"what": "random puts of 100 B, compacted, write buffers of 4 MB", "unit": "us", "installed": false')
        self.assertEqual(self.run_script("--write")[0], 0)
        rows = [line for line in self.text("README.md").split("\n") if line.startswith("| ")]
        at = next(i for i, line in enumerate(rows) if PUT_CELLS in line)
        self.assertIn("by calls", rows[at])
        self.assertTrue(all("by calls" in row or "damage" in row or "---" in row for row in rows[at:at + 3]), rows[at:at + 3])

    def test_refuses_wins_without_losses(self):
        text = self.text("docs/comparison.md")
        region = re.search(r"<!-- figures comparison slower -->\n.*?<!-- end -->\n", text, re.S).group()
        self.change("docs/comparison.md", region, "")
        self.expect_error("docs/comparison.md", "comparison faster without comparison slower")

    def test_refuses_a_region_that_is_not_whole(self):
        for old, new, words in (("<!-- end -->", "", "no line"), ("<!-- figures readme -->", "<!-- figures none -->", "no table or text none"),
                                ("<!-- figures readme -->", "", "no region begins"),
                                ("<!-- figures readme -->", "<!-- figures readme -->.", "whole line")):
            with self.subTest(new=new):
                self.copy(["README.md"])
                self.change("README.md", old, new)
                self.expect_error(figures.FILE, "README.md", words)

    # ---- numbers outside of the regions

    def test_refuses_what_looks_measured(self):
        for sentence in ("A get takes 3 us.", "A get takes 2.5.", "A put is 5.6 x as fast.", "A put is 12 times as fast.", "It is eight times as fast.",
                         "It takes twice the time.", "It takes a fifth of the time.", "It was right in 12 of 13.", "It saves 30 %.",
                         "Between 3 and 4 microseconds.", "It makes 200,000 puts a second.", "| a get | 12 |", "It takes `3 us`.",
                         "```\nget   # 3 us\n```", "It takes 3\nus."):
            with self.subTest(sentence=sentence):
                self.expect_measured("README.md", sentence)

    def test_refuses_it_on_each_whole_page(self):
        for page in figures.WHOLE_PAGES:
            with self.subTest(page=page):
                self.expect_measured(page, "A get takes 3 us.")

    def expect_measured(self, page, sentence):
        self.append(page, sentence)
        self.expect_error(page, "looks measured")
        self.copy([page])

    def test_accepts_other_numbers(self):
        self.append("README.md", "C++20, x86-64, JDK 17, `--num=300000`, [0072](docs/decisions/0072-mapped-by-default.md), RocksDB 11.8.1, 16-byte keys.")
        self.expect_accepted()

    def test_refuses_a_needless_exception(self):
        self.change(figures.FILE, '"Conan 2": "a version"', '"Conan 2": "a version",\n    "Conan 3": "a version"')
        self.expect_error(figures.FILE, "allowed of README.md", "Conan 3")

    def test_refuses_a_measured_number_in_a_template(self):
        self.change(figures.FILE, "A merge costs one write.", "A merge costs one write of 0.2 us.")
        self.run_script("--write")
        self.expect_error(figures.FILE, "text counters-guide", "0.2")

    # ---- the file

    def test_each_number_stands_in_its_source(self):
        self.change(figures.FILE, PUT, PUT.replace("0.523", "0.345"))
        self.run_script("--write")
        self.expect_error(figures.FILE, "figure put-100", "mergedb 0.345 does not stand in docs/benchmarks-full-run.md#random-100")

    def test_a_digit_more_is_another_number(self):
        self.change(figures.FILE, PUT, PUT.replace("2.94", "2.9"))
        self.run_script("--write")
        self.expect_error(figures.FILE, "figure put-100", "leveldb 2.9 does not stand")

    def test_refuses_a_source_that_is_gone(self):
        self.change("docs/benchmarks-full-run.md", "### sync-1: synced puts, 1 threads", "### synced puts")
        self.expect_error(figures.FILE, "figure sync-1", "there is no section")

    def test_refuses_a_file_that_contradicts_itself(self):
        for old, new, words in (
            ('"put-100": {"run": "full"', '"put-100": {"run": "fuller"', ["figure put-100", "no run fuller"]),
            ('"put-100": {"run"', '"a-put": {"run"', ["figures: a-put belongs before"]),
            ('"put-100": {"run"', '"peak-1k": {"run"', ["peak-1k: more than once"]),
            ('"put-100", "put-100-64m"', '"put-10", "put-100-64m"', ["no figure put-10"]),
            ('"unit": "us"', '"unit": "hours"', ["the unit hours is none of"]),
            (PUT, PUT.replace("lmdb", "lmbd"), ["figure put-100", "no engine lmbd"]),
            (PUT, PUT.replace("2.94", '"many"'), ["figure put-100, leveldb", "'many'"]),
            (PUT, PUT.replace('"mergedb": 0.523, ', ""), ["figure put-100", "no value of mergedb"]),
            ('"machine": "epyc"', '"machine": "other"', ["no machine other"]),
            ('"commit": "20b1abf",\n    ', "", ["run counters", "either commit or recorded"]),
            ('"peers": ["leveldb-1.23", "rocksdb-11.8.1"]', '"peers": ["rocksdb-11.8.1"]', ["0 builds of leveldb"]),
            ('"date": "2026-11-28"', '"date": "2026-11-20"', ["run ycsb", "sorted by date"]),
            ("{counters.mergedb}", "{counters.lmdb}", ["text counters-guide", "counters has no value of lmdb"]),
            ('"engines": {', '"engine": {', ["expected the sections"]),
            ('"allowed": {', '"allowed": ', ["not JSON"]),
        ):
            with self.subTest(new=new):
                self.copy([figures.FILE])
                self.change(figures.FILE, old, new)
                self.expect_error(figures.FILE, *words)

    def test_refuses_what_is_used_nowhere(self):
        self.change(figures.FILE, '  "xeon": "Intel', '  "vax": "one",\n  "xeon": "Intel')
        self.run_script("--write")
        self.expect_error(figures.FILE, "machine vax is used nowhere")

    def test_values_are_shown_as_they_were_written(self):
        for value, shown in (("0.30", "0.30"), ("1393", "1,393"), (["1.3", "0.96"], "1.3, 0.96"), ({"min": "3.9", "max": "4.1"}, "3.9-4.1"),
                             ({"count": "472", "of": "1014"}, "472 of 1,014")):
            self.assertEqual(", ".join(each.text for each in figures.passes(value)), shown)


if __name__ == "__main__":
    unittest.main()
