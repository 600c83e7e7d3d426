// RocksDB through its C interface, leveled or universal, with one background job for each core.
#include <algorithm>
#include <cstdlib>
#include <thread>

#include "bench/engines/engine.h"
#include "bench/engines/rocksdb_library.h"
#include "bench/engines/rocksdb_operators.h"
#include "bench/measure.h"

namespace mergedb::bench {
namespace {

void Check(const RocksdbLibrary& rocks, char* error, std::string_view act) {
  if (!error) return;
  const std::string reason = error;
  rocks.free_(error);
  Die("rocksdb", act, reason);
}

// Maps our numbers (none, snappy, zstd, lz4) to RocksDB's.
int CodecOf(int compression) { return (const int[]){0, 1, 7, 4}[compression]; }

// RocksDB's tuning guide sets the size of level 1 to that of level 0 at its trigger (four files), and the table
// size to 1/10 of a level, at least 2 MB. For buffers of 64 MB this is RocksDB's default for level 1.
int64_t LevelBaseBytes(const Flags& flags) {
  if (flags.rocksdb_level_base > 0) return flags.rocksdb_level_base;
  return std::max<int64_t>(4 * flags.write_buffer_size, int64_t{10} << 20);
}

rocksdb_options_t* OptionsOf(const RocksdbLibrary& rocks, const Flags& flags) {
  rocksdb_block_based_table_options_t* table = rocks.block_based_options_create_();
  rocks.block_based_options_set_block_size_(table, static_cast<size_t>(flags.block_size));
  rocksdb_cache_t* cache = rocks.cache_create_lru_(static_cast<size_t>(flags.cache_bytes()));
  rocks.block_based_options_set_block_cache_(table, cache);
  rocks.cache_destroy_(cache);  // the options keep a reference
  if (flags.bloom_bits > 0) {
    rocks.block_based_options_set_filter_policy_(table, rocks.filterpolicy_create_bloom_full_(flags.bloom_bits));
  }

  rocksdb_options_t* options = rocks.options_create_();
  const int64_t level_base = LevelBaseBytes(flags);
  rocks.options_increase_parallelism_(options, static_cast<int>(std::thread::hardware_concurrency()));
  rocks.options_set_create_if_missing_(options, 1);
  rocks.options_set_write_buffer_size_(options, static_cast<size_t>(flags.write_buffer_size));
  rocks.options_set_max_open_files_(options, static_cast<int>(flags.open_files));
  rocks.options_set_compression_(options, CodecOf(flags.compression));
  rocks.options_set_compaction_style_(options, flags.rocksdb_style == "universal" ? 1 : 0);
  rocks.options_set_max_bytes_for_level_base_(options, static_cast<uint64_t>(level_base));
  rocks.options_set_target_file_size_base_(options,
                                           static_cast<uint64_t>(std::max<int64_t>(level_base / 10, int64_t{2} << 20)));
  rocks.options_set_block_based_table_factory_(options, table);
  rocks.block_based_options_destroy_(table);
  if (IsMergeOperator(flags.merge_operator)) SetMergeOperator(rocks, flags.merge_operator, options);
  return options;
}

class RocksdbWriter final : public Writer {
 public:
  RocksdbWriter(const RocksdbLibrary& rocks, rocksdb_t* db, Durability durability, bool is_batched)
      : rocks_(rocks), db_(db), options_(rocks.writeoptions_create_()) {
    rocks_.writeoptions_set_sync_(options_, durability == Durability::kSynced);
    rocks_.writeoptions_disable_WAL_(options_, durability == Durability::kNoWal);
    if (is_batched) batch_ = rocks_.writebatch_create_();
  }
  ~RocksdbWriter() override {
    if (batch_) rocks_.writebatch_destroy_(batch_);
    rocks_.writeoptions_destroy_(options_);
  }
  void Put(std::string_view key, std::string_view value) override {
    if (batch_) return rocks_.writebatch_put_(batch_, key.data(), key.size(), value.data(), value.size());
    char* error = nullptr;
    rocks_.put_(db_, options_, key.data(), key.size(), value.data(), value.size(), &error);
    Check(rocks_, error, "put");
  }
  void Delete(std::string_view key) override {
    if (batch_) return rocks_.writebatch_delete_(batch_, key.data(), key.size());
    char* error = nullptr;
    rocks_.delete_(db_, options_, key.data(), key.size(), &error);
    Check(rocks_, error, "delete");
  }
  // The C API has no single range delete without a column family handle; a batch of one operation replaces it.
  void DeleteRange(std::string_view begin, std::string_view end) override {
    if (batch_) return rocks_.writebatch_delete_range_(batch_, begin.data(), begin.size(), end.data(), end.size());
    rocksdb_writebatch_t* const batch = rocks_.writebatch_create_();
    rocks_.writebatch_delete_range_(batch, begin.data(), begin.size(), end.data(), end.size());
    char* error = nullptr;
    rocks_.write_(db_, options_, batch, &error);
    rocks_.writebatch_destroy_(batch);
    Check(rocks_, error, "delete range");
  }
  void Merge(std::string_view key, std::string_view operand) override {
    if (batch_) return rocks_.writebatch_merge_(batch_, key.data(), key.size(), operand.data(), operand.size());
    char* error = nullptr;
    rocks_.merge_(db_, options_, key.data(), key.size(), operand.data(), operand.size(), &error);
    Check(rocks_, error, "merge");
  }
  void Commit() override {
    if (!batch_) return;
    char* error = nullptr;
    rocks_.write_(db_, options_, batch_, &error);
    Check(rocks_, error, "write");
    rocks_.writebatch_clear_(batch_);
  }

