// The SuperVersion, which readers see, and the version that the MANIFEST describes. The SuperVersion runs
// ahead.
//
//   SuperVersion   active | immutable | runs             each SwitchMemtable, flush and Install makes the next one at once
//   MANIFEST               runs, WAL start               Commit updates it: many changes in one synced VersionEdit
//
// WHY the MANIFEST lags: committing each flush of a small memtable would cost three device syncs, and most
// flushed tables are compacted away before they need to be durable (docs/decisions/0009-manifest-lags.md).
// Until a commit, the WAL keeps the changes that the new tables hold, so recovery after a crash replays them.
// Tables that no commit names are orphans; the next open removes them. The WAL quota limits the lag
// (CommitRunner::IsOverdueLocked).
//
// Commit order (rules W1, W2): sync new tables -> sync the directory -> MANIFEST -> only then release the WAL
// and the files that the last committed version names.
//
// THREADS: SwitchMemtable, CountLargeBatch, StartEpoch: in the exclusive section. InstallFlush: one flush at a time.
// The rest: any.
// Lock order: commit_mutex_ or install_mutex_, then mutex_, then the mutex of super_versions_.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/schedule_point.h"
#include "base/sync.h"
#include "format/file_name.h"
#include "format/version_edit.h"
#include "manifest/manifest.h"
#include "mergedb/env.h"
#include "read/super_version.h"

namespace mergedb::db {

class VersionSet {
 public:
  using WalStart = format::VersionEdit::WalStart;
  struct Options {
    FileSystem* file_system = nullptr;
    std::string directory;
    const kv::Order& order;
    uint64_t database_id = 0;
    // OK if every byte of the file at `path` is as table `meta` describes it.
    std::function<Status(const std::string& path, const format::FileMetaPtr& meta)> check_table;
    std::function<Status(const std::string& path, const format::BlobFileMeta& meta)> check_blob_file;
    // Called after the file of this table or blob file was replaced by an equal copy.
    std::function<void(kv::FileNumber)> file_replaced;
    // Names of merge operators that the MANIFEST keeps; null: none.
    std::function<std::vector<std::string>()> merge_operators = {};
    std::optional<std::string> key_marker = {};  // keyspace marker (kv/key_map.h); empty while there are no keyspaces
  };
  // State of the WAL that a commit records; asked for just before it.
  struct WalFacts {
    uint64_t durable = 0;
    std::vector<kv::FileNumber> segments;
    std::optional<uint64_t> staging_bytes = {};  // of the file STAGING, if frames may be in it
  };

  // The first Commit writes a complete MANIFEST.
  VersionSet(const Options& options, version::VersionPtr version, kv::FileNumber next_file, kv::Position next_position,
             const WalStart& wal_start);

  kv::FileNumber AllocateNumber() { return kv::FileNumber{next_file_.fetch_add(1, std::memory_order_relaxed)}; }
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
  kv::Sequence flushed_sequence() const;                        // all changes up to this one are in tables
  // The oldest immutable memtable is now in `table` and in `blob_files`. `table` is null if no entry of the
  // memtable was needed.
  Status InstallFlush(const format::FileMetaPtr& table, const std::vector<format::BlobFilePtr>& blob_files = {});
  Status Install(const format::VersionEdit& edit);

  // The active memtable begins in a new epoch of the WAL. REQUIRES: all older changes are flushed.
  void StartEpoch(const WalStart& start);

  // From the next commit on, the MANIFEST names this keyspace marker (kv/key_map.h). It is never withdrawn.
  void SetKeyMarker(std::string marker);

