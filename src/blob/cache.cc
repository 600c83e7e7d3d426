#include "blob/cache.h"

#include "format/file_name.h"

namespace mergedb::blob {

Result<std::shared_ptr<Reader>> Cache::Open(const format::BlobFileMeta& meta) {
  return files_.FindOrOpen(kv::ToInt(meta.number), [&] {
    return base::NeverNotFound("blob file", Reader::Open(file_system_, format::BlobFilePath(directory_, meta.number),
                                                         meta, order_, blocks_, latencies_, memory_));
  });
}

void Cache::Evict(kv::FileNumber number) {
  files_.Evict(kv::ToInt(number));
  if (blocks_ != nullptr) blocks_->EvictFile(kv::ToInt(number));
}

}  // namespace mergedb::blob
