"""Decides which figures of a comparison count, in which group, and who is faster.

A figure counts if it stands for the whole cost of an operation: a load with its compactions, not the load alone. Of the
variants of a peer (RocksDB leveled, universal), the best one counts. A difference is clear if the ratios of all
repetitions lie on the same side of 1 and their median is at least EVEN away from it. A row that ran once has no spread;
it needs EVEN_ONCE.
"""

import math
import statistics

import plot
import report

EVEN, EVEN_ONCE = 0.05, 0.10

GROUPS = ["Loads and overwrites", "Synced writes", "Counters", "Range deletes", "Put latency, p99.99", "Gets", "Seeks", "Scans", "YCSB"]
# What the benchmarks of db_bench are called in the page.
WORDS = {
    "fillrandom + drain": "load in random order, compacted", "fillseq + drain": "load in key order, compacted",
    "overwrite + drain": "overwrite, compacted", "ycsbload + drain": "load, compacted", "fillrandom": "put", "filltxn": "transaction, random keys",
    "filltxnseq": "transaction, in key order", "change + drain + read": "update, compacted, all read once", "deleterange": "range delete",
    "put p99.99": "put latency, p99.99", "readrandom": "get", "readmissing": "get of an absent key", "readhot": "get of hot keys",
    "cold readrandom": "get, page cache empty", "readwhilewriting": "get beside writes", "readtxn": "get in a transaction",
    "readtxnwhilewriting": "get in a transaction beside writes", "seekrandom": "seek", "seekrandomwhilewriting": "seek beside writes",
    "readseq": "scan", "readreverse": "scan backwards", "ycsba": "YCSB A", "ycsbb": "YCSB B", "ycsbc": "YCSB C", "ycsbd": "YCSB D",
    "ycsbe": "YCSB E", "ycsbf": "YCSB F",
}
GROUP_OF = {"filltxn": 1, "filltxnseq": 1, "change + drain + read": 2, "deleterange": 3, "put p99.99": 4}


def words(metric):
    return WORDS.get(metric, metric)


def group_of(row):
    """Returns the name of the group, or None if the figure does not count."""
    metric = row["metric"]
    if metric in GROUP_OF:
        return GROUPS[GROUP_OF[metric]]
    if metric in report.YCSB:
        return "YCSB"
    if metric.endswith(" + drain"):
        return "Loads and overwrites"
    if metric == "fillrandom":
        return "Synced writes" if row.get("is_synced") else None
    if metric not in WORDS:
        return None
    return "Seeks" if metric.startswith("seek") else "Scans" if metric in ("readseq", "readreverse") else "Gets"


def is_counted(peer):
    """Returns if comparisons with this peer count. A variant with other settings is shown, but is a peer of its own."""
    return plot.style_of(peer)[0] == peer


def outcome(three, count):
    """Returns "faster", "slower" or "even" for mergedb; `three` are the median, least and largest ratio."""
    middle, least, most = three
    margin = 1 + (EVEN if count > 1 else EVEN_ONCE)
    if least > 1 and middle >= margin:
        return "faster"
    if most < 1 and middle <= 1 / margin:
        return "slower"
    return "even"


def against(row, engines):
    """Returns {peer: {engine, ratio, count, outcome}} for each peer whose result the row has beside mergedb's."""
    found = {}
    for engine in engines:
        peer, id_ = engine["peer"], engine["id"]
        if not is_counted(peer):
            continue
        three = (row.get("ratios") or {}).get(id_, {}).get("wall")
        if three and (peer not in found or three[0] < found[peer]["ratio"][0]):
            count = len(row["values"]["mergedb"].keys() & row["values"][id_].keys())
            found[peer] = {"engine": id_, "ratio": three, "count": count, "outcome": outcome(three, count)}
    return found


def closest(row, engines):
    """Returns the entry of `against` with the smallest ratio: the peer that mergedb is slowest against."""
    return min(against(row, engines).values(), key=lambda found: found["ratio"][0], default=None)


def mean(ratios):
    return math.exp(statistics.fmean(math.log(ratio) for ratio in ratios))


def times(ratio):
    """Returns "3.6× faster" or "1.9× slower"."""
    factor = max(ratio, 1 / ratio)
    return f"{factor:.3g}× {'faster' if ratio >= 1 else 'slower'}"


def table(rows, engines):
    """Returns ({group: {peer: {mean, least, most, outcomes}}}, {peer: {outcome: count}})."""
    cells, totals = {}, {}
    for row in rows:
        group = group_of(row)
        for peer, found in against(row, engines).items() if group else ():
            cells.setdefault(group, {}).setdefault(peer, []).append(found)
            counts = totals.setdefault(peer, {"faster": 0, "even": 0, "slower": 0})
            counts[found["outcome"]] += 1
    for group, peers in cells.items():
        for peer, list_ in peers.items():
            ratios = [found["ratio"][0] for found in list_]
            peers[peer] = {"mean": mean(ratios), "least": min(ratios), "most": max(ratios), "outcomes": [found["outcome"] for found in list_]}
    return {group: cells[group] for group in GROUPS if group in cells}, totals