  // Brings the MANIFEST up to date with the current version. After a success, before the next commit asks for
  // `wal_facts`, calls `wal_released` with the point from which the WAL is still needed. `wal_released` may
  // be null.
  using WalReleased = std::function<void(const WalStart&)>;
  Status Commit(const std::function<WalFacts(const WalStart&)>& wal_facts, std::optional<uint64_t> clean_wal_end,
                const WalReleased& wal_released);
  bool HasUncommitted() const;
  // REQUIRES: `version` is or was the version of the SuperVersion. OK: its tables and blob files are durable
  // under their names.
  Status SyncFiles(const version::Version& version);
  // True if a sync of this table or blob file failed. The file must not be overwritten and synced again: the
  // system might report success for pages that it lost.
  bool SyncHasFailed(kv::FileNumber number) const;
  // For callers that wait for the present state, not for later changes. All immutable memtables end before
  // immutable_end(); all changes before flushed_end() are in tables. A commit has written the first
  // committed_changes() of changes().
  kv::Sequence immutable_end() const;
  kv::Sequence flushed_end() const;
  uint64_t changes() const;
  uint64_t committed_changes() const;
  // Bytes of the WAL that are kept only because the MANIFEST lags.
  uint64_t UncommittedWalBytes() const;
  // Bytes of tables and blob files that a commit would make obsolete.
  uint64_t uncommitted_obsolete_bytes() const { return obsolete_bytes_.load(std::memory_order_relaxed); }

  std::optional<kv::FileNumber> manifest_number() const;
  uint64_t manifest_bytes() const { return manifest_bytes_.load(std::memory_order_relaxed); }
  uint64_t commits() const { return commits_.load(std::memory_order_relaxed); }

 private:
  struct Immutable {
    std::shared_ptr<memtable::Memtable> memtable;
    WalStart end;
  };
  struct Target {  // the state that a commit makes durable
    version::VersionPtr version;
    WalStart wal_start;
    kv::Position next_position{};
    kv::Sequence flushed_sequence = 0;
  };

  // Returns the previous SuperVersion. The caller destroys it after it releases the lock: it may own the last
  // reference to a memtable.
  [[nodiscard]] read::SuperVersionPtr InstallSuperVersionLocked(uint64_t large_batches);
  [[nodiscard]] read::SuperVersionPtr NoteChangeLocked();
  Result<version::VersionPtr> NextVersion(const format::VersionEdit& edit);
  Status SyncNewFiles(const format::VersionEdit& edit);
  using CheckCopy = std::function<Status(const std::string& path)>;
  Status SyncNewFile(format::FileKind kind, kv::FileNumber number, const CheckCopy& check,
                     std::set<kv::FileNumber>* fresh);
  Status SyncFile(format::FileKind kind, kv::FileNumber number);
  Status ReplaceFile(format::FileKind kind, kv::FileNumber number, const CheckCopy& check);
  format::VersionEdit Describe(const Target& target, const WalFacts& facts,
                               std::optional<uint64_t> clean_wal_end) const;

  const Options options_;
  std::atomic<uint64_t> next_file_;
  std::atomic<uint64_t> obsolete_bytes_{0};
  std::atomic<uint64_t> commits_{0};
  // As of the last commit. WHY a copy: a reader of this number must not wait for the sync of a commit.
  std::atomic<uint64_t> manifest_bytes_{0};
  // Written under mutex_, after the SuperVersion with the same count is installed.
  std::atomic<uint64_t> large_batches_{0};
  read::SuperVersionHolder super_versions_;

  mutable base::Mutex commit_mutex_;
  manifest::Manifest manifest_ GUARDED_BY(commit_mutex_);
  version::VersionPtr committed_ GUARDED_BY(commit_mutex_);                 // the version that the MANIFEST describes
  std::vector<std::string> committed_operators_ GUARDED_BY(commit_mutex_);  // the operator names in it
  std::optional<std::string> key_marker_ GUARDED_BY(commit_mutex_);
  bool key_marker_is_committed_ GUARDED_BY(commit_mutex_);
  // Versions that the MANIFEST may describe: commits of unknown outcome.
  std::vector<version::VersionPtr> suspects_ GUARDED_BY(commit_mutex_);
  std::set<kv::FileNumber> synced_ GUARDED_BY(commit_mutex_);
  mutable base::Mutex failed_mutex_;                                // a leaf
  std::set<kv::FileNumber> sync_failed_ GUARDED_BY(failed_mutex_);  // files to be replaced, never to be synced again

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
