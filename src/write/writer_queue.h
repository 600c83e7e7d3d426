// Group commit, start to end. Writers queue; the first becomes the leader and commits for those behind it, whose costs it
// shares: one device sync a group, one turn.
//
//   FormGroup -> CheckConflicts -> MakeRoom -> Stage (sequences assigned, frames in the log) -> MakeDurable, if any asked
//             -> Apply (memtable) -> Publish -> WakeFollowers
//
// The turn: who leads holds it, and nobody else touches the log or adds to the memtable. Others take it for the same
// reason without writing (ExclusiveSection): sealing, syncing, closing.
//
// A writer who meets nobody does not queue: it takes the turn by one atomic instruction, and leaves it by another. Whoever
// comes meanwhile says so in the same word, and queues; from then on the queue decides, until it is empty.
//
//   section_   0 ──Commit──> kAlone ──done──> 0
//                            │ somebody queues
//                            └──> kAlone | kQueued ──done, wake the front──> kQueued ──the queue is empty──> 0
//
// A turn handed from thread to thread costs two switches, a hundred times a put. So who finds a lone writer and asks for no
// sync leaves kQueued alone for a while (kPatienceNanos): the lone writer, or whoever else meets nobody, goes on, and those who queue
// meanwhile become one group. The first that is not patient ends it for all.
//
// The writers' lock: a transaction that is the only writer for its length (LockWriters). Who else commits meanwhile waits
// aside, in the order of coming, and joins the queue when the lock is let go; turns without a change do not care.
//
//   queue   [w1][w2][L: lock taken when at the front]          aside   [w3][w4][L2][w5]
//   on unlock: w3 and w4 join the queue, then L2, which holds the lock from then on; w5 stays
//
// A batch larger than a memtable goes alone, durable in the log first, then applied piece by piece; its pieces stay
// invisible until the last one is in (Publish).
//
// THREADS: Commit and ExclusiveSection from any. Lock order: the queue's mutex is first and is held only to queue and to wake.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/sync.h"
#include "kv/key.h"
#include "kv/key_map.h"
#include "memtable/memtable.h"
#include "mergedb/options.h"
#include "mergedb/status.h"
#include "wal/wal.h"
#include "write/recent_writes.h"

namespace mergedb::write {

// What a change does to the catalog of keyspaces, beside its records.
struct KeyspaceChanges {
  std::vector<kv::KeyspaceId> created;
  std::vector<std::string> created_names;  // of each of them
  std::vector<kv::KeyspaceId> dropped;
  bool empty() const { return created.empty() && dropped.empty(); }
};

// One call of a writer: a single change, or a batch's records.
struct Change {
  kv::Kind kind = kv::Kind::kPut;  // of a single change
  std::string_view key = {};
  std::string_view value = {};
  std::string_view batch = {};  // encoded records (format/batch.h); used if `is_batch`
  bool is_batch = false;
  uint64_t records = 1;
  Durability durability = Durability::kProcessCrash;
  const void* owner = nullptr;                        // who LockWriters was called by; null: nobody
  ReadCheck* reads = nullptr;                         // what an optimistic transaction read; null: nothing to check
  const kv::KeyMap* key_map = nullptr;                // by which its keys were made
  std::span<const kv::KeyspaceId> keyspaces = {};     // the named ones that it writes to
  const KeyspaceChanges* keyspace_changes = nullptr;  // null: none
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
  // Between forming the group and assigning sequences, of one member after the other: a member that fails leaves the group.
  virtual Status CheckConflicts(const Change&) { return {}; }
  // A member that passed CheckConflicts could not be given its place in the log; the others of its group go on.
  virtual void Withdraw(const Change&) {}
  // The active memtable has room when this returns OK; seals the full one, waits for a flush.
  virtual Status MakeRoom(const Room& room) = 0;
  // The same for what is in the log already and must go in: beyond the memory for unflushed writes, if need be.
  virtual void MakeRoomAnyway(const Room& room) = 0;
  virtual bool FitsOneMemtable(const Room& room) const = 0;
  virtual wal::Wal& log() = 0;
  virtual memtable::Memtable& active() = 0;
  virtual void Publish(kv::Sequence last) = 0;
  // The log is of no more use: `status` says why. Called once per failed group.
  virtual void LogFailed(const Status& status) = 0;
  // From BeginPieces to EndPieces one batch goes into several memtables; those sealed in between name `replay_from` as the place from which
  // the log is still needed. From EndPieces on readers that see the batch see all of its memtables. Publish follows.
  virtual void BeginPieces(const wal::Mark& replay_from) = 0;
  virtual void EndPieces() = 0;
};

class WriterQueue {
 public:
  explicit WriterQueue(Host& host) : host_(host) {}
  WriterQueue(const WriterQueue&) = delete;
  WriterQueue& operator=(const WriterQueue&) = delete;

