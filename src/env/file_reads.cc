#include "env/file_reads.h"

namespace mergedb::env {

Status OfRead(Status status) {
  if (!status.IsNotFound()) [[likely]]
    return status;
  return Status::IOError(std::string(status.message()) + ": an open file no longer exists");
}

Result<std::string> ReadBeginning(FileSystem* file_system, const std::string& path, size_t bytes_max) {
  ASSIGN_OR_RETURN(const auto file, file_system->Open(path, {.access = Access::kRead}));
  std::string bytes(bytes_max, '\0');
  size_t got = 0;
  RETURN_IF_ERROR(file->ReadAt(0, bytes.size(), bytes.data(), &got));
  bytes.resize(got);
  return bytes;
}

Result<std::unique_ptr<File>> OpenIfRegular(FileSystem* file_system, const std::string& path) {
  auto file = file_system->Open(path, {.access = Access::kRead});
  if (file) return file;
  if (file.error().IsNotFound()) return std::unique_ptr<File>();
  // Open reports a path that is no regular file as it reports an error of the disk. SizeOf tells them apart.
  const bool is_other = file_system->SizeOf(path).status().IsInvalidArgument();
  if (is_other) return std::unique_ptr<File>();
  return file;
}

Status ReadExactly(File* file, uint64_t offset, size_t bytes, char* out) {
  size_t got = 0;
  RETURN_IF_ERROR(OfRead(file->ReadAt(offset, bytes, out, &got)));
  if (got < bytes) {
    return Status::Corruption("the file ends at " + std::to_string(offset + got) + ", expected at least " +
                              std::to_string(offset + bytes) + " bytes");
  }
  return {};
}

}  // namespace mergedb::env
