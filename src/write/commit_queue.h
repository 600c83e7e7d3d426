// Group commit, start to end. Writers queue; the first becomes the leader and commits for those behind it, whose costs it
// shares: one device sync a group, one turn.
//
//   FormGroup -> CheckConflicts -> MakeRoom -> Stage (sequences assigned, frames in the log) -> MakeDurable, if any asked
//             -> Apply (memtable) -> Publish -> WakeFollowers
//
// The turn: who leads holds it, and nobody else touches the log or adds to the memtable. Others take it for the same
// reason without writing (TakeTurn): sealing, syncing, closing.
//
// A batch larger than a memtable goes alone, durable in the log first, then applied piece by piece; its pieces stay
// invisible until the last one is in (Host::BeginPieces).
//
// THREADS: Commit and TakeTurn from any. Lock order: the queue's mutex is first and is held only to queue and to wake.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "base/sync.h"
#include "kv/key.h"
#include "log/log.h"
#include "memtable/memtable.h"
#include "mergedb/options.h"
#include "mergedb/status.h"

namespace mergedb::write {

// One call of a writer: a single change, or a batch's records.
struct Change {
  kv::Kind kind = kv::Kind::kPut;  // of a single change
  std::string_view key = {};
  std::string_view value = {};
  std::string_view batch = {};  // encoded records (format/batch.h); used if `is_batch`
  bool is_batch = false;
  uint64_t records = 1;
  Durability durability = Durability::kProcessCrash;
};

// What a group needs of the active memtable: upper bounds.
struct Room {
  uint64_t records = 0;
  size_t bytes = 0;  // of keys and values
};

// The database, as the leader sees it. Every method is called by the holder of the turn.
class Host {
 public:
  virtual ~Host() = default;
  // OK if writes are possible now. May wait, for pacing.
  virtual Status BeforeGroup(size_t bytes) = 0;
  // Between forming the group and assigning sequences: where optimistic transactions will check their reads.
  virtual Status CheckConflicts(const Change&) { return {}; }
  // The active memtable has room when this returns OK; seals the full one, waits for a flush.
  virtual Status MakeRoom(const Room& room) = 0;
  // The same for what is in the log already and must go in: beyond the memory for unflushed writes, if need be.
  virtual void MakeRoomAnyway(const Room& room) = 0;
  virtual bool FitsOneMemtable(const Room& room) const = 0;
  virtual log::Log& log() = 0;
  virtual memtable::Memtable& active() = 0;
  virtual void Publish(kv::Sequence last) = 0;
  // The log is of no more use: `status` says why. Called once per failed group.
  virtual void LogFailed(const Status& status) = 0;
  // From BeginPieces to EndPieces readers see nothing newer than what is published; memtables sealed in between name
  // `replay_from` as the place from which the log is still needed.
  virtual void BeginPieces(const log::Mark& replay_from) = 0;
  virtual void EndPieces() = 0;
};

class CommitQueue {
 public:
  explicit CommitQueue(Host& host) : host_(host) {}
  CommitQueue(const CommitQueue&) = delete;
  CommitQueue& operator=(const CommitQueue&) = delete;

  // WHY noexcept: a leader that ran out of memory between its frame in the log and its records in the memtable cannot be taken
  // back, nor may the queue wait for it; the process stops instead (docs/decisions/0017-out-of-memory.md).
  Status Commit(const Change& change) noexcept;

  // Exclusive use of the log and of the memtable's writing side, for as long as the Turn lives.
  class Waiter;
  class [[nodiscard]] Turn {
   public:
    explicit Turn(CommitQueue& queue);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    CommitQueue& queue_;
  };

  struct Counters {
    std::atomic<uint64_t> writes{0};   // calls
    std::atomic<uint64_t> records{0};
    std::atomic<uint64_t> groups{0};
    std::atomic<uint64_t> syncs{0};
  };
  const Counters& counters() const { return counters_; }

 private:
  void Join(Waiter& waiter);
  void Leave(Waiter& last);
  void FormGroup(Waiter& leader);
  void Lead(Waiter& leader);
  void LeadLarge(Waiter& waiter);
  void Stage(Waiter& waiter);
  Status Apply(Waiter& waiter);

  Host& host_;
  Counters counters_;

  base::Mutex mutex_;
  Waiter* front_ GUARDED_BY(mutex_) = nullptr;  // holds the turn
  Waiter* back_ GUARDED_BY(mutex_) = nullptr;
};

}  // namespace mergedb::write
