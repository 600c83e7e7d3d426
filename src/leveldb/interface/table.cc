// leveldb::Table: reads a file in LevelDB's format block by block, through the program's cache if there is one.
#include "leveldb/table.h"

#include <memory>
#include <string>
#include <utility>

#include "base/coding.h"
#include "kv/skipped_errors.h"
#include "leveldb/cache.h"
#include "leveldb/env.h"
#include "leveldb/format/table.h"
#include "leveldb/interface/table_adapters.h"
#include "leveldb/options.h"

namespace leveldb {
namespace {

namespace format = mergedb::leveldb_format;
using Block = format::TableIterator::Block;
template <typename T>
using Result = mergedb::Result<T>;

// A cached block is shared: a reader keeps its block alive even if the cache drops it.
void DropBlock(const Slice&, void* value) { delete static_cast<Block*>(value); }

}  // namespace

struct Table::Rep {
  Rep(const Options& given, RandomAccessFile* source, uint64_t bytes)
      : options(given), file(*source), file_bytes(bytes), order(given.comparator) {
    if (options.block_cache != nullptr) cache_id = options.block_cache->NewId();
  }

  // Reads the file, not the cache.
  Result<Block> Read(const format::Handle& handle, bool verify_checksums) const;
  Result<Block> Get(const format::Handle& handle, const ReadOptions& reading) const;

  const Options options;
  RandomAccessFile& file;
  const uint64_t file_bytes;
  const OrderAdapter order;
  uint64_t cache_id = 0;
  format::TableFooter footer;
  Block index;
};

Result<Block> Table::Rep::Read(const format::Handle& handle, bool verify_checksums) const {
  RETURN_IF_ERROR(format::CheckHandle(handle, file_bytes));
  std::string stored(handle.bytes + format::kBlockTrailerBytes, '\0');
  Slice found;
  const Status status = file.Read(handle.offset, stored.size(), &found, stored.data());
  if (!status.ok()) return ToCore(status);
  if (found.size() != stored.size()) return mergedb::Status::Corruption("truncated block read");
  if (found.data() != stored.data()) stored.assign(found.data(), found.size());
  ASSIGN_OR_RETURN(std::string block, format::OpenBlock(std::move(stored), verify_checksums));
  return std::make_shared<const std::string>(std::move(block));
}

// FORMAT: a cache key is the id from NewId and the block's offset, as two u64.
Result<Block> Table::Rep::Get(const format::Handle& handle, const ReadOptions& reading) const {
  Cache* const cache = options.block_cache;
  if (cache == nullptr) return Read(handle, reading.verify_checksums);
  char key[16];
  mergedb::base::StoreFixed64(key, cache_id);
  mergedb::base::StoreFixed64(key + 8, handle.offset);
  if (Cache::Handle* const cached = cache->Lookup({key, sizeof key})) {
    const Block block = *static_cast<Block*>(cache->Value(cached));
    cache->Release(cached);
    return block;
  }
  ASSIGN_OR_RETURN(Block block, Read(handle, reading.verify_checksums));
  if (reading.fill_cache) cache->Release(cache->Insert({key, sizeof key}, new Block(block), block->size(), DropBlock));
  return block;
}

Status Table::Open(const Options& options, RandomAccessFile* file, uint64_t file_size, Table** table) {
  *table = nullptr;
  return Guarded([&]() -> Status {
    if (options.comparator == nullptr || file == nullptr)
      return Status::InvalidArgument("a table needs a comparator and a file");
    auto rep = std::make_unique<Rep>(options, file, file_size);
    char scratch[format::kTableFooterBytes];
    Slice found;
    if (file_size >= sizeof scratch) {
      const Status status = file->Read(file_size - sizeof scratch, sizeof scratch, &found, scratch);
      if (!status.ok()) return status;
    }
    const auto footer = format::DecodeTableFooter(ToStringView(found));
    if (!footer) return FromCore(footer.error());
    rep->footer = *footer;
    const auto index = rep->Read(footer->index, options.paranoid_checks);
    if (!index) return FromCore(index.error());
    rep->index = *index;
    *table = new Table(rep.release());
    return {};
  });
}

Table::~Table() { delete rep_; }

namespace {

// Like LevelDB's iterator: it passes over unreadable blocks, and from then on status() returns the first error.
class TableCursor final : public Iterator {
 public:
  explicit TableCursor(format::TableIterator it) : it_(std::move(it)) {}
  bool Valid() const override { return it_.Valid(); }
  void SeekToFirst() override {
    it_.SeekToFirst();
    PassOverErrors(true);
  }
  void SeekToLast() override {
    it_.SeekToLast();
    PassOverErrors(false);
  }
  void Seek(const Slice& target) override {
    it_.Seek(ToStringView(target));
    PassOverErrors(true);
  }
  void Next() override {
    if (!it_.Valid()) return;
    it_.Next();
    PassOverErrors(true);
  }
  void Prev() override {
    if (!it_.Valid()) return;
    it_.Prev();
    PassOverErrors(false);
  }
  Slice key() const override { return ToSlice(it_.key()); }
  Slice value() const override { return ToSlice(it_.value()); }
  Status status() const override { return FromCore(skipped_.first().ok() ? it_.status() : skipped_.first()); }

 private:
  void PassOverErrors(bool is_forward) {
    while (!it_.Valid() && !it_.status().ok()) {
      skipped_.Add(it_.status());
      if (!it_.SkipBlock(is_forward)) return;
    }
  }

  format::TableIterator it_;
  mergedb::kv::SkippedErrors skipped_;
};

}  // namespace

Iterator* Table::NewIterator(const ReadOptions& options) const {
  return new TableCursor(format::TableIterator(
      rep_->order, rep_->index,
      [rep = rep_, reading = options](const format::Handle& handle) { return rep->Get(handle, reading); }));
}

uint64_t Table::ApproximateOffsetOf(const Slice& key) const {
  format::BlockIterator it(rep_->order, *rep_->index);
  it.Seek(ToStringView(key));
  if (it.Valid()) {
    if (const auto handle = format::DecodeHandle(it.value())) return handle->offset;
  }
  return rep_->footer.metaindex.offset;  // near the end of the file
}

}  // namespace leveldb
