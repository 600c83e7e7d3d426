// The database, as the leader of a commit group uses it.
#pragma once

#include "memtable/memtable.h"
#include "mergedb/status.h"
#include "wal/wal.h"
#include "write/change.h"

namespace mergedb::write {

// The room that a group needs in the active memtable: upper bounds.
struct Room {
  uint64_t records = 0;
  size_t bytes = 0;  // of keys and values
};

// REQUIRES, for every method but NowNanos: the exclusive section.
class Host {
 public:
  virtual ~Host() = default;
  // The clock by which waits are measured; 0: they are not. THREADS: any, also outside of the exclusive section.
  virtual uint64_t NowNanos() { return 0; }
  // OK if writes are possible now. May wait for the write delay.
  virtual Status BeforeGroup(size_t bytes) = 0;
  // Called for each member, after the group is formed and before sequences are assigned. A member that fails
  // leaves the group.
  virtual Status CheckConflicts(const Change&) { return {}; }
  // A member passed CheckConflicts, but its frame did not get into the WAL: `why`. The other members of the group go
  // on.
  virtual void Withdraw(const Change&, const Status& /*why*/) {}
  // When it returns OK, the active memtable has room. Makes a full one immutable and waits for a flush if necessary.
  virtual Status MakeMemtableRoom(const Room& room) = 0;
  // As MakeMemtableRoom, for records that are in the WAL already and must be applied: may exceed the memory for
  // unflushed writes.
  virtual void MakeMemtableRoomAnyway(const Room& room) = 0;
  // The WAL found no free descriptor. Waits until a compaction releases its own; false if none runs.
  virtual bool WaitForDescriptors() { return false; }
  // The WAL found no disk space. Gives back what no byte of the database needs; false if there is nothing.
  virtual bool FreeSpace() { return false; }
  virtual bool FitsOneMemtable(const Room& room) const = 0;
  virtual wal::Wal& wal() = 0;
  virtual memtable::Memtable& active() = 0;
  virtual void Publish(kv::Sequence last) = 0;
  // The WAL takes no more frames: `status` says why. Called once per failed group.
  virtual void WalFailed(const Status& status) = 0;
  // Between BeginPieces and EndPieces one batch goes into several memtables. Those that become immutable
  // meanwhile need the WAL from `replay_from` on. After EndPieces a reader that sees the batch sees all of
  // its memtables. Publish follows.
  virtual void BeginPieces(const wal::Mark& replay_from) = 0;
  virtual void EndPieces() = 0;
};

// Calls act(), and once more if it found no disk space and the host gave some back. REQUIRES: the exclusive section.
template <typename Act>
Status WithFreedSpace(Host& host, Act&& act) {
  Status status = act();
  return status.IsNoSpace() && host.FreeSpace() ? act() : status;
}

}  // namespace mergedb::write
