"""Each program of examples/python prints what it should. tests/examples/run.py does the same with those in C and C++."""

import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Examples(unittest.TestCase):
    def test_each_prints_what_it_should(self):
        command = [sys.executable, ROOT / "tests/examples/run.py", ROOT / "examples/python", sys.executable]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
