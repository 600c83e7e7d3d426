#!/usr/bin/env python3
"""Goal: scripts/thread_safety.py finds a member that is used without its mutex, also through a header, and reads a source
again if a header of it has changed. Method: a small tree with the true base/sync.h."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
HEADER = """#include "base/sync.h"
class Counter {
 public:
  void Add() {
    mergedb::base::Lock lock(mutex_);
    AddLocked();
  }
  void AddLocked() REQUIRES_LOCK(mutex_) { ++count_; }

 private:
  mergedb::base::Mutex mutex_;
  int count_ GUARDED_BY(mutex_) = 0;
};
"""
SOURCE = '#include "kv/counter.h"\nvoid Use(Counter& counter) { counter.Add(); }\n'


class ThreadSafetyTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        os.makedirs(os.path.join(self.root, "src/base"))
        for name in ("sync.h", "schedule_point.h"):
            shutil.copy(os.path.join(ROOT, "src/base", name), os.path.join(self.root, "src/base", name))
        self.write("CMakeLists.txt", "project(mergedb VERSION 1.2.3 LANGUAGES CXX)\n")
        self.write("src/kv/counter.h", HEADER)
        self.write("src/kv/counter.cc", SOURCE)
        self.write("src/kv/without_locks.cc", "not C++\n")

    def write(self, path, text):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)

    def check(self):
        script = os.path.join(ROOT, "scripts/thread_safety.py")
        done = subprocess.run([sys.executable, script, "--root", self.root], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=200, check=False)
        return done.returncode, done.stdout

    def test_accepts_what_holds_its_mutex(self):
        code, text = self.check()
        self.assertEqual(code, 0, text)
        self.assertIn("thread safety: 1 sources, 3 headers", text)

    def test_finds_a_call_without_the_mutex(self):
        self.write("src/kv/counter.cc", SOURCE.replace("counter.Add()", "counter.AddLocked()"))
        code, text = self.check()
        self.assertEqual(code, 1)
        self.assertIn("src/kv/counter.cc:2:", text)
        self.assertIn("calling function 'AddLocked' requires holding mutex 'counter.mutex_'", text)

    def test_reads_a_source_again_whose_header_has_changed(self):
        self.assertEqual(self.check()[0], 0)
        self.write("src/kv/counter.h", HEADER.replace("    mergedb::base::Lock lock(mutex_);\n", ""))
        code, text = self.check()
        self.assertEqual(code, 1)
        self.assertIn("src/kv/counter.h:5:", text)

    def test_does_not_remember_a_source_that_failed(self):
        self.write("src/kv/counter.cc", SOURCE.replace("counter.Add()", "counter.AddLocked()"))
        self.assertEqual([self.check()[0], self.check()[0]], [1, 1])


if __name__ == "__main__":
    unittest.main()
