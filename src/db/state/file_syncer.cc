#include "db/state/file_syncer.h"

#include <utility>

#include "env/copy_file.h"

namespace mergedb::db {
namespace {

// The numbers of all tables and blob files.
std::set<kv::FileNumber> FilesOf(const version::Version& version) {
  std::set<kv::FileNumber> files = version.files();
  for (const version::BlobFile& each : version.blob_files()) files.insert(each.file->number);
  return files;
}

}  // namespace

FileSyncer::FileSyncer(Options options, const version::Version& committed)
    : options_(std::move(options)), synced_(FilesOf(committed)) {}

Status FileSyncer::Sync(const format::VersionEdit& edit) {
  std::set<kv::FileNumber> fresh;
  for (const auto& add : edit.adds) {
    const auto check = [&](const std::string& path) { return options_.check_table(path, add.file); };
    RETURN_IF_ERROR(SyncNewFile(format::FileKind::kTable, add.file->number, check, &fresh));
  }
  for (const auto& add : edit.blob_files) {
    const auto check = [&](const std::string& path) { return options_.check_blob_file(path, *add.file); };
    RETURN_IF_ERROR(SyncNewFile(format::FileKind::kBlobFile, add.file->number, check, &fresh));
  }
  if (fresh.empty()) return {};
  RETURN_IF_ERROR(options_.file_system->SyncDirectory(options_.directory));
  synced_.merge(fresh);
  return {};
}

void FileSyncer::Trim(const version::Version& committed) {
  const size_t files_committed = committed.file_count() + committed.blob_files().size();
  if (synced_.size() > 2 * files_committed + 1000) synced_ = FilesOf(committed);
}

Status FileSyncer::SyncNewFile(format::FileKind kind, kv::FileNumber number, const CheckCopy& check,
                               std::set<kv::FileNumber>* fresh) {
  if (synced_.contains(number)) return {};
  RETURN_IF_ERROR(HasFailed(number) ? ReplaceFile(kind, number, check) : SyncFile(kind, number));
  fresh->insert(number);
  return {};
}

Status FileSyncer::SyncFile(format::FileKind kind, kv::FileNumber number) {
  if (options_.file_system->is_append_only()) return {};  // synced when it was finished
  const std::string path = format::FilePath(options_.directory, kind, number);
  ASSIGN_OR_RETURN(auto file, options_.file_system->Open(path, {.access = Access::kReadWrite}));
  Status status = file->Sync();
  if (status.ok()) status = file->Close();
  if (!status.ok()) {
    base::Lock lock(mutex_);
    sync_failed_.insert(number);
  }
  return status;
}

bool FileSyncer::HasFailed(kv::FileNumber number) const {
  base::Lock lock(mutex_);
  return sync_failed_.contains(number);
}

Status FileSyncer::ReplaceFile(format::FileKind kind, kv::FileNumber number, const CheckCopy& check) {
  const std::string path = format::FilePath(options_.directory, kind, number);
  // After a crash, the copy is an orphan.
  const std::string copy = format::FilePath(options_.directory, kind, options_.allocate_number());
  Status status = env::CopyFile(options_.file_system, path, copy);
  if (status.ok()) status = check(copy);
  if (status.ok()) status = options_.file_system->Rename(copy, path);
  if (!status.ok()) {
    (void)options_.file_system->Remove(copy);
    return status;
  }
  {
    base::Lock lock(mutex_);
    sync_failed_.erase(number);
  }
  options_.file_replaced(number);
  return {};
}

}  // namespace mergedb::db
