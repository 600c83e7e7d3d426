#include "manifest/manifest.h"

#include <algorithm>
#include <utility>

#include "base/crc32c.h"
#include "base/bytes.h"
#include "base/zoo.h"
#include "format/file_name.h"
#include "manifest/loader.h"

namespace mergedb::manifest {

Status WriteCurrent(FileSystem* file_system, const std::string& directory, kv::FileNumber number) {
  const std::string temporary = format::JoinPath(directory, format::PrintFileName(format::FileKind::kCurrentTemporary));
  const std::string current = format::JoinPath(directory, format::PrintFileName(format::FileKind::kCurrent));
  if (Status removed = file_system->Remove(temporary); !removed.ok() && !removed.IsNotFound()) return removed;
  {
    ASSIGN_OR_RETURN(auto file, file_system->Open(temporary, {.access = Access::kCreate}));
    RETURN_IF_ERROR(file->WriteAt(0, EncodeCurrent(number)));
    if (!ZOO(kDroppedCurrentSync)) RETURN_IF_ERROR(file->Sync());
    RETURN_IF_ERROR(file->Close());
  }
  RETURN_IF_ERROR(file_system->Rename(temporary, current));
  return ZOO(kSkippedDirectorySyncOfCurrent) ? Status() : file_system->SyncDirectory(directory);
}

Status Manifest::Commit(const format::Edit& edit) {
  if (needs_snapshot()) return StartFile(edit);
  Status status = writer_->Append(format::EncodeEdit(edit));
  if (!status.ok()) writer_ = nullptr;  // suspect: the next commit starts a new file
  return status;
}

Status Manifest::WriteOnce(const format::Edit& snapshot) {
  const kv::FileNumber number = options_.allocate_number();
  const std::string path = format::ManifestPath(options_.directory, number);
  Status status = MirrorWriter::WriteWhole(options_.file_system, path, {.database_id = options_.database_id, .number = number},
                                           format::EncodeEdit(snapshot));
  if (status.ok()) status = options_.file_system->SyncDirectory(options_.directory);
  if (status.ok()) status = WriteCurrent(options_.file_system, options_.directory, number);
  if (status.ok()) {
    for (const kv::FileNumber old : std::exchange(superseded_, {})) {
      (void)options_.file_system->Remove(format::ManifestPath(options_.directory, old));  // else at the next open
    }
    number_ = number;
  }
  superseded_.push_back(number);
  return status;
}

Status Manifest::StartFile(const format::Edit& snapshot) {
  if (options_.file_system->is_append_only()) return WriteOnce(snapshot);
  writer_ = nullptr;
  const kv::FileNumber number = options_.allocate_number();
  const std::string path = format::ManifestPath(options_.directory, number);
  ASSIGN_OR_RETURN(auto writer, MirrorWriter::Create(options_.file_system, path,
                                                     {.database_id = options_.database_id, .number = number}));
  Status status = writer->Append(format::EncodeEdit(snapshot));
  if (status.ok()) status = options_.file_system->SyncDirectory(options_.directory);
  if (status.ok()) status = WriteCurrent(options_.file_system, options_.directory, number);
  // On failure CURRENT may name either file; both stay until a later commit has succeeded.
  if (!status.ok()) return status;
  number_ = number;
  rollover_at_ = std::max(options_.rollover_bytes, 4 * writer->bytes());
  writer_ = std::move(writer);
  return {};
}

}  // namespace mergedb::manifest
