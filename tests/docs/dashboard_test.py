"""The Grafana dashboard docs/grafana/mergedb.json: its queries use metrics that mergedb has, as their types demand, and
Grafana finds what it needs.

The metrics are those of docs/METRICS.md, which unit_db_test compares with the registry.
"""

import json
import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DASHBOARD = os.path.join(ROOT, "docs", "grafana", "mergedb.json")
COLUMNS = 24
# The command adds it to the metrics of the file LIVE (tools/mergedb/live_view.cc).
ADDED = {"mergedb_live_age_seconds": "gauge"}
RANGE = "[$__rate_interval]"


def registry(page):
    """Returns {name for Prometheus: type} of the tables of METRICS.md."""
    found = dict(ADDED)
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == 7 and (name := re.fullmatch(r"`(mergedb_\w+)`", cells[4])):
            found[name.group(1)] = cells[3]
    return found


def wrong(query, metrics):
    """Returns what is wrong with the metrics of a query, or None."""
    text = query
    for function in re.finditer(r"(rate|increase)\((mergedb_\w+)\{database=\"\$database\"\}\[\$__rate_interval\]\)", query):
        name = function.group(2)
        base = re.sub(r"_(bucket|sum|count)$", "", name)
        if metrics.get(name) != "counter" and metrics.get(base) != "histogram":
            return f"{function.group(1)} of {name}, which is no counter and no part of a histogram"
        if base != name and name.endswith("_bucket") and "sum by (le) (" + function.group(0) not in query:
            return f"buckets of {name} without sum by (le)"
        text = text.replace(function.group(0), "")
    for name, selector in re.findall(r"(mergedb_\w+)(\{[^}]*\})?", text):
        if selector != '{database="$database"}':
            return f"{name} of all databases"
        longest = name.replace("_max_seconds", "_seconds")
        if metrics.get(name) != "gauge" and not (longest != name and metrics.get(longest) == "histogram"):
            return f"{name} is no gauge"
    if (query.count("histogram_quantile(") > 0) != ("_bucket{" in query):
        return "a quantile needs buckets, and buckets a quantile"
    return None


class Queries(unittest.TestCase):
    def setUp(self):
        with open(DASHBOARD, encoding="utf-8") as file:
            self.dashboard = json.load(file)
        with open(os.path.join(ROOT, "docs", "METRICS.md"), encoding="utf-8") as file:
            self.metrics = registry(file.read())
        self.queries = [target["expr"] for panel in self.dashboard["panels"] for target in panel.get("targets", [])]

    def test_the_page_has_the_metrics(self):
        self.assertEqual(self.metrics["mergedb_writes_total"], "counter")
        self.assertEqual(self.metrics["mergedb_runs"], "gauge")
        self.assertEqual(self.metrics["mergedb_get_latency_seconds"], "histogram")
        self.assertGreater(len(self.metrics), 80)

    def test_every_query_uses_metrics_that_exist_as_their_types_demand(self):
        self.assertGreater(len(self.queries), 60)
        for query in self.queries:
            self.assertIsNone(wrong(query, self.metrics), query)
            self.assertEqual(query.count("("), query.count(")"), query)
            self.assertIn("mergedb_", query)

    def test_a_wrong_query_is_noticed(self):
        database = '{database="$database"}'
        for query in ["mergedb_run" + database, "mergedb_runs", "mergedb_writes_total" + database, f"rate(mergedb_runs{database}{RANGE})",
                      f"rate(mergedb_writes{database}{RANGE})", f"rate(mergedb_get_latency_nanos_bucket{database}{RANGE})",
                      f"histogram_quantile(0.5, rate(mergedb_get_latency_seconds_bucket{database}{RANGE}))",
                      f"sum by (le) (rate(mergedb_get_latency_seconds_bucket{database}{RANGE}))", f"mergedb_get_latency_seconds{database}"]:
            self.assertIsNotNone(wrong(query, self.metrics), query)

    def test_every_histogram_every_cause_of_a_wait_and_every_reason_of_a_compaction_is_shown(self):
        shown = "\n".join(self.queries)
        for name, kind in self.metrics.items():
            if kind == "histogram":
                self.assertIn(name + "_bucket", shown)
            if name.endswith("_wait_seconds_total") or name.startswith("mergedb_compaction_written_"):
                self.assertIn(name, shown)
        for name in ["runs", "write_delay_seconds_per_byte", "block_cache_hits_total", "table_live_bytes", "blob_garbage_bytes", "wal_on_disk_bytes",
                     "compaction_written_bytes_total", "flush_bytes_total", "wal_written_bytes_total", "snapshot_oldest_age_seconds", "disk_is_full"]:
            self.assertIn("mergedb_" + name, shown)


class Schema(unittest.TestCase):
    def setUp(self):
        with open(DASHBOARD, encoding="utf-8") as file:
            self.dashboard = json.load(file)
        self.panels = self.dashboard["panels"]

    def test_it_can_be_imported(self):
        self.assertRegex(self.dashboard["uid"], r"^[a-zA-Z0-9_-]{1,40}$")
        self.assertIsNone(self.dashboard["id"], "Grafana gives the id")
        self.assertGreaterEqual(self.dashboard["schemaVersion"], 36)
        self.assertTrue(self.dashboard["title"])
        self.assertEqual(set(self.dashboard["time"]), {"from", "to"})

    def test_the_data_source_and_the_database_are_variables(self):
        variables = {v["name"]: v for v in self.dashboard["templating"]["list"]}
        self.assertEqual((variables["datasource"]["type"], variables["datasource"]["query"]), ("datasource", "prometheus"))
        self.assertEqual(variables["database"]["type"], "query")
        self.assertEqual(variables["database"]["query"]["query"], "label_values(mergedb_runs, database)")
        source = {"type": "prometheus", "uid": "${datasource}"}
        self.assertEqual(variables["database"]["datasource"], source)
        for panel in self.panels:
            for each in [panel, *panel.get("targets", [])] if panel["type"] != "row" else []:
                self.assertEqual(each["datasource"], source, panel["title"])

    def test_panels_have_ids_titles_and_queries(self):
        ids = [panel["id"] for panel in self.panels]
        self.assertEqual(len(set(ids)), len(ids))
        for panel in self.panels:
            self.assertTrue(panel["title"])
            self.assertIn(panel["type"], ("row", "timeseries", "stat"))
            if panel["type"] == "row":
                continue
            references = [target["refId"] for target in panel["targets"]]
            self.assertTrue(references)
            self.assertEqual(len(set(references)), len(references), panel["title"])
            self.assertTrue(all(target["legendFormat"] for target in panel["targets"]))
            self.assertTrue(panel["fieldConfig"]["defaults"]["unit"])

    def test_panels_are_on_the_grid_and_do_not_overlap(self):
        taken = {}
        for panel in self.panels:
            place = panel["gridPos"]
            self.assertGreater(min(place["w"], place["h"]), 0)
            self.assertGreaterEqual(place["x"], 0)
            self.assertLessEqual(place["x"] + place["w"], COLUMNS, panel["title"])
            for x in range(place["x"], place["x"] + place["w"]):
                for y in range(place["y"], place["y"] + place["h"]):
                    self.assertNotIn((x, y), taken, f"{panel['title']} lies on {taken.get((x, y))}")
                    taken[x, y] = panel["title"]


if __name__ == "__main__":
    unittest.main()
