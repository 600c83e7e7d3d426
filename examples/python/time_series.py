"""Measurements by sensor and minute, with sums of each hour, range queries and a retention: time_series.py DIR

A sample and its share of the hour's sums are one atomic batch. The sums are merges, so a write reads nothing.
"""

import sys

import mergedb_kv
from mergedb_kv import merge


def key(sensor: str, time: int) -> bytes:
    """Numbers have a fixed width, so that the order of the keys is the order of time."""
    return b"%s/%010d" % (sensor.encode(), time)


class Series:
    def __init__(self, db: mergedb_kv.Database) -> None:
        self.db = db
        self.samples = db.create_keyspace(b"samples", exist_ok=True)
        self.hours = db.create_keyspace(b"hours", exist_ok=True)

    def record(self, sensor: str, minute: int, value: float) -> None:
        hour = key(sensor, minute // 60)
        with self.db.batch() as batch:
            batch.put(key(sensor, minute), merge.from_f64(value), keyspace=self.samples)
            batch.merge(hour + b"/count", merge.add_u64(1), keyspace=self.hours)
            batch.merge(hour + b"/max", merge.max_f64(value), keyspace=self.hours)
            batch.merge(hour + b"/sum", merge.add_f64(value), keyspace=self.hours)

    def print_hour(self, sensor: str, hour: int) -> None:
        count = merge.to_u64(self.hours[key(sensor, hour) + b"/count"])
        largest = merge.to_f64(self.hours[key(sensor, hour) + b"/max"])
        mean = merge.to_f64(self.hours[key(sensor, hour) + b"/sum"]) / count
        print(f"{sensor}, hour {hour}: {count} samples, mean {mean:.2f}, max {largest:.1f}")

    def print_range(self, sensor: str, begin: int, end: int) -> None:
        """The samples of [begin, end)."""
        values = [merge.to_f64(value) for value in self.samples.values(key(sensor, begin), key(sensor, end))]
        print(f"{sensor}, minutes {begin} to {end}: {len(values)} samples, min {min(values):.1f}")

    def print_last(self, sensor: str) -> None:
        for name, value in self.samples.items(prefix=sensor.encode() + b"/", reverse=True):
            print(f"last: {name.decode()} {merge.to_f64(value):.1f}")
            break


def main(directory: str) -> None:
    with mergedb_kv.open(directory) as db:
        series = Series(db)
        for minute in range(1440):
            series.record("kitchen", minute, 20 + minute * 7 % 50 / 10)
            series.record("outside", minute, 5 + minute * 3 % 80 / 10)
        series.print_hour("kitchen", 13)
        series.print_range("outside", 600, 660)
        series.print_last("kitchen")
        # The retention: samples older than minute 720 go, by one write. The sums of the hours stay.
        series.samples.delete_range(key("outside", 0), key("outside", 720))
        series.print_range("outside", 700, 730)
        series.print_hour("outside", 0)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: time_series.py DIR")
    try:
        main(sys.argv[1])
    except mergedb_kv.Error as error:
        sys.exit(str(error))
