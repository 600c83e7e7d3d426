// The database, as the commit of a group uses it. REQUIRES, for every method: the exclusive section.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kv/key.h"
#include "mergedb/status.h"
#include "write/change.h"

namespace mergedb::write {

// The room that records need in the active memtable: upper bounds.
struct Room {
  uint64_t records = 0;
  size_t bytes = 0;  // of keys and values
};

class Host {
 public:
  virtual ~Host() = default;
  // OK if writes are possible now. May wait for the write delay.
  virtual Status BeforeGroup(size_t bytes) = 0;
  // Called for each member, after the group is formed and before sequences are assigned. A member that fails
  // leaves the group.
  virtual Status CheckConflicts(const Change&) { return {}; }
  // When it returns OK, the active memtable has room. Makes a full one immutable and waits for a flush if necessary.
  // `must`: the records are in the WAL already and must be applied. It then may exceed the memory for unflushed writes,
  // and returns OK or throws std::bad_alloc.
  virtual Status MakeMemtableRoom(const Room& room, bool must) = 0;
  // The WAL, or work for it, failed with `why`: NoSpace or Busy (no free descriptor). Gives back disk space that no
  // byte of the database needs, or waits until a compaction releases its descriptors. False if there is nothing to give
  // or to wait for.
  virtual bool FreeFor(const Status& /*why*/) { return false; }
  // The frame of a member that passed CheckConflicts did not get into the WAL, or its outcome is unknown. Then no later
  // member gets a frame; otherwise the other members of the group go on.
  virtual void FrameFailed(const Change&, const Status& /*why*/) {}
  // The frames of a group were not written or synced: `why`. Their outcome is unknown.
  virtual void GroupFailed(const Status& why) = 0;
  // Readers see all writes up to `last` from now on. `in_pieces`: the writes are one batch that went into several
  // memtables; a reader that sees the batch sees all of these.
  virtual void Publish(kv::Sequence last, bool in_pieces) = 0;
};

// Calls act(), and once more if it found no disk space and the host gave some back.
template <typename Act>
Status WithFreedSpace(Host& host, Act&& act) {
  Status status = act();
  return status.IsNoSpace() && host.FreeFor(status) ? act() : status;
}

}  // namespace mergedb::write
