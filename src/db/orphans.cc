// Orphans: files that the MANIFEST does not name at the end of an open. After a crash no commit has named
// them yet, and the open removes them.
//
//   MANIFEST  [..][edit][edit]         all of it was read: an orphan is of no use
//   MANIFEST  [..][edit]xxxxxx         a part was dropped: a torn edit, or one that named these files. They go to lost/
//
// The commit of the new epoch replaces the damaged MANIFEST by a complete one, after which the next open
// would take the files for orphans. Therefore the marker file KEEP is durable before that commit, and stays
// until all files are durable in lost/. An open that finds KEEP moves the files as the first open did.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "db/db_impl.h"
#include "db/lost_directory.h"
#include "format/file_name.h"

namespace mergedb::db {

using format::FileKind;

// Removes the files that a crash or a failed open left. The WAL reuses or removes segments of this database,
// and leaves other segments alone. If the WAL lost its tail, tables and blob files stay until the next open:
// they may hold flushed changes of the lost tail. (WHY not lost/: a torn tail is common after a power cut,
// and only people empty lost/.)
void DbImpl::RemoveOrphans(const Inventory& inventory, bool log_was_torn) {
  FileSystem* const files = store_->options.env.file_system;
  const auto version = version_set_->Current()->version;
  const auto live = version->files();
  const auto current = committer_->manifest_number();
  const auto remove = [&](const std::string& path) { (void)files->Remove(path); };  // else again at the next open
  for (const kv::FileNumber number : inventory.recycled_files) recycled_files_.Adopt(number);
  for (const kv::FileNumber number : inventory.manifests) {
    if (number != current) remove(format::ManifestPath(store_->directory, number));
  }
  if (log_was_torn) return;
  for (const kv::FileNumber number : inventory.tables) {
    if (!live.contains(number)) remove(format::TablePath(store_->directory, number));
  }
  for (const kv::FileNumber number : inventory.blob_files) {
    if (version->FindBlobFile(number) == nullptr) remove(format::BlobFilePath(store_->directory, number));
  }
}

// The tables, blob files and MANIFESTs that RemoveOrphans would remove. `with_log`: also the files of the
// WAL.
std::vector<std::string> DbImpl::UnnamedFiles(const Inventory& inventory, bool with_log) const {
  const auto version = version_set_->Current()->version;
  const auto live = version->files();
  const auto current = committer_->manifest_number();
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
  if (!with_log) return names;
  for (const kv::FileNumber number : inventory.segments) add(FileKind::kSegment, number);
  if (inventory.has_staging) add(FileKind::kStaging);
  return names;
}

namespace {

// Durable when this returns OK.
Status MakeKeepMarker(FileSystem* files, const std::string& directory) {
  const std::string path = format::JoinPath(directory, format::PrintFileName(FileKind::kKeep));
  ASSIGN_OR_RETURN(auto file, files->Open(path, {.access = Access::kCreate}));
  RETURN_IF_ERROR(file->WriteAt(
      0, "A part of the MANIFEST was dropped. The next open moves the files that the rest does not name to lost/.\n"));
  RETURN_IF_ERROR(file->Sync());
  return file->Close();
}

}  // namespace

// WHY after the new epoch's commit: until then the files may still be needed. WHY a failed move is no failure
// of the open: the file stays where it is, and so does KEEP.
// WHY the WAL moves too if KEEP is found: the open that made KEEP may have dropped a part of the WAL.
Status DbImpl::KeepOrphans(const VersionSet::WalStart& start, const Inventory& inventory, wal::Replayed replayed) {
  FileSystem* const files = store_->options.env.file_system;
  const bool with_log = replayed.dropped_bytes > 0 || inventory.has_keep_marker;
  ASSIGN_OR_RETURN(LostDirectory aside, LostDirectory::Look(files, store_->directory));
  if (!inventory.has_keep_marker) RETURN_IF_ERROR(MakeKeepMarker(files, store_->directory));
  RETURN_IF_ERROR(aside.Create());  // syncs the directory
  uint64_t moved = 0;
  Status status;
  const auto move = [&] {
    for (const std::string& name : UnnamedFiles(inventory, with_log)) {
      Status of_file = aside.Move(name);
      moved += of_file.ok();
      if (!of_file.ok()) status = std::move(of_file);
    }
    Status synced = aside.Sync();
    if (status.ok()) status = std::move(synced);
    // If KEEP stays, the next open moves files that it could remove. Nothing is lost.
    if (status.ok()) (void)files->Remove(format::JoinPath(store_->directory, format::PrintFileName(FileKind::kKeep)));
  };
  RETURN_IF_ERROR(StartWriting(start, with_log ? std::vector<kv::FileNumber>() : std::move(replayed.segments), move));
  for (const kv::FileNumber number : inventory.recycled_files) recycled_files_.Adopt(number);
  recovery_report_ += store_->directory + ": " + std::to_string(moved) +
                      " files that the rest of the MANIFEST does not name were moved to lost/\n";
  if (!status.ok()) recovery_report_ += "files were not moved: " + status.ToString() + "\n";
  return {};
}

}  // namespace mergedb::db
