// The tree of an open database, and what makes its files: the VersionSet, the WAL, the commits of both to the MANIFEST,
// the factory of new tables and blob files, and the recycled files that new files overwrite.
#pragma once

#include "compaction/outputs.h"
#include "db/state/manifest_committer.h"
#include "db/state/recycled_files.h"
#include "db/state/store.h"
#include "db/state/version_set.h"
#include "wal/current_wal.h"

namespace mergedb::db {

// THREADS: any; the members synchronize themselves.
struct Tree {
  struct Origin {
    uint64_t database_id = 0;
    version::VersionPtr version = {};  // its files are durable
    kv::FileNumber next_file{};
    kv::Position next_position{};
    VersionSet::WalStart wal_start = {};
  };
  Tree(Store& store, Origin origin);  // `store` outlives it
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  const uint64_t database_id;
  VersionSet version_set;
  wal::CurrentWal wal;
  ManifestCommitter committer;
  RecycledFiles recycled_files;
  env::WriteTimes write_times;  // of tables and blob files
  const compaction::TableFactory factory;
};

}  // namespace mergedb::db
