#include "db/state/file_syncer.h"

#include <utility>

#include "env/copy_file.h"
#include "version/data_files.h"

namespace mergedb::db {
namespace {

// The numbers of all tables and blob files.
std::set<kv::FileNumber> FilesOf(const version::Version& version) {
  std::set<kv::FileNumber> files;
  for (const format::DataFile& file : version::DataFilesOf(version)) files.insert(file.number);
  return files;
}

}  // namespace

FileSyncer::FileSyncer(Options options, const version::Version& committed)
    : options_(std::move(options)), synced_(FilesOf(committed)) {}

Status FileSyncer::Sync(const format::VersionEdit& edit) {
  std::set<kv::FileNumber> fresh;
  for (const auto& add : edit.adds) RETURN_IF_ERROR(SyncNewFile(format::DescribedFile(add.file), &fresh));
  for (const auto& add : edit.blob_files) RETURN_IF_ERROR(SyncNewFile(format::DescribedFile(add.file), &fresh));
  if (fresh.empty()) return {};
  RETURN_IF_ERROR(options_.file_system->SyncDirectory(options_.directory));
  synced_.merge(fresh);
  return {};
}

void FileSyncer::Trim(const version::Version& committed) {
  const size_t files_committed = committed.file_count() + committed.blob_files().size();
  if (synced_.size() > 2 * files_committed + 1000) synced_ = FilesOf(committed);
}

Status FileSyncer::SyncNewFile(const format::DescribedFile& file, std::set<kv::FileNumber>* fresh) {
  if (synced_.contains(file.number)) return {};
  RETURN_IF_ERROR(HasFailed(file.number) ? ReplaceFile(file) : SyncFile(file));
  fresh->insert(file.number);
  return {};
}

Status FileSyncer::SyncFile(const format::DataFile& file) {
  if (options_.file_system->is_append_only()) return {};  // synced when it was finished
  const std::string path = file.PathIn(options_.directory);
  ASSIGN_OR_RETURN(auto opened, options_.file_system->Open(path, {.access = Access::kReadWrite}));
  Status status = opened->Sync();
  if (status.ok()) status = opened->Close();
  if (!status.ok()) {
    base::Lock lock(mutex_);
    sync_failed_.insert(file.number);
  }
  return status;
}

bool FileSyncer::HasFailed(kv::FileNumber number) const {
  base::Lock lock(mutex_);
  return sync_failed_.contains(number);
}

Status FileSyncer::ReplaceFile(const format::DescribedFile& file) {
  const std::string path = file.PathIn(options_.directory);
  // After a crash, the copy is an orphan.
  const std::string copy = format::FilePath(options_.directory, file.kind, options_.allocate_number());
  Status status = env::CopyFile(options_.file_system, path, copy);
  if (status.ok()) status = options_.check(copy, file);
  if (status.ok()) status = options_.file_system->Rename(copy, path);
  if (!status.ok()) {
    (void)options_.file_system->Remove(copy);
    return status;
  }
  {
    base::Lock lock(mutex_);
    sync_failed_.erase(file.number);
  }
  options_.file_replaced(file.number);
  return {};
}

}  // namespace mergedb::db