  // WHY noexcept: a leader that ran out of memory between its frame in the log and its records in the memtable cannot be taken
  // back, nor may the queue wait for it; the process stops instead (docs/decisions/0017-out-of-memory.md).
  Status Commit(const Change& change) noexcept;

  // Until UnlockWriters only changes of this owner are committed, and all committed before are published when this returns
  // OK. Busy if the lock is not free within `wait_nanos` (UINT64_MAX: however long), or held by this very thread, which
  // would wait for itself; so is a Commit. ShuttingDown after Stop. THREADS: unlocked by any.
  Status LockWriters(const void* owner, uint64_t wait_nanos);
  void UnlockWriters(const void* owner);
  // The database closes: who waits for the lock, now or later, hears ShuttingDown.
  void Stop();

  // Exclusive use of the log and of the memtable's writing side, for as long as the ExclusiveSection lives.
  class Waiter;
  class [[nodiscard]] ExclusiveSection {
   public:
    explicit ExclusiveSection(WriterQueue& queue);
    // Taken only if nobody else is in the queue: does not wait.
    ExclusiveSection(WriterQueue& queue, std::try_to_lock_t);
    ~ExclusiveSection();
    ExclusiveSection(const ExclusiveSection&) = delete;
    ExclusiveSection& operator=(const ExclusiveSection&) = delete;
    bool is_taken() const { return is_taken_; }

   private:
    WriterQueue& queue_;
    bool is_taken_ = true;
  };

  struct Counters {
    std::atomic<uint64_t> writes{0};  // calls
    std::atomic<uint64_t> records{0};
    std::atomic<uint64_t> groups{0};
    std::atomic<uint64_t> syncs{0};
  };
  const Counters& counters() const { return counters_; }

 private:
  // Bits of section_.
  static constexpr uint32_t kAlone = 1;   // one who is not in the queue holds the turn
  static constexpr uint32_t kQueued = 2;  // the queue, or the writers' lock, is in use: nobody else passes by it

  bool TakeAlone();
  void LeaveAlone(Durability durability);
  void Join(Waiter& waiter);
  void Leave(Waiter& last);
  bool HoldsSection(const Waiter& waiter) const REQUIRES_LOCK(mutex_);
  void Settle() REQUIRES_LOCK(mutex_);
  void Append(Waiter& waiter) REQUIRES_LOCK(mutex_);
  void Enqueue(Waiter& waiter) REQUIRES_LOCK(mutex_);
  bool IsPatient(const Waiter& waiter) const REQUIRES_LOCK(mutex_);
  void WaitForWritersLock(Waiter& waiter) REQUIRES_LOCK(mutex_);
  void GiveUpWaiting(Waiter& waiter) REQUIRES_LOCK(mutex_);
  void FormGroup(Waiter& leader) REQUIRES_LOCK(mutex_);
  void Lead(Waiter& leader);
  void LeadLarge(Waiter& waiter);
  void Stage(Waiter& waiter, const Waiter& leader);
  Status Apply(Waiter& waiter);

  Host& host_;
  Counters counters_;

  std::atomic<uint32_t> section_{0};  // kQueued changes under the mutex only
  base::Mutex mutex_;
  Waiter* front_ GUARDED_BY(mutex_) = nullptr;  // holds the turn, unless somebody alone does or it is patient
  Waiter* back_ GUARDED_BY(mutex_) = nullptr;

  // The writers' lock. Waiters stand aside only while it is held.
  const void* lock_owner_ GUARDED_BY(mutex_) = nullptr;
  std::thread::id lock_thread_ GUARDED_BY(mutex_);  // that asked for it
  Waiter* lock_waiters_front_ GUARDED_BY(mutex_) = nullptr;
  Waiter* lock_waiters_back_ GUARDED_BY(mutex_) = nullptr;
  bool is_stopped_ GUARDED_BY(mutex_) = false;
};

}  // namespace mergedb::write
