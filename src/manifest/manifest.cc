#include "manifest/manifest.h"

#include <algorithm>
#include <utility>

#include "env/copy_file.h"
#include "format/file_name.h"
#include "manifest/loader.h"

namespace mergedb::manifest {

namespace {

std::string CurrentPath(const std::string& directory) {
  return format::FilePath(directory, format::FileKind::kCurrent);
}

// Writes the next CURRENT under its temporary name and syncs it. Returns that name.
Result<std::string> WriteTemporary(FileSystem* file_system, const std::string& directory, const Current& current) {
  const std::string temporary = format::FilePath(directory, format::FileKind::kCurrentTemporary);
  if (Status removed = file_system->Remove(temporary); !removed.ok() && !removed.IsNotFound()) return removed;
  RETURN_IF_ERROR(env::WriteNewFile(file_system, temporary, EncodeCurrent(current)));
  return temporary;
}

}  // namespace

Status WriteCurrent(FileSystem* file_system, const std::string& directory, const Current& current, bool* is_begun) {
  *is_begun = false;
  ASSIGN_OR_RETURN(const std::string temporary, WriteTemporary(file_system, directory, current));
  *is_begun = true;
  RETURN_IF_ERROR(file_system->Rename(temporary, CurrentPath(directory)));
  return file_system->SyncDirectory(directory);
}

Status MakeDurable(FileSystem* file_system, const std::string& directory, kv::FileNumber manifest) {
  if (file_system->is_append_only()) return file_system->SyncDirectory(directory);  // CURRENT names what is durable
  const std::string path = format::ManifestPath(directory, manifest);
  ASSIGN_OR_RETURN(const auto file, file_system->Open(path, {.access = Access::kReuse}));
  std::string buffer(2 * kPageBytes, 0);
  for (uint64_t offset = 0;; offset += buffer.size()) {
    size_t got = 0;
    RETURN_IF_ERROR(file->ReadAt(offset, buffer.size(), buffer.data(), &got));
    if (got > 0) RETURN_IF_ERROR(file->WriteAt(offset, std::string_view(buffer).substr(0, got)));
    if (got < buffer.size()) break;
  }
  RETURN_IF_ERROR(file->Sync());
  RETURN_IF_ERROR(file->Close());
  return file_system->SyncDirectory(directory);
}

Status Manifest::Commit(const format::VersionEdit& edit) {
  if (needs_snapshot()) return StartFile(edit);
  Status status = writer_->Append(format::EncodeVersionEdit(edit));
  if (!status.ok()) writer_ = nullptr;  // its contents are unknown: the next commit starts a new file
  return status;
}

// WHY the directory is not synced: after a power cut the previous CURRENT, which names the same file, is valid too.
Status Manifest::BindEnd() {
  if (writer_ == nullptr || writer_->end() == bound_) return {};
  ASSIGN_OR_RETURN(const std::string temporary,
                   WriteTemporary(options_.file_system, options_.directory, {*number_, writer_->end()}));
  RETURN_IF_ERROR(options_.file_system->Rename(temporary, CurrentPath(options_.directory)));
  bound_ = writer_->end();
  return {};
}

// Writes a new file with `snapshot`. On an append-only file system it cannot grow, so writer_ stays null.
Result<MirrorEnd> Manifest::WriteFile(kv::FileNumber number, const format::VersionEdit& snapshot) {
  FileSystem* const files = options_.file_system;
  const std::string path = format::ManifestPath(options_.directory, number);
  const Identity identity{.database_id = options_.database_id, .number = number};
  if (files->is_append_only())
    return MirrorWriter::WriteWhole(files, path, identity, format::EncodeVersionEdit(snapshot));
  ASSIGN_OR_RETURN(writer_, MirrorWriter::Create(files, path, identity));
  RETURN_IF_ERROR(writer_->Append(format::EncodeVersionEdit(snapshot)));
  return writer_->end();
}

// Makes CURRENT name the new file, then removes the older files.
Status Manifest::TakeOver(const Current& next) {
  FileSystem* const files = options_.file_system;
  Status status = files->SyncDirectory(options_.directory);
  bool is_begun = false;
  if (status.ok()) status = WriteCurrent(files, options_.directory, next, &is_begun);
  const auto remove = [&](kv::FileNumber number) {
    (void)files->Remove(format::ManifestPath(options_.directory, number));
  };  // a failure leaves an orphan
  if (!status.ok()) {
    is_begun ? superseded_.push_back(next.manifest) : remove(next.manifest);
    return status;
  }
  if (number_) superseded_.push_back(*number_);
  for (const kv::FileNumber old : std::exchange(superseded_, {})) remove(old);
  number_ = next.manifest;
  bound_ = *next.reached;
  return {};
}

Status Manifest::StartFile(const format::VersionEdit& snapshot) {
  writer_ = nullptr;
  const kv::FileNumber number = options_.allocate_number();
  const auto end = WriteFile(number, snapshot);
  Status status = end.status();
  if (status.ok()) {
    status = TakeOver({number, *end});
  } else {
    (void)options_.file_system->Remove(format::ManifestPath(options_.directory, number));  // a failure leaves an orphan
  }
  if (!status.ok()) {
    writer_ = nullptr;
    return status;
  }
  if (writer_ != nullptr) rollover_at_ = std::max(options_.rollover_bytes, 4 * writer_->bytes());
  return {};
}

}  // namespace mergedb::manifest
