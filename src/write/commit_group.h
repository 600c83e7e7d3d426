// The commit of one group of writers, by its leader, in the exclusive section: a list of steps.
//
//   Begin            the host: is the database writable; the write delay
//   CheckConflicts   each member; one that fails leaves the group
//   MakeMemtableRoom a full memtable becomes immutable
//   Stage            sequences, and a frame in the WAL for each member that asks for the WAL
//   WriteOut         the frames to the device, if a member asks for it; to the system, if the WAL buffer is no
//                    mapped file
//   Apply            records in the memtable
//   Publish          readers see them
//
// If Begin, MakeMemtableRoom or WriteOut fails, the commit ends for all members. A member whose frame failed leaves the
// group; if its outcome is unknown, the members behind it leave, too.
//
// A batch larger than a memtable commits alone (CommitInPieces): first it becomes durable in the WAL, then it is
// applied piece by piece. The pieces are invisible until Publish, after the last one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/wait_counter.h"
#include "memtable/memtable.h"
#include "mergedb/env.h"
#include "wal/current_wal.h"
#include "write/host.h"
#include "write/waiter.h"

namespace mergedb::write {

// What the holder of the exclusive section writes to.
struct WriteTarget {
  const wal::CurrentWal& current_wal;
  const size_t memtable_bytes;  // of a new memtable
  Clock* const clock;           // by which waits are measured; null: they are not. Used by any thread

  std::shared_ptr<memtable::Memtable> active = {};
  // While a batch is applied piece by piece: memtables that become immutable need the WAL from here on.
  std::optional<wal::Mark> pieces_from = {};

  wal::Wal& wal() const { return current_wal.wal(); }
  uint64_t NowNanos() const { return clock == nullptr ? 0 : clock->NowNanos(); }
  bool FitsOneMemtable(const Room& room) const {
    return memtable::Memtable::MemoryHolds(memtable_bytes, room.records, room.bytes);
  }
};

struct WriteCounters {
  std::atomic<uint64_t> writes{0};  // calls of Commit that were applied
  std::atomic<uint64_t> records{0};
  std::atomic<uint64_t> groups{0};
  base::WaitCounter queue_waits;  // of writers for other writers, for the writers' lock and for the exclusive section
};

class CommitGroup {
 public:
  // The group of `leader`, up to its group_last, or the leader alone if one memtable may not hold the group.
  CommitGroup(Host& host, WriteTarget& target, WriteCounters& counters, Waiter& leader);

  // Sets the status of each member.
  void Commit();

 private:
  bool Begin();
  void CheckConflicts();
  bool MakeMemtableRoom();
  void Stage();
  bool WriteOut();
  void Apply();
  void Publish();
  void CommitInPieces();

  void Measure();
  bool IsOneLargeBatch() const;
  bool EndUnless(const Status& status);
  Status AppendFrame(Waiter& waiter, bool will_sync);
  Status TryAppendFrame(Waiter& waiter, bool will_sync);
  Status AppendDurably();
  Status MakeDurable();
  template <typename Act>
  void ForEach(Act&& act);

  Host& host_;
  WriteTarget& target_;
  WriteCounters& counters_;
  Waiter& leader_;
  Room room_;
  bool is_synced_ = false;
  bool has_frames_ = false;  // the WAL has a frame of this group
  kv::Sequence last_ = 0;    // of the applied records; 0: none
};

}  // namespace mergedb::write
