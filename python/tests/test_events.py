"""Listeners, the file LOG, metrics and traces. The method: small databases; listeners that raise, call and close."""

import os
import sys
import threading
import time
import unittest
import weakref

import mergedb_kv
from support import DatabaseCase

HOUR_US = 3600 * 1000 * 1000


class EventsTest(DatabaseCase):
    def test_a_listener_gets_events_and_the_log_has_them(self):
        events, path = [], self.path + "2"
        with mergedb_kv.open(path, listener=events.append, log_bytes_max=64 << 10, slow_call_us=1, keep_space_at_rest=True) as db:
            for i in range(1000):
                db[b"%d" % i] = b"x" * 100
            db.flush()
        named = {event.name: event for event in events}
        flushed = named["flush_end"]
        self.assertGreater(flushed.fields["bytes"], 0)
        self.assertEqual(flushed.fields["status"], "OK")
        self.assertIn('"event":"slow_call"', named["slow_call"].json)
        self.assertLess(abs(time.time() - flushed.time), 3600)
        self.assertIn("close", named)
        with open(os.path.join(path, "LOG")) as file:
            self.assertIn("flush_end", file.read())

    def test_a_listener_may_call_its_database_and_close_it(self):
        opened, closed, values = threading.Event(), threading.Event(), []

        def listener(event):
            opened.wait()
            if event.name == "flush_end":
                values.append(db[b"a"])
                db.close()
                closed.set()

        db = mergedb_kv.open(self.path + "2", listener=listener)
        db[b"a"] = b"1"
        opened.set()
        try:
            db.flush()
        except mergedb_kv.ClosedError:
            pass
        self.assertTrue(closed.wait(60))
        self.assertEqual(values, [b"1"])
        self.assertTrue(db.closed)

    def test_an_exception_of_a_listener_ends_at_the_call(self):
        raised, names = [], []

        def listener(event):
            names.append(event.name)
            raise ValueError(event.name)

        hook, sys.unraisablehook = sys.unraisablehook, lambda given: raised.append(str(given.exc_value))
        try:
            with mergedb_kv.open(self.path + "2", listener=listener) as db:
                db[b"a"] = b"1"
                db.flush()
        finally:
            sys.unraisablehook = hook
        self.assertIn("flush_end", names)
        self.assertEqual(raised, names)

    def test_a_failed_open_and_a_close_drop_the_listener(self):
        class Listener:
            def __call__(self, event):
                pass

        for bad in ({"block_bytes": 1}, {"mode": 99}, {"mode": mergedb_kv.Mode.MUST_EXIST}, {}):
            listener = Listener()
            dropped = weakref.ref(listener)
            if bad:
                with self.assertRaises(mergedb_kv.Error):
                    mergedb_kv.open(self.path + "2", listener=listener, **bad)
            else:
                mergedb_kv.open(self.path + "2", listener=listener).close()
            del listener
            self.assertIsNone(dropped(), bad)

    def test_a_listener_must_be_callable(self):
        self.assertRaises(TypeError, mergedb_kv.open, self.path + "2", listener=1)

    def test_options_at_their_limits(self):
        for good in ({"log_bytes_max": 16 << 10}, {"log_bytes_max": 1 << 30}, {"slow_call_us": 1}, {"slow_call_us": HOUR_US}):
            mergedb_kv.open(self.path + "2", **good).close()
        for bad in ({"log_bytes_max": (16 << 10) - 1}, {"log_bytes_max": (1 << 30) + 1}, {"slow_call_us": HOUR_US + 1}):
            self.assertRaises(mergedb_kv.InvalidArgumentError, mergedb_kv.open, self.path + "2", **bad)
        self.assertRaises(ValueError, mergedb_kv.open, self.path + "2", slow_call_us=-1)

    def test_each_option_has_a_type_and_a_sentence(self):
        documented = mergedb_kv.OpenOptions.__annotations__
        for name in documented:
            self.assertRegex(mergedb_kv.open.__doc__, rf"\b{name}\b")
            mergedb_kv.open(self.path + "2", **{name: None} if name != "durability" else {}).close()

    def test_metrics(self):
        self.fill(100)
        self.db.flush()
        named = {metric.name: metric for metric in self.db.metrics()}
        self.assertEqual((named["flushes"].value, named["flushes"].is_gauge), (1, False))
        self.assertTrue(named["flushes"].unit and named["flushes"].help)
        self.db.close()
        self.assertRaises(mergedb_kv.ClosedError, self.db.metrics)

    def test_a_trace_records_the_calls(self):
        file = self.path + ".trace"
        self.assertRaises(mergedb_kv.InvalidArgumentError, self.db.end_trace)
        self.db.start_trace(file, record_values=True)
        self.assertRaises(mergedb_kv.BusyError, self.db.start_trace, file + "2")
        self.db[b"a"] = b"1"
        self.db.get(b"a")
        report = self.db.end_trace()
        self.assertEqual((report.operations, report.lost, report.is_full), (2, 0, False))
        self.assertEqual(os.path.getsize(file), report.bytes)
        self.assertRaises(mergedb_kv.InvalidArgumentError, self.db.start_trace, file)
        self.assertRaises(mergedb_kv.InvalidArgumentError, self.db.start_trace, file + "3", bytes_max=1)
        self.assertRaises(TypeError, self.db.start_trace, file + "3", sampling=-1)


if __name__ == "__main__":
    unittest.main()