 private:
  const RocksdbLibrary& rocks_;
  rocksdb_t* db_;
  rocksdb_writeoptions_t* options_;
  rocksdb_writebatch_t* batch_ = nullptr;
};

class RocksdbReader final : public Reader {
 public:
  RocksdbReader(const RocksdbLibrary& rocks, rocksdb_t* db)
      : rocks_(rocks), db_(db), options_(rocks.readoptions_create_()) {}
  ~RocksdbReader() override { rocks_.readoptions_destroy_(options_); }
  bool Get(std::string_view key, std::string* value) override {
    char* error = nullptr;
    rocksdb_pinnableslice_t* slice = rocks_.get_pinned_(db_, options_, key.data(), key.size(), &error);
    Check(rocks_, error, "get");
    if (!slice) return false;
    size_t bytes = 0;
    const char* data = rocks_.pinnableslice_value_(slice, &bytes);
    value->assign(data, bytes);
    rocks_.pinnableslice_destroy_(slice);
    return true;
  }
  int64_t MultiGet(const std::vector<std::string_view>& keys, std::vector<std::string>* values) override {
    if (!rocks_.batched_multi_get_cf_) return Reader::MultiGet(keys, values);
    const size_t count = keys.size();
    data_.resize(count), bytes_.resize(count), slices_.resize(count), errors_.assign(count, nullptr);
    for (size_t i = 0; i < count; ++i) {
      data_[i] = keys[i].data();
      bytes_[i] = keys[i].size();
    }
    rocksdb_column_family_handle_t* const family = rocks_.get_default_column_family_handle_(db_);
    rocks_.batched_multi_get_cf_(db_, options_, family, count, data_.data(), bytes_.data(), slices_.data(),
                                 errors_.data(), false);
    rocks_.column_family_handle_destroy_(family);
    int64_t found = 0;
    for (size_t i = 0; i < count; ++i) {
      Check(rocks_, errors_[i], "multi get");
      if (!slices_[i]) continue;
      size_t bytes = 0;
      const char* data = rocks_.pinnableslice_value_(slices_[i], &bytes);
      (*values)[i].assign(data, bytes);
      rocks_.pinnableslice_destroy_(slices_[i]);
      ++found;
    }
    return found;
  }

 private:
  const RocksdbLibrary& rocks_;
  rocksdb_t* db_;
  rocksdb_readoptions_t* options_;
  // Of MultiGet; kept, so that no call allocates them.
  std::vector<const char*> data_;
  std::vector<size_t> bytes_;
  std::vector<rocksdb_pinnableslice_t*> slices_;
  std::vector<char*> errors_;
};

class RocksdbCursor final : public Cursor {
 public:
  RocksdbCursor(const RocksdbLibrary& rocks, rocksdb_t* db)
      : rocks_(rocks), options_(rocks.readoptions_create_()), it_(rocks.create_iterator_(db, options_)) {}
  ~RocksdbCursor() override {
    char* error = nullptr;
    rocks_.iter_get_error_(it_, &error);
    Check(rocks_, error, "iterate");
    rocks_.iter_destroy_(it_);
    rocks_.readoptions_destroy_(options_);
  }
  bool Valid() const override { return rocks_.iter_valid_(it_); }
  void SeekToFirst() override { rocks_.iter_seek_to_first_(it_); }
  void SeekToLast() override { rocks_.iter_seek_to_last_(it_); }
  void Seek(std::string_view target) override { rocks_.iter_seek_(it_, target.data(), target.size()); }
  void Next() override { rocks_.iter_next_(it_); }
  void Prev() override { rocks_.iter_prev_(it_); }
  std::string_view key() const override { return View(rocks_.iter_key_); }
  std::string_view value() const override { return View(rocks_.iter_value_); }

