#include "env/file_reads.h"

#include <string>

namespace mergedb::env {

Status OfRead(Status status) {
  if (!status.IsNotFound()) [[likely]]
    return status;
  return Status::IOError(std::string(status.message()) + ": an open file no longer exists");
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
