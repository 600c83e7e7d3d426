"""The base of the tests of scripts that check the repository: each test changes a copy of the files that the script reads."""

import contextlib
import io
import os
import shutil
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "scripts"))


class CopiedTreeTest(unittest.TestCase):
    script = None  # the module, whose main takes --root

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def copy(self, paths):
        """Copies files of the repository, again if they are there."""
        for path in paths:
            os.makedirs(os.path.dirname(self.path(path)), exist_ok=True)
            shutil.copy(os.path.join(ROOT, path), self.path(path))

    def path(self, name):
        return os.path.join(self.directory.name, name)

    def text(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def rewrite(self, name, function):
        """Writes function(text) in the place of the text of the file. They must differ."""
        text = self.text(name)
        changed = function(text)
        self.assertNotEqual(changed, text, name)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(changed)

    def run_script(self, *arguments):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            code = self.script.main(["--root", self.directory.name, *arguments])
        return code, printed.getvalue()

    def expect_error(self, path, *words):
        code, text = self.run_script()
        self.assertEqual(code, 1, text)
        lines = [line for line in text.splitlines() if line.startswith(path + ":") and all(word in line for word in words)]
        self.assertEqual(len(lines), 1, text)

    def expect_accepted(self):
        code, text = self.run_script()
        self.assertEqual(code, 0, text)

    def expect_as_in_the_repository(self, path):
        with open(os.path.join(ROOT, path), encoding="utf-8") as original:
            self.assertEqual(self.text(path), original.read())
