// Commits to the MANIFEST, which lags behind the SuperVersion: one synced VersionEdit covers many changes.
//
//   Commit:  VersionSet::BeginCommit ─► sync new files ─► sync the directory ─► MANIFEST
//                                              ─► VersionSet::EndCommit ─► release the WAL and the old files
//
// WHY the MANIFEST lags: committing each flush of a small memtable would cost three device syncs, and most
// flushed tables are compacted away before they need to be durable (docs/decisions/0009-manifest-lags.md).
// Until a commit, the WAL keeps the changes that the new tables hold, so recovery after a crash replays them.
// Tables that no commit names are orphans; the next open removes them. The WAL quota limits the lag
// (CommitRunner::IsOverdueLocked).
//
// INVARIANT (rules W1, W2 of docs/INTERNALS.md): the MANIFEST names only durable files (FileSyncer). A commit releases
// the WAL and the files of the version before it after the MANIFEST is durable.
//
// THREADS: any. Lock order: mutex_, the commit mutex, then the mutex of VersionSet.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "base/sync.h"
#include "db/state/file_syncer.h"
#include "db/state/operator_names.h"
#include "db/state/version_set.h"
#include "manifest/manifest.h"
#include "wal/current_wal.h"

namespace mergedb::db {

class ManifestCommitter {
 public:
  struct Options {
    const kv::Order& order;
    uint64_t database_id = 0;
    FileSyncer::Options files;
    const OperatorNames* merge_operators = nullptr;  // that the MANIFEST keeps; null: none
    std::optional<std::string> key_marker = {};  // keyspace marker (kv/key_map.h); empty while there are no keyspaces
    Clock* clock = nullptr;                      // to count the time of commits; may be null
  };

  // `version` is the first version of `version_set`; its files are durable. The first Commit writes a complete
  // MANIFEST. `wal` outlives the committer.
  ManifestCommitter(const Options& options, VersionSet& version_set, const wal::CurrentWal& wal,
                    version::VersionPtr version);

  // Brings the MANIFEST up to date with the current version and the WAL. After a success it releases the WAL that no
  // replay needs, before the next commit. `clean_wal_end`: the database closes, the WAL ends there, and the caller
  // removes the files that nobody needs.
  Status Commit(std::optional<uint64_t> clean_wal_end = {});
  // From the next commit on, the MANIFEST names this keyspace marker (kv/key_map.h). It is never withdrawn.
  void SetKeyMarker(std::string marker);

  // REQUIRES: `version` is or was the version of the SuperVersion. OK: its tables and blob files are durable
  // under their names.
  Status SyncFiles(const version::Version& version);
  bool SyncHasFailed(kv::FileNumber number) const { return files_.HasFailed(number); }

  std::optional<kv::FileNumber> manifest_number() const;
  uint64_t manifest_bytes() const { return manifest_bytes_.load(std::memory_order_relaxed); }
  uint64_t commits() const { return commits_.load(std::memory_order_relaxed); }
  // Time of commits, which is mostly that of syncs of tables, blob files and the MANIFEST.
  uint64_t commit_nanos() const { return commit_nanos_.load(std::memory_order_relaxed); }

 private:
  format::VersionEdit Describe(const VersionSet::CommitState& state, std::optional<uint64_t> clean_wal_end) const
      REQUIRES_LOCK(mutex_);
  Status CommitEdit(const format::VersionEdit& edit, const version::VersionPtr& version) REQUIRES_LOCK(mutex_);
  void NoteCommitted(const format::VersionEdit& edit, version::VersionPtr version) REQUIRES_LOCK(mutex_);

  const Options options_;
  VersionSet& version_set_;
  const wal::CurrentWal& wal_;
  FileSyncer files_;  // used under mutex_, except by SyncHasFailed
  std::atomic<uint64_t> commits_{0}, commit_nanos_{0};
  // As of the last commit. WHY a copy: a reader of this number must not wait for the sync of a commit.
  std::atomic<uint64_t> manifest_bytes_{0};

  mutable base::Mutex mutex_;  // the commit mutex
  manifest::Manifest manifest_ GUARDED_BY(mutex_);
  version::VersionPtr committed_ GUARDED_BY(mutex_);                 // the version that the MANIFEST describes
  std::vector<std::string> committed_operators_ GUARDED_BY(mutex_);  // the operator names in it
  std::optional<std::string> key_marker_ GUARDED_BY(mutex_);
  bool key_marker_is_committed_ GUARDED_BY(mutex_);
  // Versions that the MANIFEST may describe: commits of unknown outcome.
  std::vector<version::VersionPtr> suspects_ GUARDED_BY(mutex_);
};

}  // namespace mergedb::db
