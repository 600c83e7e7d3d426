"""What mypy and pyright must accept and refuse of mergedb_kv.aio. `./dev test python` checks it; nothing runs it.

An ignored error that is none fails the check.
"""
# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

import mergedb_kv
from mergedb_kv import aio

if TYPE_CHECKING:
    from typing_extensions import assert_type


async def results(db: aio.Database, keyspace: aio.Keyspace, snapshot: aio.Snapshot) -> None:
    for store in (db, keyspace):
        assert_type(await store.put(b"a", b"1", durability=mergedb_kv.Durability.SYNCED), None)
        assert_type(await store.delete_range(b"a", b"b"), None)
        assert_type(await store.update({b"a": b"1"}), None)
        assert_type(await store.compact(stop=b"b"), None)
    for reader in (db, keyspace, snapshot):
        assert_type(await reader.get(b"a"), Optional[bytes])
        assert_type(await reader.get_many([b"a"]), "list[Optional[bytes]]")
        assert_type(reader.keys(b"a", prefix=b"b"), aio.Entries[bytes])
        async for entry in reader.items(reverse=True):
            assert_type(entry, "tuple[bytes, bytes]")
    assert_type(await db.keyspaces(), "list[bytes]")
    assert_type(await db.checkpoint("copy", may_link=False), None)
    async with db.iterator(b"a") as it:
        assert_type(await it.seek(b"a"), bool)
        assert_type(await it.next(), bool)
    async with db.transaction() as t:
        assert_type(await t.get(b"a", keyspace=keyspace), Optional[bytes])


async def refused(db: aio.Database, it: aio.Iterator) -> None:
    await db.put(b"a")  # type: ignore[call-arg]
    await db.put("a", b"1")  # type: ignore[arg-type]
    await db.put(b"a", b"1", sync=True)  # type: ignore[call-arg]
    await db.merge(b"a", 1)  # type: ignore[arg-type]
    await it.seek()  # type: ignore[call-arg]
    await it.next(b"a")  # type: ignore[call-arg]
    await db.checkpoint("copy", False)  # type: ignore[call-arg]
    db.items(b"a", b"b", b"c")  # type: ignore[call-arg]
    db.keys(reverse="yes")  # type: ignore[arg-type]
    number: int = await db.sync()  # type: ignore[func-returns-value, assignment]
    print(number)
