// The writing side of a database: it owns the writer queue and the active memtable. For the leader of a group it
// provides a memtable with room and a WAL that accepts writes.
//
//   Commit ─► WriterQueue ─► Host (this class): write delay, checks, room in the memtable, WAL
//                                 └─ the memtable is full: SwitchMemtable ─► Background: flush
//
// THREADS: in the exclusive section, if nothing else is said. Lock order: mutex_ before VersionSet's.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>

#include "base/wait_counter.h"
#include "db/access/commit_checks.h"
#include "db/background/background.h"
#include "db/recovery/wal_epochs.h"
#include "db/state/store.h"
#include "db/state/tree.h"
#include "env/latencies.h"
#include "read/next_step.h"
#include "write/write_delay.h"
#include "write/writer_queue.h"

namespace mergedb::db {

class WriteHost final : private write::Host {
 public:
  WriteHost(Store& store, Tree& tree, CommitChecks& checks, WalEpochs& epochs)
      : store_(store),
        tree_(tree),
        checks_(checks),
        epochs_(epochs),
        write_delay_(store.options.env.clock, store.options.write_delay_us_max * 1000),
        queue_(*this, {.current_wal = tree.wal,
                       .memtable_bytes = store.memory.memtable_bytes,
                       .clock = store.options.env.clock}) {}

  // The open: the first memtable, and the epoch of the WAL that it begins. Then WalEpochs::CreateWal and SetBackground,
  // before the first write.
  Status Start(const VersionSet::WalStart& start);
  void SetBackground(Background& background) { background_ = &background; }

  // ---- THREADS: any.

  // OK if a write with `options` is allowed.
  Status CheckWritable(const WriteOptions& options) {
    RETURN_IF_ERROR(store_.CheckWritable());
    if (options.durability == Durability::kNoWal) has_unlogged_.store(true, std::memory_order_relaxed);
    return {};
  }
  Status Commit(const write::Change& change) {
    const env::LatencyTimer timer(store_.latencies, env::Operation::kWrite, [&] { NoteWrite(change); });
    Status status = queue_.Commit(change);
    if (status.ok()) [[likely]]
      return status;
    return read::OfWrite(std::move(status), store_.directory);
  }
  Status SyncWal();
  // Makes the active memtable immutable, so that background work flushes it.
  Status BeginFlush();
  // BeginFlush, if the active memtable is too large for a database at rest (DB::WaitForCompaction).
  Status BeginFlushForRest();
  // For background work on an idle database; does nothing if a writer is active. BeginFlush, if `is_worth_it` or if the
  // WAL is large. Gives back the memory that no record uses and, if there is nothing to flush, the disk space of a
  // large WAL.
  void BeginIdleFlush(bool is_worth_it);
  // If no writer is active: gives back what a large WAL does not need of the disk.
  void GiveBackWal();
  // Calls wait(), which waits for background work. If that found no disk space, gives back what FreeSpace does, and
  // calls it once more.
  template <typename Wait>
  Status WaitWithFreedSpace(Wait&& wait) {
    Status status = wait();
    return status.IsNoSpace() && EnterAndFreeSpace() ? wait() : status;
  }
  // Background work prepares the standby memtable, because clearing the index and touching fresh pages takes
  // time. There is at most one standby, and only while it fits into the memory for unflushed writes. A small database
  // and one at rest have none.
  void MakeStandby();

  write::WriterQueue& queue() { return queue_; }
  const write::WriterQueue& queue() const { return queue_; }
  write::WriteDelay& write_delay() { return write_delay_; }
  const write::WriteDelay& write_delay() const { return write_delay_; }
  struct Counters {
    std::atomic<uint64_t> errors{0}, errors_no_space{0};
    std::atomic<uint64_t> resumes{0};
    base::WaitCounter memory_waits;  // of writers that waited for a flush
  };
  const Counters& counters() const { return counters_; }
  // The WAL found no disk space for the newest write.
  bool is_out_of_space() const { return is_out_of_space_; }

  // ---- In the exclusive section.

  // OK if the WAL accepts writes. Begins a new epoch if necessary.
  Status ResumeWal();
  Status SwitchMemtableIfUsed();
  // The first keyspace: moves to a WAL epoch whose MANIFEST names `marker`. REQUIRES: ResumeWal was OK.
  Status BeginKeyspaces(std::string marker);
  // For Close. If writes skipped the WAL: flushes them. Otherwise flushes if the WAL is so large that it should not
  // stay on the disk; if that fails, the WAL stays.
  Status FlushForClose();
  // Gives back what the WAL and recycled files hold of the disk without need; false if there is nothing.
  bool FreeSpace();

 private:
  Status BeforeGroup(size_t bytes) override;
  Status CheckConflicts(const write::Change& change) override { return checks_.Check(change); }
  Status MakeMemtableRoom(const write::Room& room, bool must) override;
  bool FreeFor(const Status& why) override { return why.IsBusy() ? background_->WaitForJobEnd() : FreeSpace(); }
  void FrameFailed(const write::Change& change, const Status& why) override;
  void GroupFailed(const Status& why) override { WalFailed(why); }
  void Publish(kv::Sequence last, bool in_pieces) override;

  wal::Wal& wal() { return tree_.wal.wal(); }
  std::shared_ptr<memtable::Memtable>& active() { return queue_.target().active; }
  void WalFailed(const Status& status);
  void NoteWrite(const write::Change& change) noexcept;  // for Store::heat
  bool IsUsable(const write::WriterQueue::ExclusiveSection& section) const;
  bool EnterAndFreeSpace();
  bool IsWorthSwitching();
  void GiveBackMemory();
  Status WaitForImmutableSlot();
  void SwitchMemtable(std::shared_ptr<memtable::Memtable> next);
  // A memtable with room for `room`, or any for null. Busy if there is no memory for it.
  Result<std::shared_ptr<memtable::Memtable>> TakeMemtable(const write::Room* room);
  Status Resume();
  Status FlushAll();

  Store& store_;
  Tree& tree_;
  CommitChecks& checks_;
  WalEpochs& epochs_;
  Background* background_ = nullptr;
  write::WriteDelay write_delay_;
  write::WriterQueue queue_;
  Counters counters_;
  std::atomic<bool> is_out_of_space_{false};
  std::atomic<bool> has_unlogged_{false};  // true once a write skipped the WAL
  // The active memtable was a quarter full since the last rest, so the next one is allocated ahead, with its pages.
  std::atomic<bool> needs_standby_{false};

  // (exclusive section)
  size_t bytes_since_delay_update_ = 0;  // written since BeforeGroup last updated the write delay
  const size_t delay_update_bytes_ = std::min(store_.memory.memtable_bytes, store_.memory.unwritten_bytes_max) / 16;
  uint64_t resume_not_before_nanos_ = 0;

  base::Mutex mutex_;
  std::shared_ptr<memtable::Memtable> standby_ GUARDED_BY(mutex_);
};

}  // namespace mergedb::db
