#include "leveldb/table_builder.h"

#include <algorithm>
#include <memory>

#include "leveldb/env.h"
#include "leveldb/format/table.h"
#include "leveldb/interface/table_adapters.h"

namespace leveldb {
namespace {

namespace format = mergedb::leveldb_format;

format::BlockCodec CodecOf(const Options& options) {
  format::BlockCodec codec{.compression = mergedb::Compression::kNone};
  if (options.compression == kSnappyCompression) codec.compression = mergedb::Compression::kSnappy;
  if (options.compression == kZstdCompression) codec.compression = mergedb::Compression::kZstd;
#ifdef MERGEDB_LEVELDB_UPSTREAM_LAYOUT
  codec.zstd_level = std::clamp(options.zstd_compression_level, -5, 22);
#endif
  return codec;
}

}  // namespace

struct TableBuilder::Rep {
  Rep(const Options& given, WritableFile* target)
      : comparator(given.comparator),
        file(*target),
        order(given.comparator),
        filter(given.filter_policy == nullptr ? nullptr : new FilterAdapter(given.filter_policy)),
        builder(order, TableOptions(given), [this](std::string_view bytes) { return Append(bytes); }) {}

  format::TableOptions TableOptions(const Options& options) const {
    return {.block_bytes = options.block_size,
            .restart_interval = static_cast<size_t>(std::max(options.block_restart_interval, 1)),
            .codec = CodecOf(options),
            .filter = filter.get(),
            .keys_have_tags = false};
  }
  // WHY `failure` is separate from the builder's status: the program gets the Status of its own file unchanged.
  mergedb::Status Append(std::string_view bytes) {
    failure = file.Append(ToSlice(bytes));
    return ToCore(failure);
  }
  Status status() const { return failure.ok() ? FromCore(builder.status()) : failure; }

  const Comparator* const comparator;
  WritableFile& file;
  const OrderAdapter order;
  const std::unique_ptr<const FilterAdapter> filter;
  Status failure;
  format::TableBuilder builder;
};

TableBuilder::TableBuilder(const Options& options, WritableFile* file) : rep_(new Rep(options, file)) {}
TableBuilder::~TableBuilder() { delete rep_; }

Status TableBuilder::ChangeOptions(const Options& options) {
  if (options.comparator != rep_->comparator)
    return Status::InvalidArgument("changing comparator while building table");
  rep_->builder.ChangeOptions(rep_->TableOptions(options));
  return {};
}

void TableBuilder::Add(const Slice& key, const Slice& value) {
  if (!rep_->status().ok()) return;
  if (rep_->builder.entries() > 0 && rep_->comparator->Compare(key, ToSlice(rep_->builder.last_key())) <= 0) {
    rep_->failure = Status::InvalidArgument("a table's keys come in order, each once", key);
    return;
  }
  rep_->builder.Add(ToStringView(key), ToStringView(value));
}

void TableBuilder::Flush() {
  if (!rep_->status().ok()) return;
  rep_->builder.Flush();
  if (rep_->status().ok()) rep_->failure = rep_->file.Flush();
}

Status TableBuilder::status() const { return rep_->status(); }

Status TableBuilder::Finish() {
  if (rep_->status().ok()) (void)rep_->builder.Finish();
  return rep_->status();
}

void TableBuilder::Abandon() {}
uint64_t TableBuilder::NumEntries() const { return rep_->builder.entries(); }
uint64_t TableBuilder::FileSize() const { return rep_->builder.bytes(); }

}  // namespace leveldb
