#include "blob/cache.h"

#include <utility>

#include "format/file_name.h"

namespace mergedb::blob {

Result<std::shared_ptr<Reader>> Cache::Open(const format::BlobFileMeta& meta) {
  const uint64_t number = kv::ToInt(meta.number);
  if (auto found = files_.Find(number)) [[likely]]
    return found;
  // No lock is held while the file is read. If two threads open the file at the same time, one reader is dropped.
  auto opened = Reader::Open(file_system_, format::BlobFilePath(directory_, meta.number), meta, order_, blocks_);
  // WHY: NotFound of a file must never look like NotFound of a key.
  if (!opened && opened.error().IsNotFound()) {
    return Status::IOError(std::string(opened.error().message()) +
                           ": the MANIFEST names this blob file, and it does not exist");
  }
  ASSIGN_OR_RETURN(auto fresh, std::move(opened));
  return files_.Insert(number, std::move(fresh));
}

void Cache::Evict(kv::FileNumber number) {
  files_.Evict(kv::ToInt(number));
  if (blocks_ != nullptr) blocks_->EvictFile(kv::ToInt(number));
}

size_t Cache::open_files() const {
  size_t files = 0;
  files_.ForEach([&](const Reader&) { ++files; });
  return files;
}

}  // namespace mergedb::blob
