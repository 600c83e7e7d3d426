#include "table/cache.h"

#include "base/open_files.h"
#include "env/descriptors.h"
#include "format/file_name.h"

namespace mergedb::table {
namespace {

using ReaderPtr = std::shared_ptr<Reader>;

class CacheImpl final : public Cache {
 public:
  CacheImpl(FileSystem* file_system, std::string directory, const kv::Order& order, base::BlockCache* blocks,
            size_t tables_max, const ReaderOptions& options)
      : file_system_(file_system),
        directory_(std::move(directory)),
        order_(order),
        blocks_(blocks),
        options_(options),
        tables_(tables_max) {}

  Result<ReaderPtr> Open(const format::FileMetaPtr& meta) override;
  void Evict(kv::FileNumber number) override;
  size_t open_tables() const override;
  size_t memory_bytes() const override;

 private:
  Result<ReaderPtr> OpenFile(const format::FileMetaPtr& meta);

  // Constant after construction.
  FileSystem* const file_system_;
  const std::string directory_;
  const kv::Order order_;
  base::BlockCache* const blocks_;
  const ReaderOptions options_;

  base::OpenFiles<Reader> tables_;                              // has its own locks
  const env::IdleFiles idle_{[this] { tables_.CloseIdle(); }};  // the last member, so it is destroyed first
};

Result<ReaderPtr> CacheImpl::OpenFile(const format::FileMetaPtr& meta) {
  const std::string path = format::TablePath(directory_, meta->number);
  // WHY a copy: the file is removed when the last reference to the tree's FileMeta goes. An open reader must
  // not hold such a reference.
  const auto copy = std::make_shared<const format::FileMeta>(*meta);
  return Reader::Open(file_system_, path, copy, order_, blocks_, options_);
}

Result<ReaderPtr> CacheImpl::Open(const format::FileMetaPtr& meta) {
  const uint64_t number = kv::ToInt(meta->number);
  if (ReaderPtr found = tables_.Find(number)) [[likely]]
    return found;
  // No lock is held while the file is read. If two threads open the table at the same time, one reader is dropped.
  auto opened = OpenFile(meta);
  // WHY: NotFound of a file must never look like NotFound of a key.
  if (!opened && opened.error().IsNotFound()) {
    return Status::IOError(std::string(opened.error().message()) +
                           ": the MANIFEST names this table, and it does not exist");
  }
  ASSIGN_OR_RETURN(ReaderPtr fresh, std::move(opened));
  return tables_.Insert(number, std::move(fresh));
}

void CacheImpl::Evict(kv::FileNumber number) {
  tables_.Evict(kv::ToInt(number));
  if (blocks_ != nullptr) blocks_->EvictFile(kv::ToInt(number));
}

size_t CacheImpl::open_tables() const {
  size_t tables = 0;
  tables_.ForEach([&](const Reader&) { ++tables; });
  return tables;
}

size_t CacheImpl::memory_bytes() const {
  size_t bytes = 0;
  tables_.ForEach([&](const Reader& reader) { bytes += reader.memory_bytes(); });
  return bytes;
}

}  // namespace

Cache::~Cache() = default;

std::unique_ptr<Cache> Cache::New(FileSystem* file_system, std::string directory, const kv::Order& order,
                                  base::BlockCache* blocks, size_t tables_max, const ReaderOptions& options) {
  return std::make_unique<CacheImpl>(file_system, std::move(directory), order, blocks, tables_max, options);
}

}  // namespace mergedb::table
