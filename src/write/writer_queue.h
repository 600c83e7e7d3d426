// Group commit. Writers queue; the writer at the front becomes the leader and commits for a group: itself and
// the writers behind it. The group shares one exclusive section and at most one device sync.
//
//   FormGroup -> CheckConflicts -> MakeRoom -> Stage (assign sequences, append frames to the WAL)
//             -> MakeDurable, if a member asks for it -> Apply (memtable) -> Publish -> WakeFollowers
//
// The exclusive section: only its holder uses the WAL and adds to the memtable. The leader holds it. Other
// code takes it without writing (ExclusiveSection): to make the active memtable immutable, to sync, to close.
//
// A writer that meets no other writer does not queue: it enters the section by one atomic instruction and
// leaves it by another. A writer that arrives meanwhile sets kQueued in the same word, and queues. From then
// on the queue decides, until it is empty.
//
//   section_   0 ──Commit──> kAlone ──done──> 0
//                            │ a writer queues
//                            └──> kAlone | kQueued ──done, wake the front──> kQueued ──the queue is empty──> 0
//
// Handing the section to another thread costs two context switches, about 100 puts. So a writer that meets a lone
// writer and asks for no sync does not set kQueued until kYieldNanos have passed. Until then the lone writer,
// or any writer that finds the section free, goes on, and the queued writers form one group. The first writer
// that cannot wait (a synced write, an ExclusiveSection) sets kQueued for all (docs/decisions/0031-patience.md).
//
// The writers' lock makes a transaction the only writer for its life (LockWriters). Other commits wait in a list of
// their own, in order of arrival, and join the queue when the lock is released. An ExclusiveSection ignores the lock.
//
//   queue   [w1][w2][L: gets the lock at the front]            lock waiters   [w3][w4][L2][w5]
//   on unlock: w3, w4 and then L2 join the queue; L2 holds the lock from then on; w5 keeps waiting
//
// A batch larger than a memtable commits alone: first it becomes durable in the WAL, then it is applied piece
// by piece. The pieces are invisible until Publish, after the last one.
//
// THREADS: any thread calls Commit and ExclusiveSection. Lock order: the queue's mutex comes first; it is
// held only to queue and to wake.
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

// The keyspaces that a change creates or drops, beside its records.
struct KeyspaceChanges {
  std::vector<kv::KeyspaceId> created;
  std::vector<std::string> created_names;  // of each created keyspace
  std::vector<kv::KeyspaceId> dropped;
  bool empty() const { return created.empty() && dropped.empty(); }
};

// One call of a writer: a single change, or the records of a batch.
struct Change {
  kv::Kind kind = kv::Kind::kPut;  // of a single change
  std::string_view key = {};
  std::string_view value = {};
  std::string_view batch = {};  // encoded records (format/batch.h); used if `is_batch`
  bool is_batch = false;
  uint64_t records = 1;
  Durability durability = Durability::kProcessCrash;
  const void* owner = nullptr;                        // the owner passed to LockWriters; null: none
  ReadCheck* reads = nullptr;                         // the reads of an optimistic transaction; null: nothing to check
  const kv::KeyMap* key_map = nullptr;                // that made its keys
  std::span<const kv::KeyspaceId> keyspaces = {};     // the named keyspaces that it writes to
  const KeyspaceChanges* keyspace_changes = nullptr;  // null: none
};

// The room that a group needs in the active memtable: upper bounds.
struct Room {
  uint64_t records = 0;
  size_t bytes = 0;  // of keys and values
};

// The database, as the leader uses it. REQUIRES, for every method: the exclusive section.
class Host {
 public:
  virtual ~Host() = default;
  // OK if writes are possible now. May wait for the write delay.
  virtual Status BeforeGroup(size_t bytes) = 0;
  // Called for each member, after the group is formed and before sequences are assigned. A member that fails
  // leaves the group.
  virtual Status CheckConflicts(const Change&) { return {}; }
  // A member passed CheckConflicts, but its frame did not get into the WAL. The other members of the group go on.
  virtual void Withdraw(const Change&) {}
  // When it returns OK, the active memtable has room. Makes a full one immutable and waits for a flush if necessary.
  virtual Status MakeRoom(const Room& room) = 0;
  // As MakeRoom, for records that are in the WAL already and must be applied: may exceed the memory for
  // unflushed writes.
  virtual void MakeRoomAnyway(const Room& room) = 0;
  // The WAL found no free descriptor. Waits until a compaction releases its own; false if none runs.
  virtual bool WaitForDescriptors() { return false; }
  virtual bool FitsOneMemtable(const Room& room) const = 0;
  virtual wal::Wal& log() = 0;
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

class WriterQueue {
 public:
  explicit WriterQueue(Host& host) : host_(host) {}
  WriterQueue(const WriterQueue&) = delete;
  WriterQueue& operator=(const WriterQueue&) = delete;