 private:
  std::string_view View(const char* (*part)(const rocksdb_iterator_t*, size_t*)) const {
    size_t bytes = 0;
    const char* data = part(it_, &bytes);
    return {data, bytes};
  }
  const RocksdbLibrary& rocks_;
  rocksdb_readoptions_t* options_;
  rocksdb_iterator_t* it_;
};

class RocksdbEngine final : public Engine {
 public:
  RocksdbEngine(const Flags& flags, const std::string& path)
      : rocks_(LoadRocksdb(flags.rocksdb_library)),
        options_(OptionsOf(rocks_, flags)),
        can_merge_(IsMergeOperator(flags.merge_operator)) {
    char* error = nullptr;
    db_ = rocks_.open_(options_, path.c_str(), &error);
    Check(rocks_, error, "open");
  }
  ~RocksdbEngine() override {
    rocks_.close_(db_);
    rocks_.options_destroy_(options_);
  }
  std::string Version() const override { return "RocksDB (" + rocks_.path + ")"; }
  bool CanMerge() const override { return can_merge_; }
  bool CanDeleteRange() const override { return true; }

  std::unique_ptr<Writer> NewWriter(Durability durability, bool is_batched) override {
    return std::make_unique<RocksdbWriter>(rocks_, db_, durability, is_batched);
  }
  std::unique_ptr<Reader> NewReader() override { return std::make_unique<RocksdbReader>(rocks_, db_); }
  std::unique_ptr<Cursor> NewCursor() override { return std::make_unique<RocksdbCursor>(rocks_, db_); }

  double WaitForCompaction() override {
    if (!rocks_.wait_for_compact_) return WaitUntilIdle();
    rocksdb_wait_for_compact_options_t* options = rocks_.wait_for_compact_options_create_();
    char* error = nullptr;
    rocks_.wait_for_compact_(db_, options, &error);
    rocks_.wait_for_compact_options_destroy_(options);
    Check(rocks_, error, "waitforcompaction");
    return 0;
  }
  void Compact() override { rocks_.compact_range_(db_, nullptr, 0, nullptr, 0); }

  std::string Property(std::string_view name) override {
    char* text = rocks_.property_value_(db_, ("rocksdb." + std::string(name)).c_str());
    if (!text) return {};
    std::string copy = text;
    rocks_.free_(text);
    return copy;
  }
  int64_t RunCount() override {
    int64_t runs = Number("num-files-at-level0");
    for (int level = 1; level < 7; ++level) runs += Number("num-files-at-level" + std::to_string(level)) > 0;
    return runs;
  }
  int64_t PendingCompactionBytes() override { return Number("estimate-pending-compaction-bytes"); }
  int64_t WriteMemoryBytes() override { return Number("size-all-mem-tables"); }

 private:
  int64_t Number(const std::string& name) { return std::strtoll(Property(name).c_str(), nullptr, 10); }

  const RocksdbLibrary& rocks_;
  rocksdb_options_t* options_;
  const bool can_merge_;
  rocksdb_t* db_ = nullptr;
};

}  // namespace

std::unique_ptr<Engine> OpenRocksdb(const Flags& flags, const std::string& path) {
  return std::make_unique<RocksdbEngine>(flags, path);
}

void DestroyRocksdb(const Flags& flags, const std::string& path) {
  const RocksdbLibrary& rocks = LoadRocksdb(flags.rocksdb_library);
  rocksdb_options_t* options = OptionsOf(rocks, flags);
  char* error = nullptr;
  rocks.destroy_db_(options, path.c_str(), &error);
  rocks.options_destroy_(options);
  Check(rocks, error, "destroy");
}

}  // namespace mergedb::bench
