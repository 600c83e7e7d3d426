// The shape of the database: as readers see it (the SuperVersion) and as the MANIFEST says it is. The SuperVersion runs ahead.
//
//   SuperVersion       active | sealed sealed | runs            every seal, flush and release installs the next one at once
//   MANIFEST                            runs, log start  Commit brings it up to date, many changes in one synced VersionEdit
//
// WHY the MANIFEST lags: a flush of a small memtable would cost three device syncs, and most flushed tables are merged away
// before anybody needs them to be durable. Until a commit the log keeps what the tables hold, so a crash in between replays
// it; tables that no commit named are orphans, removed by the next open. How far it may lag is the log's quota.
//
// Commit order (rules W1, W2): sync new tables -> sync the directory -> MANIFEST -> only then let go of the log and of the files
// that the Version before named.
//
// THREADS: Seal, CountLargeBatch, StartEpoch by the holder of the turn; InstallFlush by one flush at a time; the rest any.
// Lock order: commit_mutex_ or install_mutex_, then mutex_, then the SuperVersion holder's.
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
    // Is what stands in the file at `path` the table `meta`, every byte of it?
    std::function<Status(const std::string& path, const format::FileMetaPtr& meta)> check_table;
    std::function<Status(const std::string& path, const format::BlobFileMeta& meta)> check_blob_file;
    // The file of this table, or value file, was replaced by an equal one.
    std::function<void(kv::FileNumber)> file_replaced;
    // Names for the MANIFEST to keep; null: none.
    std::function<std::vector<std::string>()> merge_operators = {};
    std::optional<std::string> key_marker = {};  // of the database's keyspaces; none: it has none yet
  };
  // What a commit says of the log, asked just before it.
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
  read::SuperVersionPin Pinned() const { return super_versions_.Pinned(); }  // for the time of one call

  // The active memtable, which holds what the log has up to `end`, takes no more; `next` does. `next` is the first one if
  // there is none.
  void Seal(std::shared_ptr<memtable::Memtable> next, const WalStart& end);
  // All pieces of a batch larger than a memtable are in memtables, and it is published next: Views from before are too old for it.
  void CountLargeBatch();
  // REQUIRES: the reader took `view` first, then the published sequence.
  bool IsTooOld(const read::SuperVersion& super_version) const {
    SCHEDULE_POINT("look whether the View is too old");
    // WHY acquire: it follows the load of the sequence, whose store follows CountLargeBatch.
    return super_version.large_batches < large_batches_.load(std::memory_order_acquire);
  }

  size_t sealed_count() const;
  std::shared_ptr<memtable::Memtable> OldestSealed() const;  // null if none
  kv::Sequence flushed_sequence() const;                     // all changes up to this one are in tables
  // The oldest sealed memtable is in `table` now (null: it held nothing that anybody needs) and in value files of its own.
  Status InstallFlush(const format::FileMetaPtr& table, const std::vector<format::BlobFilePtr>& blob_files = {});
  Status Install(const format::VersionEdit& edit);

  // The active memtable begins in a new epoch of the log, and everything older is flushed.
  void StartEpoch(const WalStart& start);

  // From the next commit on the MANIFEST names this marker (kv/key_map.h). Never taken back.
  void SetKeyMarker(std::string marker);

  // Make the MANIFEST say what the SuperVersion's runs are. After a success, and before the next commit asks for `wal_facts`, `wal_released` hears
  // where the log is needed from; it may be null.
  using LogReleased = std::function<void(const WalStart&)>;
  Status Commit(const std::function<WalFacts(const WalStart&)>& wal_facts, std::optional<uint64_t> clean_wal_end,
                const LogReleased& wal_released);
  bool HasUncommitted() const;
  // The tables and value files of `version`, which is or was the SuperVersion's, are durable with their names when this returns OK.
  Status SyncFiles(const version::Version& version);
  // A table's file on which a sync failed. Nothing may be written to it and synced again: the system might say OK to pages it lost.
  bool SyncHasFailed(kv::FileNumber number) const;
  // For whoever waits for what is there now, and not for what comes after it. Everything sealed so far, and everything in
  // tables, ends before these sequences; `changes` counts what a commit has to write, `committed_changes` what one wrote.
  kv::Sequence sealed_end() const;
  kv::Sequence flushed_end() const;
  uint64_t changes() const;
  uint64_t committed_changes() const;
  // Log kept only because the MANIFEST lags.
  uint64_t UncommittedLogBytes() const;
  // Bytes of tables and value files that a commit would free.
  uint64_t uncommitted_dead_bytes() const { return dead_bytes_.load(std::memory_order_relaxed); }

  std::optional<kv::FileNumber> manifest_number() const;
  uint64_t manifest_bytes() const { return manifest_bytes_.load(std::memory_order_relaxed); }
  uint64_t commits() const { return commits_.load(std::memory_order_relaxed); }

 private:
  struct Sealed {
    std::shared_ptr<memtable::Memtable> memtable;
    WalStart end;
  };
  struct Target {  // what a commit makes durable
    version::VersionPtr version;
    WalStart wal_start;
    kv::Position next_position{};
    kv::Sequence flushed_sequence = 0;
  };

  // Returns the SuperVersion before, to be let go of when the lock is: it may hold the last of a memtable.
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
  std::atomic<uint64_t> dead_bytes_{0};
  std::atomic<uint64_t> commits_{0};
  std::atomic<uint64_t> manifest_bytes_{0};  // as of the last commit: asking must not wait for the next one's sync
  std::atomic<uint64_t> large_batches_{0};   // written under mutex_, after the SuperVersion that counts as many
  read::SuperVersionHolder super_versions_;

  mutable base::Mutex commit_mutex_;
  manifest::Manifest manifest_ GUARDED_BY(commit_mutex_);
  version::VersionPtr committed_ GUARDED_BY(commit_mutex_);                 // what the MANIFEST says
  std::vector<std::string> committed_operators_ GUARDED_BY(commit_mutex_);  // the names that it has
  std::optional<std::string> key_marker_ GUARDED_BY(commit_mutex_);
  bool key_marker_is_committed_ GUARDED_BY(commit_mutex_);
  std::vector<version::VersionPtr> suspects_ GUARDED_BY(commit_mutex_);  // what it may say: commits of unknown outcome
  std::set<kv::FileNumber> synced_ GUARDED_BY(commit_mutex_);
  mutable base::Mutex failed_mutex_;                                // a leaf
  std::set<kv::FileNumber> sync_failed_ GUARDED_BY(failed_mutex_);  // never to be synced again: to be replaced

  base::Mutex install_mutex_;  // one new Version at a time
  mutable base::Mutex mutex_;
  std::shared_ptr<memtable::Memtable> active_ GUARDED_BY(mutex_);
  std::deque<Sealed> sealed_ GUARDED_BY(mutex_);  // oldest first
  version::VersionPtr version_ GUARDED_BY(mutex_);
  WalStart flushed_ GUARDED_BY(mutex_);  // the tables hold everything of the log before this
  // And up to this sequence what is after it: pieces of a batch whose log must be kept until the last one is in.
  kv::Sequence flushed_sequence_ GUARDED_BY(mutex_) = 0;
  kv::Position next_position_;  // written under install_mutex_ and mutex_ both, read under either
  bool has_uncommitted_ GUARDED_BY(mutex_) = true;
  uint64_t changes_ GUARDED_BY(mutex_) = 1;
  uint64_t committed_changes_ GUARDED_BY(mutex_) = 0;
  uint64_t committed_position_ GUARDED_BY(mutex_) = 0;
  uint64_t committed_epoch_ GUARDED_BY(mutex_) = 0;
};

}  // namespace mergedb::db