  // WHY noexcept: if a leader runs out of memory between its frame in the WAL and its records in the
  // memtable, the write cannot be undone and the queue cannot wait for it. The process terminates instead
  // (docs/decisions/0017-out-of-memory.md).
  Status Commit(const Change& change) noexcept;

  // Takes the writers' lock. When it returns OK, all earlier commits are published; until UnlockWriters only
  // changes of this owner commit. Busy if the lock is not free within `wait_nanos` (UINT64_MAX: no limit), or
  // if this thread holds it and would wait for itself; a Commit by this thread without the owner is Busy,
  // too. ShuttingDown after Stop. THREADS: any thread may unlock.
  Status LockWriters(const void* owner, uint64_t wait_nanos);
  void UnlockWriters(const void* owner);
  // The database closes: all present and later waiters for the lock get ShuttingDown.
  void Stop();

  // Exclusive use of the WAL and of the memtable's writing side, for the life of the object.
  class Waiter;
  class [[nodiscard]] ExclusiveSection {
   public:
    explicit ExclusiveSection(WriterQueue& queue);
    // Takes the section only if the queue is empty and no lone writer holds it; does not wait.
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
    std::atomic<uint64_t> writes{0};  // calls of Commit
    std::atomic<uint64_t> records{0};
    std::atomic<uint64_t> groups{0};
    std::atomic<uint64_t> syncs{0};
  };
  const Counters& counters() const { return counters_; }

 private:
  // Bits of section_.
  static constexpr uint32_t kAlone = 1;   // a writer that is not in the queue holds the section
  static constexpr uint32_t kQueued = 2;  // the queue or the writers' lock is in use: no writer bypasses the queue

  bool TryEnterAlone();
  void ExitAlone(Durability durability);
  void Join(Waiter& waiter);
  void Leave(Waiter& last);
  bool HoldsSection(const Waiter& waiter) const REQUIRES_LOCK(mutex_);
  void ClearQueuedIfIdle() REQUIRES_LOCK(mutex_);
  void Append(Waiter& waiter) REQUIRES_LOCK(mutex_);
  void Enqueue(Waiter& waiter) REQUIRES_LOCK(mutex_);
  bool YieldsToLoneWriter(const Waiter& waiter) const REQUIRES_LOCK(mutex_);
  void WaitForWritersLock(Waiter& waiter) REQUIRES_LOCK(mutex_);
  void GiveUpWaiting(Waiter& waiter) REQUIRES_LOCK(mutex_);
  void FormGroup(Waiter& leader) REQUIRES_LOCK(mutex_);
  void Lead(Waiter& leader);
  void LeadLarge(Waiter& waiter);
  void Stage(Waiter& waiter);
  Status Apply(Waiter& waiter);

  Host& host_;
  Counters counters_;

  std::atomic<uint32_t> section_{0};  // kQueued changes only under the mutex
  base::Mutex mutex_;
  // Holds the section, unless a lone writer holds it or the front still waits for kYieldNanos.
  Waiter* front_ GUARDED_BY(mutex_) = nullptr;
  Waiter* back_ GUARDED_BY(mutex_) = nullptr;

  // The writers' lock. Waiters exist only while it is held.
  const void* lock_owner_ GUARDED_BY(mutex_) = nullptr;
  std::thread::id lock_thread_ GUARDED_BY(mutex_);  // that took the lock
  Waiter* lock_waiters_front_ GUARDED_BY(mutex_) = nullptr;
  Waiter* lock_waiters_back_ GUARDED_BY(mutex_) = nullptr;
  bool is_stopped_ GUARDED_BY(mutex_) = false;
};

}  // namespace mergedb::write
