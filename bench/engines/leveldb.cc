// LevelDB, from the system's library. Debian builds it with assertions, which costs a little; the report says
// so.
#include <cstdlib>

#include "bench/engines/engine.h"
#include "bench/measure.h"
#include "leveldb/cache.h"
#include "leveldb/db.h"
#include "leveldb/filter_policy.h"
#include "leveldb/write_batch.h"

namespace mergedb::bench {
namespace {

leveldb::Slice SliceOf(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
std::string_view ViewOf(const leveldb::Slice& bytes) { return {bytes.data(), bytes.size()}; }

void Check(const leveldb::Status& status, std::string_view act) {
  if (!status.ok()) Die("leveldb", act, status.ToString());
}

leveldb::WriteOptions WriteOptionsOf(Durability durability) {
  if (durability == Durability::kNoWal) Die("leveldb", "write", "LevelDB cannot write without its WAL");
  leveldb::WriteOptions options;
  options.sync = durability == Durability::kSynced;
  return options;
}

class SingleWriter final : public Writer {
 public:
  SingleWriter(leveldb::DB* db, Durability durability) : db_(db), options_(WriteOptionsOf(durability)) {}
  void Put(std::string_view key, std::string_view value) override {
    Check(db_->Put(options_, SliceOf(key), SliceOf(value)), "put");
  }
  void Delete(std::string_view key) override { Check(db_->Delete(options_, SliceOf(key)), "delete"); }
  void Commit() override {}

 private:
  leveldb::DB* db_;
  leveldb::WriteOptions options_;
};

class BatchWriter final : public Writer {
 public:
  BatchWriter(leveldb::DB* db, Durability durability) : db_(db), options_(WriteOptionsOf(durability)) {}
  void Put(std::string_view key, std::string_view value) override { batch_.Put(SliceOf(key), SliceOf(value)); }
  void Delete(std::string_view key) override { batch_.Delete(SliceOf(key)); }
  void Commit() override {
    Check(db_->Write(options_, &batch_), "write");
    batch_.Clear();
  }

 private:
  leveldb::DB* db_;
  leveldb::WriteOptions options_;
  leveldb::WriteBatch batch_;
};

class LeveldbReader final : public Reader {
 public:
  explicit LeveldbReader(leveldb::DB* db) : db_(db) {}
  bool Get(std::string_view key, std::string* value) override {
    const leveldb::Status status = db_->Get({}, SliceOf(key), value);
    if (!status.ok() && !status.IsNotFound()) Check(status, "get");
    return status.ok();
  }

 private:
  leveldb::DB* db_;
};

class LeveldbCursor final : public Cursor {
 public:
  explicit LeveldbCursor(leveldb::DB* db) : it_(db->NewIterator({})) {}
  ~LeveldbCursor() override { Check(it_->status(), "iterate"); }
  bool Valid() const override { return it_->Valid(); }
  void SeekToFirst() override { it_->SeekToFirst(); }
  void SeekToLast() override { it_->SeekToLast(); }
  void Seek(std::string_view target) override { it_->Seek(SliceOf(target)); }
  void Next() override { it_->Next(); }
  void Prev() override { it_->Prev(); }
  std::string_view key() const override { return ViewOf(it_->key()); }
  std::string_view value() const override { return ViewOf(it_->value()); }

 private:
  std::unique_ptr<leveldb::Iterator> it_;
};

class LeveldbEngine final : public Engine {
 public:
  LeveldbEngine(const Flags& flags, const std::string& path) {
    if (flags.compression > 1) Die("leveldb", "open", "LevelDB 1.23 supports only snappy and no compression");
    if (flags.cache_size >= 0) cache_.reset(leveldb::NewLRUCache(static_cast<size_t>(flags.cache_size)));
    if (flags.bloom_bits >= 0) filter_.reset(leveldb::NewBloomFilterPolicy(flags.bloom_bits));
    leveldb::Options options;
    options.create_if_missing = true;
    options.block_cache = cache_.get();
    options.filter_policy = filter_.get();
    options.write_buffer_size = static_cast<size_t>(flags.write_buffer_size);
    options.max_file_size = static_cast<size_t>(flags.max_file_size);
    options.block_size = static_cast<size_t>(flags.block_size);
    options.max_open_files = static_cast<int>(flags.open_files);
    options.reuse_logs = flags.reuse_logs;
    options.compression = flags.compression == 1 ? leveldb::kSnappyCompression : leveldb::kNoCompression;
    leveldb::DB* db = nullptr;
    Check(leveldb::DB::Open(options, path, &db), "open");
    db_.reset(db);
  }
  std::string Version() const override {
    return "LevelDB " + std::to_string(leveldb::kMajorVersion) + "." + std::to_string(leveldb::kMinorVersion);
  }

  std::unique_ptr<Writer> NewWriter(Durability durability, bool is_batched) override {
    if (is_batched) return std::make_unique<BatchWriter>(db_.get(), durability);
    return std::make_unique<SingleWriter>(db_.get(), durability);
  }
  std::unique_ptr<Reader> NewReader() override { return std::make_unique<LeveldbReader>(db_.get()); }
  std::unique_ptr<Cursor> NewCursor() override { return std::make_unique<LeveldbCursor>(db_.get()); }

  double WaitForCompaction() override { return WaitUntilIdle(); }
  void Compact() override { db_->CompactRange(nullptr, nullptr); }

  std::string Property(std::string_view name) override {
    std::string text;
    db_->GetProperty("leveldb." + std::string(name), &text);
    return text;
  }
  int64_t RunCount() override {
    int64_t runs = Number("num-files-at-level0");
    for (int level = 1; level < 7; ++level) runs += Number("num-files-at-level" + std::to_string(level)) > 0;
    return runs;
  }
  // The value includes the block cache, which a load leaves empty.
  int64_t WriteMemoryBytes() override { return Number("approximate-memory-usage"); }

 private:
  int64_t Number(const std::string& name) { return std::strtoll(Property(name).c_str(), nullptr, 10); }

  std::unique_ptr<leveldb::Cache> cache_;
  std::unique_ptr<const leveldb::FilterPolicy> filter_;
  std::unique_ptr<leveldb::DB> db_;
};

}  // namespace

std::unique_ptr<Engine> OpenLeveldb(const Flags& flags, const std::string& path) {
  return std::make_unique<LeveldbEngine>(flags, path);
}
void DestroyLeveldb(const Flags&, const std::string& path) { Check(leveldb::DestroyDB(path, {}), "destroy"); }

}  // namespace mergedb::bench
