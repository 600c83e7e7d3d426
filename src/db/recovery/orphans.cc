#include "db/recovery/orphans.h"

#include <utility>
#include <vector>

#include "env/copy_file.h"
#include "format/file_name.h"

namespace mergedb::db {

using format::FileKind;

void RemoveOrphans(const Store& store, const Tree& tree, const Inventory& inventory, bool wal_was_torn) {
  FileSystem* const files = store.options.env.file_system;
  const auto version = tree.version_set.Current()->version;
  const auto live = version->files();
  const auto current = tree.committer.manifest_number();
  const auto remove = [&](const std::string& path) { (void)files->Remove(path); };  // else again at the next open
  for (const kv::FileNumber number : inventory.manifests) {
    if (number != current) remove(format::ManifestPath(store.directory, number));
  }
  if (wal_was_torn) return;
  for (const kv::FileNumber number : inventory.tables) {
    if (!live.contains(number)) remove(format::TablePath(store.directory, number));
  }
  for (const kv::FileNumber number : inventory.blob_files) {
    if (version->FindBlobFile(number) == nullptr) remove(format::BlobFilePath(store.directory, number));
  }
}

namespace {

// The tables, blob files and MANIFESTs that RemoveOrphans would remove. `with_wal`: also the files of the
// WAL.
std::vector<std::string> UnnamedFiles(const Tree& tree, const Inventory& inventory, bool with_wal) {
  const auto version = tree.version_set.Current()->version;
  const auto live = version->files();
  const auto current = tree.committer.manifest_number();
  std::vector<std::string> names;
  const auto add = [&](FileKind kind, kv::FileNumber number = {}) {
    names.push_back(format::PrintFileName(kind, number));
  };
  for (const kv::FileNumber number : inventory.tables) {
    if (!live.contains(number)) add(FileKind::kTable, number);
  }
  for (const kv::FileNumber number : inventory.blob_files) {
    if (version->FindBlobFile(number) == nullptr) add(FileKind::kBlobFile, number);
  }
  for (const kv::FileNumber number : inventory.manifests) {
    if (number != current) add(FileKind::kManifest, number);
  }
  if (!with_wal) return names;
  for (const kv::FileNumber number : inventory.segments) add(FileKind::kSegment, number);
  if (inventory.has_staging) add(FileKind::kStaging);
  return names;
}

}  // namespace

Result<KeptOrphans> KeptOrphans::Prepare(const Store& store, const Tree& tree, const Inventory& inventory,
                                         bool with_wal) {
  FileSystem* const files = store.options.env.file_system;
  ASSIGN_OR_RETURN(LostDirectory lost, LostDirectory::Look(files, store.directory));
  if (!inventory.has_keep_marker) {
    RETURN_IF_ERROR(env::WriteNewFile(
        files, format::FilePath(store.directory, FileKind::kKeep),
        "A part of the MANIFEST was dropped. The next open moves the files that the rest does not name to lost/.\n"));
  }
  RETURN_IF_ERROR(lost.Create());  // syncs the directory
  return KeptOrphans(store, tree, inventory, std::move(lost), with_wal);
}

void KeptOrphans::Move() {
  for (const std::string& name : UnnamedFiles(tree_, inventory_, with_wal_)) {
    Status of_file = lost_.Move(name);
    moved_ += of_file.ok();
    if (!of_file.ok()) status_ = std::move(of_file);
  }
  Status synced = lost_.Sync();
  if (status_.ok()) status_ = std::move(synced);
  // If KEEP stays, the next open moves files that it could remove. Nothing is lost.
  if (status_.ok()) {
    (void)store_.options.env.file_system->Remove(format::FilePath(store_.directory, FileKind::kKeep));
  }
}

std::string KeptOrphans::report() const {
  std::string text = store_.directory + ": " + std::to_string(moved_) +
                     " files that the rest of the MANIFEST does not name were moved to lost/\n";
  if (!status_.ok()) text += "files were not moved: " + status_.ToString() + "\n";
  return text;
}

}  // namespace mergedb::db
