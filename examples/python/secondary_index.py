"""Users by id, with a unique index by email and an index by city: secondary_index.py DIR

A record and its index entries change in one optimistic transaction. If another thread changes what the transaction
read, the commit raises ConflictError, and put() begins again.
"""

import concurrent.futures
import sys

import mergedb_kv
from mergedb_kv import TransactionKind


class Users:
    def __init__(self, db: mergedb_kv.Database) -> None:
        self.db = db
        self.by_id = db.create_keyspace(b"users", exist_ok=True)  # id: "email|city"
        self.by_email = db.create_keyspace(b"users by email", exist_ok=True)  # email: id
        self.by_city = db.create_keyspace(b"users by city", exist_ok=True)  # "city|id": nothing

    def _try_put(self, user: bytes, email: bytes, city: bytes) -> None:
        with self.db.transaction(TransactionKind.OPTIMISTIC) as change:
            owner = change.get(email, keyspace=self.by_email)
            if owner is not None and owner != user:
                raise ValueError(f"{email.decode()} belongs to {owner.decode()}")
            old = change.get(user, keyspace=self.by_id)
            if old is not None:  # the old index entries go
                old_email, old_city = old.split(b"|")
                change.delete(old_email, keyspace=self.by_email)
                change.delete(old_city + b"|" + user, keyspace=self.by_city)
            change.put(user, email + b"|" + city, keyspace=self.by_id)
            change.put(email, user, keyspace=self.by_email)
            change.put(city + b"|" + user, b"", keyspace=self.by_city)

    def put(self, user: bytes, email: bytes, city: bytes) -> None:
        while True:
            try:
                return self._try_put(user, email, city)
            except mergedb_kv.ConflictError:
                pass

    def print_city(self, city: bytes) -> None:
        users = [key.split(b"|")[1].decode() for key in self.by_city.keys(prefix=city + b"|")]
        print(" ".join([city.decode() + ":", *users]))


def travel(users: Users, user: bytes, email: bytes) -> None:
    for i in range(50):
        users.put(user, email, b"Rome" if i % 2 == 0 else b"Bergen")


def main(directory: str) -> None:
    with mergedb_kv.open(directory) as db:
        users = Users(db)
        users.put(b"1", b"ann@example.org", b"Oslo")
        users.put(b"2", b"bob@example.org", b"Rome")
        users.put(b"3", b"cid@example.org", b"Oslo")
        try:
            users.put(b"2", b"ann@example.org", b"Rome")
        except ValueError as error:
            print(error)
        users.print_city(b"Oslo")
        with concurrent.futures.ThreadPoolExecutor() as pool:  # two threads move the same user about
            emails = (b"cid@example.org", b"cid@work.example")
            for thread in [pool.submit(travel, users, b"3", email) for email in emails]:
                thread.result()
        for city in (b"Bergen", b"Oslo", b"Rome"):
            users.print_city(city)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: secondary_index.py DIR")
    try:
        main(sys.argv[1])
    except mergedb_kv.Error as error:
        sys.exit(str(error))
