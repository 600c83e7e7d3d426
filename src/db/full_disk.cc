#include "db/full_disk.h"

#include <string>
#include <vector>

#include "db/recovery/recovery.h"
#include "db/replaced_files.h"
#include "db/state/options_check.h"
#include "format/file_name.h"
#include "manifest/loader.h"
#include "manifest/manifest.h"

namespace mergedb::db {
namespace {

// The files that an open would remove, too.
std::vector<std::string> NeedlessFiles(const std::string& path, const Inventory& inventory,
                                       const version::Version& version) {
  std::vector<std::string> needless;
  for (const kv::FileNumber number : inventory.recycled_files)
    needless.push_back(format::FilePath(path, format::FileKind::kRecycled, number));
  for (const kv::FileNumber number : inventory.tables)
    if (!version.files().contains(number)) needless.push_back(format::TablePath(path, number));
  for (const kv::FileNumber number : inventory.blob_files)
    if (version.FindBlobFile(number) == nullptr) needless.push_back(format::BlobFilePath(path, number));
  return needless;
}

bool HasMarker(const Inventory& inventory) {
  return inventory.has_repair_marker || inventory.has_import_marker || inventory.has_keep_marker;
}

Result<bool> FreeSpace(FileSystem* files, const std::string& path, const kv::Order& order) {
  ASSIGN_OR_RETURN(const auto lock, LockDatabase(files, path));
  ASSIGN_OR_RETURN(const manifest::Loaded loaded, manifest::Load(files, path, order));
  ASSIGN_OR_RETURN(const Inventory inventory, TakeInventory(files, path));
  if (loaded.has_dropped() || HasMarker(inventory)) return false;
  RETURN_IF_ERROR(CheckFiles(files, path, *loaded.version));
  ASSIGN_OR_RETURN(const wal::Replayed replayed,
                   wal::Replay(files, path, loaded.database_id, loaded.wal_start, ExpectedOf(loaded),
                               [](kv::Sequence, std::string_view) { return Status(); }));
  if (!replayed.report.empty() || replayed.dropped_bytes > 0) return false;
  RETURN_IF_ERROR(manifest::MakeDurable(files, path, loaded.manifest));
  bool is_freed = false;
  for (const std::string& file : NeedlessFiles(path, inventory, *loaded.version)) is_freed |= files->Remove(file).ok();
  const auto bytes = wal::GiveBackStaging(files, path, loaded.wal_start.position, replayed);
  return is_freed || (bytes && *bytes > 0);
}

}  // namespace

bool FreeSpaceForOpen(const Options& options, const std::string& path) {
  Options checked = options;
  if (!CheckOptions(&checked).ok()) return false;
  const auto bound = BindDirectory(&checked, path);
  if (!bound) return false;
  const auto is_freed = FreeSpace(checked.env.file_system, path, kv::Order(checked.comparator));
  return is_freed && *is_freed;
}

}  // namespace mergedb::db
