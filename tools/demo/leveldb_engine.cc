#include "engine.h"

#ifdef MERGEDB_DEMO_LEVELDB

#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/filter_policy.h>
#include <sys/resource.h>
#include <time.h>

#include <cstring>

namespace mergedb::demo {

namespace {

Status Translate(const leveldb::Status& status) {
  if (status.ok()) return Status::Ok();
  const Code code = status.IsNotFound() ? Code::kNotFound : status.IsCorruption() ? Code::kCorruption : Code::kIOError;
  return Status::Make(code, status.ToString());
}

leveldb::Slice SliceOf(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
std::string_view View(const leveldb::Slice& slice) { return {slice.data(), slice.size()}; }

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

class LeveldbEngine final : public Engine {
 public:
  Status Open(const std::string& directory) {
    cache_.reset(leveldb::NewLRUCache(kCacheBytes));
    filter_.reset(leveldb::NewBloomFilterPolicy(10));
    leveldb::Options options;
    options.create_if_missing = true;
    options.write_buffer_size = kWriteBufferBytes;
    options.block_cache = cache_.get();
    options.filter_policy = filter_.get();
    options.compression = leveldb::kSnappyCompression;
    leveldb::DB* db = nullptr;
    const leveldb::Status status = leveldb::DB::Open(options, directory, &db);
    db_.reset(db);
    return Translate(status);
  }

  Status Put(std::string_view key, std::string_view value) override {
    return Translate(db_->Put({}, SliceOf(key), SliceOf(value)));
  }
  Status Get(std::string_view key, std::string* value) override {
    return Translate(db_->Get(ReadOptions(), SliceOf(key), value));
  }
  Status AddOne(std::string_view key) override {
    std::string value;
    const Status status = Get(key, &value);
    if (!status.ok() && !status.IsNotFound()) return status;
    uint64_t number = 0;
    if (value.size() == sizeof number) std::memcpy(&number, value.data(), sizeof number);
    ++number;
    return Put(key, {reinterpret_cast<const char*>(&number), sizeof number});
  }
  Status Scan(std::string_view prefix, const Visit& visit) override {
    const std::unique_ptr<leveldb::Iterator> it(db_->NewIterator(ReadOptions()));
    for (it->Seek(SliceOf(prefix)); it->Valid() && it->key().starts_with(SliceOf(prefix)); it->Next()) {
      if (!visit(View(it->key()), View(it->value()))) break;
    }
    return Translate(it->status());
  }
  // LevelDB has no call for this. Its background work is over when the process has used no CPU for a second.
  Status Drain(double* idle_seconds) override {
    constexpr int kQuietSteps = 10;
    const timespec step{0, 100'000'000};
    for (int quiet = 0; quiet < kQuietSteps;) {
      const double before = CpuSeconds();
      nanosleep(&step, nullptr);
      quiet = CpuSeconds() - before < 0.005 ? quiet + 1 : 0;
    }
    *idle_seconds = 1.0;
    return Status::Ok();
  }
  Status Close() override {
    db_.reset();
    return Status::Ok();
  }

 private:
  static leveldb::ReadOptions ReadOptions() {
    leveldb::ReadOptions options;
    options.verify_checksums = true;  // as in mergedb
    return options;
  }

  std::unique_ptr<leveldb::Cache> cache_;
  std::unique_ptr<const leveldb::FilterPolicy> filter_;
  std::unique_ptr<leveldb::DB> db_;
};

}  // namespace

Result<std::unique_ptr<Engine>> OpenLeveldb(const std::string& directory) {
  auto engine = std::make_unique<LeveldbEngine>();
  RETURN_IF_ERROR(engine->Open(directory));
  return std::unique_ptr<Engine>(std::move(engine));
}

bool HasLeveldb() { return true; }

}  // namespace mergedb::demo

#else

namespace mergedb::demo {

Result<std::unique_ptr<Engine>> OpenLeveldb(const std::string&) {
  return Status::NotSupported("LevelDB was not found when the demo was built (Debian: libleveldb-dev)");
}

bool HasLeveldb() { return false; }

}  // namespace mergedb::demo

#endif
