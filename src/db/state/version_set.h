// The SuperVersion, which readers see. Each SwitchMemtable, flush and Install makes the next one at once. The
// MANIFEST follows later: a commit (db/state/manifest_committer.h) takes the present state and gives back the outcome.
//
//   SuperVersion   active | immutable | runs
//   commit                 runs, WAL start
//
// THREADS: SwitchMemtable, CountLargeBatch, StartEpoch: in the exclusive section. InstallFlush: one flush at a time.
// BeginCommit, EndCommit: one commit at a time. The rest: any.
// Lock order: install_mutex_, then mutex_, then the mutex of super_versions_.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <vector>

#include "base/schedule_point.h"
#include "base/sync.h"
#include "format/version_edit.h"
#include "kv/order.h"
#include "read/super_version.h"

namespace mergedb::db {

class VersionSet {
 public:
  using WalStart = format::VersionEdit::WalStart;
  // What a commit makes durable: the state at one moment.
  struct CommitState {
    version::VersionPtr version;
    WalStart wal_start;
    kv::Position next_position{};
    kv::Sequence flushed_sequence = 0;
    uint64_t changes = 0;
  };

  VersionSet(const kv::Order& order, version::VersionPtr version, kv::FileNumber next_file, kv::Position next_position,
             const WalStart& wal_start);

  kv::FileNumber AllocateNumber() { return kv::FileNumber{next_file_.fetch_add(1, std::memory_order_relaxed)}; }
  kv::FileNumber next_file() const { return kv::FileNumber{next_file_.load(std::memory_order_relaxed)}; }
  read::SuperVersionPtr Current() const { return super_versions_.Share(); }
  read::SuperVersionPin Pinned() const { return super_versions_.Pinned(); }  // for the duration of one call

  // The active memtable becomes immutable; it holds all changes of the WAL up to `end`. `next` becomes the
  // active one. If there is no active memtable, SwitchMemtable only sets `next`.
  void SwitchMemtable(std::shared_ptr<memtable::Memtable> next, const WalStart& end);
  // All pieces of a batch larger than a memtable are in memtables, and it is published next. Earlier
  // SuperVersions are too old for it.
  void CountLargeBatch();
  // REQUIRES: the reader took the SuperVersion first, then the published sequence.
  bool IsTooOld(const read::SuperVersion& super_version) const {
    SCHEDULE_POINT("check whether the SuperVersion is too old");
    // WHY acquire: this load follows the load of the sequence, whose store follows CountLargeBatch.
    return super_version.large_batches < large_batches_.load(std::memory_order_acquire);
  }

  size_t immutable_count() const;
  std::shared_ptr<memtable::Memtable> OldestImmutable() const;  // null if none
  // The oldest immutable memtable is now in `table` and in `blob_files`. `table` is null if no entry of the
  // memtable was needed.
  Status InstallFlush(const format::FileMetaPtr& table, const std::vector<format::BlobFilePtr>& blob_files = {});
  Status Install(const format::VersionEdit& edit);

  // The active memtable begins in a new epoch of the WAL. REQUIRES: all older changes are flushed.
  void StartEpoch(const WalStart& start);

  // BeginCommit returns the state to commit. EndCommit takes the outcome: if the commit failed, the changes are
  // uncommitted again.
  CommitState BeginCommit();
  void EndCommit(const CommitState& state, bool is_committed);
  bool HasUncommitted() const;
  // For callers that wait for the present state, not for later changes. All immutable memtables end before
  // immutable_end(); all changes before flushed().sequence are in tables. A commit has written the first
  // committed_changes() of changes().
  kv::Sequence immutable_end() const;
  WalStart flushed() const;  // tables hold everything before it
  uint64_t changes() const;
  uint64_t committed_changes() const;
  // Bytes of the WAL that are kept only because the MANIFEST lags.
  uint64_t UncommittedWalBytes() const;
  // Bytes of tables and blob files that a commit would make obsolete.
  uint64_t uncommitted_obsolete_bytes() const { return obsolete_bytes_.load(std::memory_order_relaxed); }
  // The same, with those that the running commit makes obsolete.
  uint64_t unreleased_bytes() const {
    return uncommitted_obsolete_bytes() + committing_obsolete_bytes_.load(std::memory_order_relaxed);
  }

 private:
  struct Immutable {
    std::shared_ptr<memtable::Memtable> memtable;
    WalStart end;
  };

  // Returns the previous SuperVersion. The caller destroys it after it releases the lock: it may own the last
  // reference to a memtable.
  [[nodiscard]] read::SuperVersionPtr InstallSuperVersionLocked(uint64_t large_batches) REQUIRES_LOCK(mutex_);
  [[nodiscard]] read::SuperVersionPtr NoteChangeLocked() REQUIRES_LOCK(mutex_);
  Result<version::VersionPtr> NextVersion(const format::VersionEdit& edit) REQUIRES_LOCK(install_mutex_);

  const kv::Order& order_;
  std::atomic<uint64_t> next_file_;
  std::atomic<uint64_t> obsolete_bytes_{0};
  std::atomic<uint64_t> committing_obsolete_bytes_{0};
  // Written under mutex_, after the SuperVersion with the same count is installed.
  std::atomic<uint64_t> large_batches_{0};
  read::SuperVersionHolder super_versions_;

  base::Mutex install_mutex_;  // one new version at a time
  mutable base::Mutex mutex_;
  std::shared_ptr<memtable::Memtable> active_ GUARDED_BY(mutex_);
  std::deque<Immutable> immutables_ GUARDED_BY(mutex_);  // oldest first
  version::VersionPtr version_ GUARDED_BY(mutex_);
  WalStart flushed_ GUARDED_BY(mutex_);  // tables hold all changes of the WAL before this point
  // Later changes up to this sequence are in tables too: pieces of a large batch, whose WAL frame is needed
  // until all are.
  kv::Sequence flushed_sequence_ GUARDED_BY(mutex_) = 0;
  kv::Position next_position_;  // written under install_mutex_ and mutex_ both, read under either
  bool has_uncommitted_ GUARDED_BY(mutex_) = true;
  uint64_t changes_ GUARDED_BY(mutex_) = 1;
  uint64_t committed_changes_ GUARDED_BY(mutex_) = 0;
  uint64_t committed_position_ GUARDED_BY(mutex_) = 0;
  uint64_t committed_epoch_ GUARDED_BY(mutex_) = 0;
};

}  // namespace mergedb::db
