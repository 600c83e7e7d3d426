"""A cache on disk with a limit in bytes, which drops the entries that were used longest ago: bounded_cache.py DIR

"values" has the entries, "stamps" the time of the last use of each, and "order" the keys by that time. Each call is
one transaction, so the three agree after a crash.
"""

import sys
from typing import Optional

import mergedb_kv


class Cache:
    def __init__(self, db: mergedb_kv.Database, bytes_max: int) -> None:
        self.db = db
        self.bytes_max = bytes_max
        self.values = db.create_keyspace(b"values", exist_ok=True)
        self.stamps = db.create_keyspace(b"stamps", exist_ok=True)
        self.order = db.create_keyspace(b"order", exist_ok=True)

    def get(self, key: bytes) -> Optional[bytes]:
        """The value, or None if the key is not in the cache."""
        with self.db.transaction() as change:
            value = change.get(key, keyspace=self.values)
            if value is not None:
                self._touch(change, key)
        return value

    def put(self, key: bytes, value: bytes) -> None:
        with self.db.transaction() as change:
            used = int(change.get(b"bytes", b"0")) - len(change.get(key, b"", keyspace=self.values)) + len(value)
            change.put(key, value, keyspace=self.values)
            self._touch(change, key)
            oldest = change.cursor(keyspace=self.order)
            while used > self.bytes_max and oldest.first():
                victim = oldest.value
                used -= len(change.get(victim, b"", keyspace=self.values))
                oldest.delete()
                change.delete(victim, keyspace=self.values)
                change.delete(victim, keyspace=self.stamps)
            change.put(b"bytes", b"%d" % used)

    def _touch(self, change: mergedb_kv.Transaction, key: bytes) -> None:
        """Makes the key the last one in the order."""
        stamp = change.get(key, keyspace=self.stamps)
        if stamp is not None:
            change.delete(stamp, keyspace=self.order)
        newest = change.cursor(keyspace=self.order)
        # Stamps have one length, so that the order of the keys is the order of time.
        stamp = b"%d" % (int(newest.key) + 1 if newest.last() else 10**12)
        change.put(stamp, key, keyspace=self.order)
        change.put(key, stamp, keyspace=self.stamps)


def main(directory: str) -> None:
    with mergedb_kv.open(directory) as db:
        cache = Cache(db, bytes_max=100)
        for key in (b"a", b"b", b"c"):
            cache.put(key, b"x" * 30)
        cache.get(b"a")  # "b" is now the one used longest ago
        cache.put(b"d", b"x" * 20)  # 110 bytes are too many: "b" goes
        if cache.get(b"b") is not None:
            raise RuntimeError("b is still there")
    with mergedb_kv.open(directory) as db:  # the cache survives a restart
        for key in Cache(db, bytes_max=100).order.values():
            print(key.decode())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: bounded_cache.py DIR")
    try:
        main(sys.argv[1])
    except mergedb_kv.Error as error:
        sys.exit(str(error))
