// The tree of an open database, and what makes its files: the VersionSet, the WAL, the commits of both to the MANIFEST,
// the factory of new tables and blob files, and the recycled files that new files overwrite.
#pragma once

#include <memory>
#include <string>

#include "compaction/outputs.h"
#include "db/state/manifest_committer.h"
#include "db/state/page_cache_room.h"
#include "db/state/recycled_files.h"
#include "db/state/store.h"
#include "db/state/version_set.h"
#include "wal/current_wal.h"

namespace mergedb::db {

// The settings of `store` for new files in `directory`. Their filter policy and write times are not set.
compaction::TableFactory FactoryFor(Store& store, std::string directory, compaction::FileOwner& owner);

// THREADS: any; the members synchronize themselves.
struct Tree final : private compaction::FileOwner {
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
  env::WriteTimes write_times;       // of tables and blob files
  compaction::TableFactory factory;  // constant after construction

 private:
  kv::FileNumber AllocateNumber() override { return version_set.AllocateNumber(); }
  Result<bool> Reuse(const format::DataFile& file) override { return recycled_files.Reuse(file); }
  format::FileMetaPtr Track(const format::FileMetaPtr& table) override;
  format::BlobFilePtr Track(const format::BlobFilePtr& blob_file) override;
  bool HasReaders() override { return store_.TakeReadersSeen(); }
  bool FitsInPageCache(uint64_t bytes) override {
    return page_cache_room_.HasRoom(version_set.Pinned()->version->bytes_on_disk(), bytes);
  }
  template <class Meta>
  std::shared_ptr<const Meta> TellAndTrack(const std::shared_ptr<const Meta>& meta);

  Store& store_;
  PageCacheRoom page_cache_room_;
};

}  // namespace mergedb::db
