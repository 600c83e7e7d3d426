#include "table/cache.h"

#include "format/file_name.h"

namespace mergedb::table {

Result<std::shared_ptr<Reader>> Cache::Open(const format::FileMetaPtr& meta) {
  return tables_.FindOrOpen(kv::ToInt(meta->number), [&] {
    // WHY a copy: the file is removed when the last reference to the tree's FileMeta goes. An open reader must
    // not hold such a reference.
    return base::NeverNotFound(
        "table", Reader::Open(file_system_, format::TablePath(directory_, meta->number),
                              std::make_shared<const format::FileMeta>(*meta), order_, blocks_, options_));
  });
}

void Cache::Evict(kv::FileNumber number) {
  tables_.Evict(kv::ToInt(number));
  if (blocks_ != nullptr) blocks_->EvictFile(kv::ToInt(number));
}

size_t Cache::memory_bytes() const {
  size_t bytes = 0;
  tables_.ForEach([&](const Reader& reader) { bytes += reader.memory_bytes(); });
  return bytes;
}

}  // namespace mergedb::table
