#include "engine.h"
#include "mergedb/merge.h"

namespace mergedb::demo {

namespace {

class MergedbEngine final : public Engine {
 public:
  explicit MergedbEngine(std::unique_ptr<DB> db) : db_(std::move(db)) {}

  Status Put(std::string_view key, std::string_view value) override { return db_->Put({}, key, value); }
  Status Get(std::string_view key, std::string* value) override { return db_->Get({}, key, value); }
  Status AddOne(std::string_view key) override { return db_->Merge({}, key, merge::AddU64(1)); }
  Status Scan(std::string_view prefix, const Visit& visit) override {
    const auto it = db_->NewIterator({.prefix = std::string(prefix)});
    for (it->SeekToFirst(); it->Valid() && visit(it->key(), it->value()); it->Next()) {}
    return it->status();
  }
  Status Drain(double* idle_seconds) override {
    *idle_seconds = 0;
    RETURN_IF_ERROR(db_->Flush());
    return db_->WaitForCompaction();
  }
  Status Close() override { return db_->Close(); }
  std::string Recovery() override {
    std::string text;
    db_->GetProperty("mergedb.recovery", &text);
    return text;
  }

 private:
  std::unique_ptr<DB> db_;
};

}  // namespace

Result<std::unique_ptr<Engine>> OpenMergedb(const std::string& directory) {
  Options options{.memory_bytes = 2 * kWriteBufferBytes + kCacheBytes,
                  .write_buffer_bytes = kWriteBufferBytes,
                  .compression = {.upper = Compression::kSnappy, .bottom = Compression::kSnappy},
                  .bloom_bits_per_key = 10};
  ASSIGN_OR_RETURN(std::unique_ptr<DB> db, DB::Open(options, directory));
  return std::unique_ptr<Engine>(new MergedbEngine(std::move(db)));
}

}  // namespace mergedb::demo
