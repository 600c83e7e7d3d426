#include "testing/c_interface_db.h"

#include <utility>
#include <vector>

#include "base/assert.h"
#include "mergedb/c.h"

namespace mergedb::testing {
namespace {

Status StatusOf(const mergedb_error& error) {
  if (error.code == MERGEDB_OK) return {};
  if (error.code == MERGEDB_BAD_HANDLE) return Status::ShuttingDown(error.message);
  ASSERT(error.code != MERGEDB_OUT_OF_MEMORY, "no memory");
  return Status::Make(static_cast<Code>(error.code), error.message);
}

mergedb_slice SliceOf(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
std::string_view ViewOf(const mergedb_slice& slice) { return {static_cast<const char*>(slice.data), slice.size}; }

mergedb_write_options ToC(const WriteOptions& options) {
  return {.struct_size = sizeof(mergedb_write_options),
          .durability = static_cast<int32_t>(options.durability),
          .keyspace = 0};
}

class CSnapshot final : public Snapshot {
 public:
  explicit CSnapshot(mergedb_snapshot handle) : handle_(handle) {}
  ~CSnapshot() override { ASSERT(mergedb_snapshot_close(handle_, nullptr) == MERGEDB_OK, "close of a snapshot"); }
  uint64_t sequence() const override {
    uint64_t sequence = 0;
    (void)mergedb_snapshot_sequence(handle_, &sequence, nullptr);
    return sequence;
  }
  mergedb_snapshot handle() const { return handle_; }

 private:
  const mergedb_snapshot handle_;
};

mergedb_read_options ToC(const ReadOptions& options) {
  const auto* snapshot = static_cast<const CSnapshot*>(options.snapshot);
  return {.struct_size = sizeof(mergedb_read_options),
          .snapshot = snapshot == nullptr ? 0 : snapshot->handle(),
          .verify_checksums = options.verify_checksums ? MERGEDB_DEFAULT : MERGEDB_NO,
          .fill_cache = options.fill_cache ? MERGEDB_DEFAULT : MERGEDB_NO,
          .keyspace = 0,
          .reserved = 0};
}

class CIterator final : public Iterator {
 public:
  CIterator(mergedb_db db, const IteratorOptions& options) {
    const mergedb_slice lower = options.lower ? SliceOf(*options.lower) : mergedb_slice{};
    const mergedb_slice upper = options.upper ? SliceOf(*options.upper) : mergedb_slice{};
    const mergedb_read_options read = ToC(options.read);
    const mergedb_iterator_options c = {.struct_size = sizeof c,
                                        .prefix = SliceOf(options.prefix),
                                        .lower = options.lower ? &lower : nullptr,
                                        .upper = options.upper ? &upper : nullptr,
                                        .read = &read,
                                        .keys_only = options.keys_only ? MERGEDB_YES : MERGEDB_DEFAULT,
                                        .keyspace = options.keyspace.id()};
    (void)mergedb_iterator_create(db, &c, &handle_, &error_);
    status_ = StatusOf(error_);
  }
  ~CIterator() override {
    if (handle_ != 0) ASSERT(mergedb_iterator_close(handle_, nullptr) == MERGEDB_OK, "close of an iterator");
  }

  bool Valid() const override {
    mergedb_error error;
    const bool is_valid = mergedb_iterator_entry(handle_, nullptr, nullptr, &error) == MERGEDB_OK;
    if (error.code != MERGEDB_OK && error.code != MERGEDB_NOT_FOUND && status_.ok()) status_ = StatusOf(error);
    return is_valid;
  }
  void SeekToFirst() override { Moved(mergedb_iterator_seek_to_first(handle_, &error_)); }
  void SeekToLast() override { Moved(mergedb_iterator_seek_to_last(handle_, &error_)); }
  void Seek(std::string_view key) override { Moved(mergedb_iterator_seek(handle_, key.data(), key.size(), &error_)); }
  void SeekForPrev(std::string_view key) override {
    Moved(mergedb_iterator_seek_for_prev(handle_, key.data(), key.size(), &error_));
  }
  void Next() override { Moved(mergedb_iterator_next(handle_, &error_)); }
  void Prev() override { Moved(mergedb_iterator_prev(handle_, &error_)); }
  std::string_view key() const override {
    mergedb_slice key = {};
    (void)mergedb_iterator_entry(handle_, &key, nullptr, nullptr);
    return ViewOf(key);
  }
  std::string_view value() const override {
    mergedb_slice value = {};
    (void)mergedb_iterator_entry(handle_, nullptr, &value, nullptr);
    return ViewOf(value);
  }
  const Status& status() const override {
    (void)Valid();  // finds out if the database was closed in the meantime
    return status_;
  }
  std::optional<std::string_view> failed_key() const override {
    mergedb_slice key = {};
    if (mergedb_iterator_failed_key(handle_, &key, nullptr) != MERGEDB_OK) return std::nullopt;
    return ViewOf(key);
  }

 private:
  void Moved(mergedb_code code) {
    if (handle_ != 0) status_ = code == MERGEDB_NOT_FOUND ? Status() : StatusOf(error_);
  }

  mergedb_iterator handle_ = 0;
  mergedb_error error_ = {};
  mutable Status status_;
};

mergedb_operand ToC(std::string_view operand) {
  mergedb_operand c = {};
  c.struct_size = sizeof c;
  c.type = MERGEDB_ENCODED;
  c.bytes = SliceOf(operand);
  return c;
}

class CBatch final : public WriteBatch::Visitor {
 public:
  CBatch() { ASSERT(mergedb_batch_create(&handle_, nullptr) == MERGEDB_OK, "a batch"); }
  ~CBatch() override { ASSERT(mergedb_batch_close(handle_, nullptr) == MERGEDB_OK, "close of a batch"); }
  void Put(std::string_view key, std::string_view value) override {
    Took(mergedb_batch_put(handle_, key.data(), key.size(), value.data(), value.size(), &error_));
  }
  void Delete(std::string_view key) override { Took(mergedb_batch_delete(handle_, key.data(), key.size(), &error_)); }
  void DeleteRange(std::string_view begin, std::string_view end) override {
    Took(mergedb_batch_delete_range(handle_, begin.data(), begin.size(), end.data(), end.size(), &error_));
  }
  void Merge(std::string_view key, std::string_view operand) override {
    const mergedb_operand c = ToC(operand);
    Took(mergedb_batch_merge(handle_, key.data(), key.size(), &c, &error_));
  }

  mergedb_batch handle() const { return handle_; }
  const Status& status() const { return status_; }

 private:
  void Took(mergedb_code code) {
    if (code != MERGEDB_OK) status_ = StatusOf(error_);
  }
  mergedb_batch handle_ = 0;
  mergedb_error error_ = {};
  Status status_;
};

class CInterfaceDb final : public DB {
 public:
  explicit CInterfaceDb(mergedb_db handle) : handle_(handle) {}
  ~CInterfaceDb() override { (void)Close(); }

  Status Put(const WriteOptions& options, std::string_view key, std::string_view value) override {
    const auto c = ToC(options);
    mergedb_error error;
    (void)mergedb_put(handle_, &c, key.data(), key.size(), value.data(), value.size(), &error);
    return StatusOf(error);
  }
  Status Delete(const WriteOptions& options, std::string_view key) override {
    const auto c = ToC(options);
    mergedb_error error;
    (void)mergedb_delete(handle_, &c, key.data(), key.size(), &error);
    return StatusOf(error);
  }
  Status DeleteRange(const WriteOptions& options, std::string_view begin, std::string_view end) override {
    const auto c = ToC(options);
    mergedb_error error;
    (void)mergedb_delete_range(handle_, &c, begin.data(), begin.size(), end.data(), end.size(), &error);
    return StatusOf(error);
  }
  Status DeletePrefix(const WriteOptions& options, std::string_view prefix) override {
    const auto c = ToC(options);
    mergedb_error error;
    (void)mergedb_delete_prefix(handle_, &c, prefix.data(), prefix.size(), &error);
    return StatusOf(error);
  }
  Status Merge(const WriteOptions& options, std::string_view key, std::string_view operand) override {
    const auto c = ToC(options);
    const mergedb_operand c_operand = ToC(operand);
    mergedb_error error;
    (void)mergedb_merge(handle_, &c, key.data(), key.size(), &c_operand, &error);
    return StatusOf(error);
  }
  Status Write(const WriteOptions& options, const WriteBatch& batch) override {
    CBatch copy;
    RETURN_IF_ERROR(batch.Visit(copy));
    RETURN_IF_ERROR(copy.status());
    const auto c = ToC(options);
    mergedb_error error;
    (void)mergedb_write(handle_, &c, copy.handle(), &error);
    return StatusOf(error);
  }

  Status Get(const ReadOptions& options, std::string_view key, std::string* value) override {
    const auto c = ToC(options);
    mergedb_error error;
    void* bytes = nullptr;
    size_t size = 0;
    if (mergedb_get(handle_, &c, key.data(), key.size(), &bytes, &size, &error) == MERGEDB_OK) {
      value->assign(static_cast<const char*>(bytes), size);
      mergedb_free(bytes);
    }
    return StatusOf(error);
  }
  std::vector<Status> MultiGet(const ReadOptions& options, const std::vector<std::string_view>& keys,
                               std::vector<std::string>* values) override {
    const auto c = ToC(options);
    std::vector<mergedb_slice> slices;
    for (const std::string_view key : keys) slices.push_back(SliceOf(key));
    std::vector<void*> bytes(keys.size());
    std::vector<size_t> sizes(keys.size());
    std::vector<int32_t> codes(keys.size());
    mergedb_error error;
    (void)mergedb_multi_get(handle_, &c, slices.data(), keys.size(), bytes.data(), sizes.data(), codes.data(), &error);
    values->assign(keys.size(), {});
    std::vector<Status> statuses;
    for (size_t i = 0; i < keys.size(); ++i) {
      if (codes[i] == MERGEDB_OK) (*values)[i].assign(static_cast<const char*>(bytes[i]), sizes[i]);
      mergedb_free(bytes[i]);
      statuses.push_back(codes[i] == MERGEDB_OK ? Status() : Status::Make(static_cast<Code>(codes[i]), error.message));
    }
    return statuses;
  }

  std::unique_ptr<Iterator> NewIterator(const IteratorOptions& options) override {
    return std::make_unique<CIterator>(handle_, options);
  }
  std::shared_ptr<const Snapshot> GetSnapshot() override {
    mergedb_snapshot snapshot = 0;
    ASSERT(mergedb_snapshot_create(handle_, &snapshot, nullptr) == MERGEDB_OK, "a snapshot");
    return std::make_shared<CSnapshot>(snapshot);
  }

  Status Flush() override { return Call(mergedb_flush); }
  Status SyncWal() override { return Call(mergedb_sync_wal); }
  Status CompactRange(const std::string_view* lower, const std::string_view* upper) override {
    const mergedb_slice first = lower ? SliceOf(*lower) : mergedb_slice{};
    const mergedb_slice end = upper ? SliceOf(*upper) : mergedb_slice{};
    mergedb_error error;
    (void)mergedb_compact_range(handle_, lower ? &first : nullptr, upper ? &end : nullptr, &error);
    return StatusOf(error);
  }
  Status WaitForCompaction() override { return Call(mergedb_wait); }
  std::vector<uint64_t> ApproximateSizes(const std::vector<KeyRange>& ranges) override {
    std::vector<mergedb_slice> lowers, uppers;
    for (const KeyRange& range : ranges) {
      lowers.push_back(SliceOf(range.lower));
      uppers.push_back(SliceOf(range.upper));
    }
    std::vector<uint64_t> sizes(ranges.size());
    (void)mergedb_approximate_sizes(handle_, lowers.data(), uppers.data(), ranges.size(), sizes.data(), nullptr);
    return sizes;
  }
  bool GetProperty(std::string_view name, std::string* value) override {
    char* text = nullptr;
    if (mergedb_get_property(handle_, std::string(name).c_str(), &text, nullptr) != MERGEDB_OK) return false;
    *value = text;
    mergedb_free(text);
    return true;
  }
  Result<std::vector<Metric>> Metrics() override {
    std::vector<Metric> metrics;
    const auto take = [](void* state, const mergedb_metric* given) {
      static_cast<std::vector<Metric>*>(state)->push_back(
          {given->name, given->unit, static_cast<MetricType>(given->type), given->help, given->value});
      return int32_t{1};
    };
    mergedb_error error;
    (void)mergedb_metrics(handle_, take, &metrics, &error);
    RETURN_IF_ERROR(StatusOf(error));
    return metrics;
  }
  Status CheckIntegrity() override { return Call(mergedb_check); }
  Status Close() override {
    if (is_closed_) return {};
    is_closed_ = true;
    return Call(mergedb_close);
  }

 private:
  Status Call(mergedb_code (*function)(mergedb_db, mergedb_error*)) {
    mergedb_error error;
    (void)function(handle_, &error);
    return StatusOf(error);
  }

  const mergedb_db handle_;
  bool is_closed_ = false;
};

int32_t ToC(Compression compression) {
  switch (compression) {
    case Compression::kNone: return MERGEDB_COMPRESSION_NONE;
    case Compression::kSnappy: return MERGEDB_COMPRESSION_SNAPPY;
    case Compression::kZstd: return MERGEDB_COMPRESSION_ZSTD;
    case Compression::kLz4: return MERGEDB_COMPRESSION_LZ4;
  }
  return MERGEDB_COMPRESSION_DEFAULT;
}

int32_t ToC(OpenMode mode) { return static_cast<int32_t>(mode); }
int32_t ToC(Style style) { return style == Style::kCascade ? MERGEDB_STYLE_CASCADE : MERGEDB_STYLE_LAZY; }
int32_t ToC(bool flag) { return flag ? MERGEDB_YES : MERGEDB_NO; }

// In C, 0 is the default, and -1 is 0.
template <typename Number>
int64_t OrNone(Number number) {
  return number == 0 ? -1 : static_cast<int64_t>(number);
}

mergedb_options ToC(const Options& options) {
  mergedb_options c = {};
  c.struct_size = sizeof c;
  // options: begin fields (scripts/options.toml)
  c.mode = ToC(options.mode);
  c.memory_bytes = static_cast<uint64_t>(options.memory_bytes);
  c.write_buffer_bytes = static_cast<uint64_t>(options.write_buffer_bytes);
  c.style = ToC(options.style);
  c.compression_upper = ToC(options.compression.upper);
  c.compression_bottom = ToC(options.compression.bottom);
  c.bloom_bits_per_key = static_cast<int32_t>(OrNone(options.bloom_bits_per_key));
  c.block_bytes = static_cast<uint64_t>(options.block_bytes);
  c.blob_value_bytes_min = static_cast<int64_t>(OrNone(options.blob_value_bytes_min));
  c.open_tables_max = static_cast<int32_t>(options.open_tables_max);
  c.mapped_read_bytes_max = static_cast<int64_t>(OrNone(options.mapped_read_bytes_max));
  c.write_delay_us_max = static_cast<uint64_t>(options.write_delay_us_max);
  c.finish_compactions_on_close = ToC(options.finish_compactions_on_close);
  c.keep_space_at_rest = ToC(options.keep_space_at_rest);
  c.use_mapped_wal_buffer = ToC(options.use_mapped_wal_buffer);
  c.wal_sync_interval_ms = static_cast<int64_t>(OrNone(options.wal_sync_interval_ms));
  c.log_bytes_max = static_cast<uint64_t>(options.log_bytes_max);
  c.slow_call_us = static_cast<uint64_t>(options.slow_call_us);
  // options: end
  return c;
}

}  // namespace

Result<std::unique_ptr<DB>> OpenThroughC(const Options& options, const std::string& path) {
  mergedb_options c = ToC(options);
  const std::string name(options.comparator->Name());
  const mergedb_comparator comparator = {
      .struct_size = sizeof comparator,
      .name = name.c_str(),
      .compare =
          [](void* state, const void* a, size_t a_size, const void* b, size_t b_size) {
            return static_cast<const Comparator*>(state)->Compare({static_cast<const char*>(a), a_size},
                                                                  {static_cast<const char*>(b), b_size});
          },
      .destroy = nullptr,
      .state = const_cast<Comparator*>(options.comparator)};
  if (options.comparator != BytewiseComparator()) c.comparator = &comparator;
  mergedb_db handle = 0;
  mergedb_error error;
  if (mergedb_open(path.c_str(), &c, &handle, &error) != MERGEDB_OK) return StatusOf(error);
  return std::unique_ptr<DB>(std::make_unique<CInterfaceDb>(handle));
}

Status DestroyThroughC(const std::string& path) {
  mergedb_error error;
  (void)mergedb_destroy(path.c_str(), &error);
  return StatusOf(error);
}

}  // namespace mergedb::testing
