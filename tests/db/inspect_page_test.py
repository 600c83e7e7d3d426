#!/usr/bin/env python3
"""Goal: a browser draws the page of `mergedb inspect` and shows what its data says. Method: Chromium prints the document
after the script of the page; its texts are compared. Without Chromium the test is skipped.

  inspect_page_test.py BUILD_DIRECTORY [unittest arguments]
"""

import html.parser
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

MERGEDB = os.path.join(os.path.abspath(sys.argv[1]), "bin", "mergedb")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
LOG = """\
{"time":"2026-11-25T12:00:00.000000Z","event":"open","micros":1500,"runs":0,"read_only":0}
{"time":"2026-11-25T13:00:00.000000Z","event":"flush_end","bytes":2000000,"table":2,"micros":9,"status":"OK"}
{"time":"2026-11-25T14:01:00.000000Z","event":"compaction_end","job":1,"reason":"tier_full","bytes_read":5000000,\
"bytes_written":4000000,"entries_in":90000,"entries_out":78766,"micros":60000000,"status":"OK"}
{"time":"2026-11-25T15:00:00.000000Z","event":"stall_end","cause":"memory","micros":2500000}
{"time":"2026-11-25T16:00:00.000000Z","event":"slow_call","call":"get","micros":120000}
{"time":"2026-11-26T11:00:00.000000Z","event":"error","work":"flush","status":"IOError: <b>full</b>"}
"""


class Texts(html.parser.HTMLParser):
    """The texts of a document, without scripts and styles, and the number of elements of each class."""

    def __init__(self, document):
        super().__init__()
        self.text, self.classes, self.hidden = "", {}, False
        self.feed(document)

    def handle_starttag(self, tag, attrs):
        self.hidden = tag in ("script", "style", "noscript")
        for name in (dict(attrs).get("class") or "").split():
            self.classes[name] = self.classes.get(name, 0) + 1
        self.text += " " if tag in ("p", "div", "h1", "h2", "h3", "td", "th", "br") else ""

    def handle_endtag(self, tag):
        self.hidden = False

    def handle_data(self, data):
        self.text += "" if self.hidden else data


@unittest.skipIf(BROWSER is None, "it needs a browser (Debian: chromium)")
class Page(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="mergedb-inspect-", ignore_cleanup_errors=True)
        self.addCleanup(scratch.cleanup)
        self.home, self.database = scratch.name, os.path.join(scratch.name, "db")

    def mergedb(self, *words, **options):
        return subprocess.run([MERGEDB, *words], check=True, timeout=120, text=True, stdout=subprocess.PIPE, **options).stdout

    def drawn(self):
        page = os.path.join(self.home, "page.html")
        self.mergedb("inspect", self.database, "--html", page)
        done = subprocess.run([BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={self.home}/profile",
                               "--virtual-time-budget=5000", "--dump-dom", f"file://{page}"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=300, check=False)
        self.assertIn("Made by mergedb inspect", done.stdout)
        drawn = Texts(done.stdout)
        drawn.text = re.sub(r"\s+", " ", drawn.text)
        return drawn

    def test_an_empty_database_has_no_drawing(self):
        self.mergedb("put", self.database, "a", "v")
        drawn = self.drawn()
        for text in ("It has no sorted run yet", "No process has the database open for writes", "It is not known: the directory",
                     "While writes come. No compaction is needed.", "One second after the last write. The same."):
            self.assertIn(text, drawn.text)
        for text in ("The sorted runs over the keys", "Large values", "The runs in figures"):
            self.assertNotIn(text, drawn.text)

    def test_runs_keys_values_and_history(self):
        large = "".join(f"large{i}\t{random.randbytes(2000).hex()}\n" for i in range(1500))  # so many that blob files are made
        self.mergedb("load", self.database, input=f"</script><script>alert(1)</script>\tv\n{large}plum\tv\n", stderr=subprocess.DEVNULL)
        self.mergedb("compact", self.database)
        with open(os.path.join(self.database, "LOG"), "w", encoding="utf-8") as log:
            log.write(LOG)
        drawn = self.drawn()
        for text in (self.database, "Its tables hold 1,502 entries.", "sorted runs: a read may have to look into each of them",
                     "run 1 (the only one)", "</script><script>alert(1)</s...", "the largest key: plum",
                     "Runs that have a key here; highest column 1", "is known only beside a process", "blob file ", " in use, 0 B garbage",
                     "MB are in use, 0 B are garbage.", "many runs of one level gather", "Level 1000 is the bottom",
                     "History: the last 23.0 h in LOG", "1 flush wrote 2.0 MB from memory to new runs.",
                     "For 2.5 s in all, writers waited for memory: a flush had to end first.",
                     "1 call was slow; the slowest one took 120.0 ms.",
                     "enough new runs have gathered; together they become one 1 0 5.0 MB 4.0 MB 11,234 60.0 s 0",
                     "25 Nov 12:00:00 opened in 1.5 ms", "26 Nov 11:00:00 ERROR of flush: IOError: <b>full</b>",
                     "25 Nov 12:00"):
            self.assertIn(text, drawn.text)
        self.assertNotIn("room for twice as much", drawn.text)
        self.assertEqual(drawn.classes["lane"], 1)
        self.assertEqual(drawn.classes["columns"], 3)  # overlap, bytes written, waits

    def test_a_process_that_has_the_database_open(self):
        self.mergedb("load", self.database, input="a\tv\n", stderr=subprocess.DEVNULL)
        self.mergedb("compact", self.database)
        with subprocess.Popen([MERGEDB, "load", self.database], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as writer:
            writer.stdin.write("b\tv\n" * 1000)
            writer.stdin.flush()
            deadline = time.monotonic() + 60
            while "It is open in process" not in (text := self.drawn().text):
                self.assertLess(time.monotonic(), deadline, text)
                time.sleep(0.5)
            writer.stdin.close()
        for each in ("In each of the last seconds: ", "written by compactions.", "Nothing limits the database."):
            self.assertIn(each, text)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
