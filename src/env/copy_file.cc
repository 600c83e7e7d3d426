#include "env/copy_file.h"

namespace mergedb::env {
namespace {

constexpr size_t kCopyBytes = size_t{1} << 20;

}  // namespace

Status CopyFile(FileSystem* file_system, const std::string& source, const std::string& target,
                const std::function<Status(uint64_t bytes)>& copied) {
  ASSIGN_OR_RETURN(auto input, file_system->Open(source, {.access = Access::kRead}));
  ASSIGN_OR_RETURN(auto output, file_system->Open(target, {.access = Access::kCreate}));
  std::string piece(kCopyBytes, 0);
  for (uint64_t offset = 0;; offset += piece.size()) {
    size_t got = 0;
    RETURN_IF_ERROR(input->ReadAt(offset, piece.size(), piece.data(), &got));
    RETURN_IF_ERROR(output->WriteAt(offset, std::string_view(piece).substr(0, got)));
    if (copied) RETURN_IF_ERROR(copied(got));
    if (got < piece.size()) break;
  }
  RETURN_IF_ERROR(output->Sync());
  return output->Close();
}

Status WriteNewFile(FileSystem* file_system, const std::string& path, std::string_view bytes) {
  ASSIGN_OR_RETURN(auto file, file_system->Open(path, {.access = Access::kCreate}));
  RETURN_IF_ERROR(file->WriteAt(0, bytes));
  RETURN_IF_ERROR(file->Sync());
  return file->Close();
}

}  // namespace mergedb::env
