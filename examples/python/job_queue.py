"""A durable queue of jobs with several workers: job_queue.py DIR

A job moves from "ready" to "running" to "done", and each step is atomic. So no job is lost or taken twice. After a
crash, recover() returns the jobs of the workers that died to the queue.
"""

import concurrent.futures
import sys
from typing import Optional

import mergedb_kv


class Queue:
    def __init__(self, db: mergedb_kv.Database) -> None:
        self.db = db
        self.ready = db.create_keyspace(b"ready", exist_ok=True)
        self.running = db.create_keyspace(b"running", exist_ok=True)
        self.done = db.create_keyspace(b"done", exist_ok=True)

    def add(self, jobs: list[bytes]) -> None:
        with self.db.transaction(durability=mergedb_kv.Durability.SYNCED) as change:
            # Ids have one length, so that the order of the keys is the order of the jobs.
            last = int(change.get(b"last id", b"100000000"))
            for last, job in enumerate(jobs, last + 1):
                change.put(b"%d" % last, job, keyspace=self.ready)
            change.put(b"last id", b"%d" % last)

    def take(self) -> Optional[tuple[bytes, bytes]]:
        """The id and the text of the oldest job, or None. A single writer excludes other workers until it commits."""
        with self.db.transaction() as change:
            cursor = change.cursor(keyspace=self.ready)
            if not cursor.first():
                return None
            job = cursor.entry()
            cursor.delete()
            change.put(*job, keyspace=self.running)
        return job

    def move(self, job_id: bytes, job: bytes, target: mergedb_kv.Keyspace) -> None:
        with self.db.batch() as batch:
            batch.delete(job_id, keyspace=self.running)
            batch.put(job_id, job, keyspace=target)

    def recover(self) -> None:
        for job_id, job in self.running.items():
            print("recovered", job_id.decode())
            self.move(job_id, job, self.ready)

    def work(self) -> None:
        while (taken := self.take()) is not None:
            job_id, job = taken
            self.move(job_id, job + b": done", self.done)  # a real worker does the job here


def main(directory: str) -> None:
    with mergedb_kv.open(directory) as db:
        queue = Queue(db)
        queue.recover()
        queue.add([b"resize cat.png", b"resize dog.png", b"mail ann", b"mail bob", b"rotate logs", b"backup"])
        queue.take()  # this worker never ends its job
        queue.recover()  # so the next start of the program returns it
        with concurrent.futures.ThreadPoolExecutor() as pool:
            for worker in [pool.submit(queue.work) for _ in range(2)]:
                worker.result()
        for job_id, job in queue.done.items():
            print(job_id.decode(), job.decode())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: job_queue.py DIR")
    try:
        main(sys.argv[1])
    except mergedb_kv.Error as error:
        sys.exit(str(error))
