#include "db/recovery/recovered_tree.h"

#include <algorithm>
#include <map>
#include <utility>

#include "compaction/flush_job.h"
#include "db/recovery/import.h"
#include "format/file_name.h"
#include "version/version_builder.h"

namespace mergedb::db {
namespace {

// Returns the same tree with tracked files: a file becomes obsolete when its last user releases it.
Result<version::VersionPtr> TrackFiles(const Store& store, const version::Version& version) {
  std::map<kv::FileNumber, format::FileMetaPtr> tracked;
  for (const auto& meta : version.file_metas()) tracked[meta->number] = store.obsolete->Track(meta);
  format::VersionEdit edit = version::VersionEditFromEmpty(version);
  for (auto& add : edit.adds) add.file = tracked[add.file->number];
  for (auto& add : edit.blob_files) add.file = store.obsolete->Track(add.file);
  return version::ApplyEdit(store.order, version::Version(), edit);
}

// Corruption if a table holds a sequence that neither MANIFEST nor WAL knows: the table is forged, or the WAL
// is another one. New changes would be older than the table, and compactions would keep its tombstones
// forever.
Status CheckNoneNewer(const Store& store, const version::Version& version, kv::Sequence last) {
  for (const auto& file : version.file_metas()) {
    if (file->largest_sequence <= last) continue;
    return Status::Corruption(format::TablePath(store.directory, file->number) + ": has sequence " +
                              std::to_string(file->largest_sequence) +
                              ", but the last sequence of MANIFEST and WAL is " + std::to_string(last));
  }
  return {};
}

// Removes the new files of an open that failed after a part of the WAL was flushed. REQUIRES: the Store is not used
// again.
void RemoveFilesFrom(const Store& store, std::unique_ptr<Tree> tree, kv::FileNumber first) {
  tree = nullptr;  // releases all tables and blob files
  for (const auto& obsolete : store.obsolete->Take()) {
    if (obsolete.number < first) continue;
    // If this fails, the file is an orphan.
    (void)store.options.env.file_system->Remove(format::FilePath(store.directory, obsolete.kind, obsolete.number));
  }
}

}  // namespace

Result<RecoveredTree> CreateTree(Store& store) {
  const Env& env = store.options.env;
  ASSIGN_OR_RETURN(const Inventory inventory, TakeInventory(env.file_system, store.directory));
  Tree::Origin origin{.version = std::make_shared<const version::Version>(),
                      .next_file = kv::FileNumber{kv::ToInt(inventory.largest) + 1},
                      .next_position = kv::Position{1}};
  do { origin.database_id = env.entropy(); } while (origin.database_id == 0);
  origin.wal_start = FirstOfEpoch(1, env.entropy(), 1);
  const VersionSet::WalStart start = origin.wal_start;
  auto tree = std::make_unique<Tree>(store, std::move(origin));
  const std::string parent = format::ParentOf(store.directory);
  RETURN_IF_ERROR(env.file_system->SyncDirectory(parent));  // rule W5
  return RecoveredTree{.tree = std::move(tree), .start = start};
}

Result<std::unique_ptr<Tree>> TakeTree(Store& store, const manifest::Loaded& loaded, kv::FileNumber next_file) {
  if (loaded.key_marker) store.SetKeyMap(std::make_unique<kv::KeyMap>(*loaded.key_marker));
  for (const std::string& name : loaded.merge_operators) store.operator_names.Add(name);
  ASSIGN_OR_RETURN(version::VersionPtr version, TrackFiles(store, *loaded.version));
  return std::make_unique<Tree>(store, Tree::Origin{.database_id = loaded.database_id,
                                                    .version = std::move(version),
                                                    .next_file = next_file,
                                                    .next_position = loaded.next_position,
                                                    .wal_start = loaded.wal_start});
}

Result<kv::Sequence> PublishReplayed(Store& store, const manifest::Loaded& loaded, const Replayed& replayed) {
  Logger* const logger = store.options.env.logger;
  const std::string report = loaded.report + replayed.wal.report;
  if (logger != nullptr && !report.empty()) logger->Log("recovery: " + report);
  const kv::Sequence last = std::max(loaded.last_sequence, replayed.last_sequence);
  RETURN_IF_ERROR(CheckNoneNewer(store, *loaded.version, last));
  store.snapshots->Publish(last);
  return last;
}

Result<RecoveredTree> RecoverTree(Store& store, const manifest::Loaded& loaded, const Inventory& inventory) {
  const Env& env = store.options.env;
  // Orphans may have numbers that the lagging MANIFEST does not know.
  uint64_t next_file = std::max(kv::ToInt(loaded.next_file), kv::ToInt(inventory.largest) + 1);
  ASSIGN_OR_RETURN(auto tree, TakeTree(store, loaded, kv::FileNumber{next_file}));

  const auto flush = [&](std::shared_ptr<memtable::Memtable>* full) -> Status {
    iterator::CompactionIteratorCounts counts;
    tree->version_set.SwitchMemtable(*full, loaded.wal_start);
    tree->version_set.SwitchMemtable(nullptr, loaded.wal_start);
    ASSIGN_OR_RETURN(auto flushed,
                     compaction::Flush(tree->factory, **full, {}, store.options.compression.upper, &counts));
    RETURN_IF_ERROR(tree->version_set.InstallFlush(flushed.table, flushed.blob_files));
    *full = nullptr;
    return {};
  };
  auto replay = ReplayWal(store, loaded, flush);
  const Result<kv::Sequence> last = replay ? PublishReplayed(store, loaded, *replay) : replay.error();
  if (!last) {
    RemoveFilesFrom(store, std::move(tree), kv::FileNumber{next_file});
    return last.error();
  }
  // WHY here: tables and WAL were read without error, so the source of an import is not needed, and the new epoch
  // may need their space. After a failure the next open removes them.
  if (inventory.has_import_marker) (void)RemoveImportedSource(env.file_system, store.directory);
  for (auto& memtable : replay->memtables) {
    if (Status status = flush(&memtable); !status.ok()) {
      RemoveFilesFrom(store, std::move(tree), kv::FileNumber{next_file});
      return status;
    }
  }
  std::string report = loaded.report + replay->wal.report;
  // If the sequences are used up, writes fail, not the open.
  const kv::Sequence next = std::min(*last + 1, kv::kSequenceMax);
  return RecoveredTree{.tree = std::move(tree),
                       .start = FirstOfEpoch(loaded.wal_start.epoch + 1, env.entropy(), next),
                       .wal = std::move(replay->wal),
                       .report = std::move(report)};
}

}  // namespace mergedb::db
