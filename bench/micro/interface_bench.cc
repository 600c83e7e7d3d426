// The cost of the LevelDB interface over the native API: the same loops, compiled twice. Each program uses the
// shared library that its users link. WHY not db_bench: it contains the engine, and a call into a shared
// library costs some cycles on its own.
//
//     ninja -C build/release micro_interface_native_bench micro_interface_leveldb_bench
//     build/release/bin/micro_interface_native_bench DIR [NUM]
//     build/release/bin/micro_interface_leveldb_bench DIR [NUM]
//
// DIR must not exist; the program removes it at the end. Keys of 16 bytes in random order, values of 100 bytes,
// no compression, all data in the cache. Prints the best of several rounds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <string_view>

#ifdef MERGEDB_BENCH_LEVELDB_INTERFACE
#include "leveldb/cache.h"
#include "leveldb/db.h"
#else
#include "mergedb/db.h"
#endif

namespace {

constexpr size_t kCacheBytes = size_t{1} << 30;
constexpr size_t kBufferBytes = size_t{16} << 20;
constexpr int kRounds = 15;

template <typename Status>
void Check(const Status& status, const char* what) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s: %s\n", what, status.ToString().c_str());
  std::exit(1);
}

#ifdef MERGEDB_BENCH_LEVELDB_INTERFACE

class Store {
 public:
  explicit Store(const std::string& path) : cache_(leveldb::NewLRUCache(kCacheBytes)) {
    leveldb::Options options;
    options.create_if_missing = options.error_if_exists = true;
    options.compression = leveldb::kNoCompression;
    options.block_cache = cache_.get();
    options.write_buffer_size = kBufferBytes;
    leveldb::DB* opened = nullptr;
    Check(leveldb::DB::Open(options, path, &opened), "open");
    db_.reset(opened);
  }
  void Put(std::string_view key, std::string_view value) {
    Check(db_->Put({}, leveldb::Slice(key.data(), key.size()), leveldb::Slice(value.data(), value.size())), "put");
  }
  void Compact() { db_->CompactRange(nullptr, nullptr); }
  void Get(std::string_view key, std::string* value) {
    Check(db_->Get({}, leveldb::Slice(key.data(), key.size()), value), "get");
  }
  std::unique_ptr<leveldb::Iterator> Scan() { return std::unique_ptr<leveldb::Iterator>(db_->NewIterator({})); }

 private:
  const std::unique_ptr<leveldb::Cache> cache_;
  std::unique_ptr<leveldb::DB> db_;
};
constexpr const char* kName = "LevelDB interface";

#else

class Store {
 public:
  explicit Store(const std::string& path) {
    mergedb::Options options;
    options.mode = mergedb::OpenMode::kMustNotExist;
    options.compression = {.upper = mergedb::Compression::kNone, .bottom = mergedb::Compression::kNone};
    options.memory_bytes = kCacheBytes;
    options.write_buffer_bytes = kBufferBytes;
    auto opened = mergedb::DB::Open(options, path);
    Check(opened ? mergedb::Status() : opened.error(), "open");
    db_ = std::move(*opened);
  }
  void Put(std::string_view key, std::string_view value) { Check(db_->Put({}, key, value), "put"); }
  void Compact() { Check(db_->CompactRange(nullptr, nullptr), "compact"); }
  void Get(std::string_view key, std::string* value) { Check(db_->Get({}, key, value), "get"); }
  std::unique_ptr<mergedb::Iterator> Scan() { return db_->NewIterator({}); }

 private:
  std::unique_ptr<mergedb::DB> db_;
};
constexpr const char* kName = "native";

#endif

// Nanoseconds for each operation.
template <typename Work>
double Time(size_t ops, Work work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() /
         static_cast<double>(ops);
}

// A number as 16 decimal digits.
class Key {
 public:
  std::string_view operator()(size_t n) {
    for (size_t i = sizeof digits_; i-- > 0; n /= 10) digits_[i] = static_cast<char>('0' + n % 10);
    return {digits_, sizeof digits_};
  }

 private:
  char digits_[16];
};

void Run(const std::string& path, size_t num) {
  Store store(path);
  const std::string value(100, 'v');
  Key key;
  std::mt19937_64 random(301);
  const double put = Time(num, [&] {
    for (size_t i = 0; i < num; ++i) store.Put(key(random() % num), value);
  });
  for (size_t i = 0; i < num; ++i) store.Put(key(i), value);  // so that each get finds its key
  store.Compact();
  double get = 1e9, step = 1e9;
  std::string found;
  size_t bytes = 0;
  for (int round = 0; round < kRounds; ++round) {
    get = std::min(get, Time(num, [&] {
                     for (size_t i = 0; i < num; ++i) store.Get(key(random() % num), &found);
                   }));
    step = std::min(step, Time(num, [&] {
                      const auto cursor = store.Scan();
                      for (cursor->SeekToFirst(); cursor->Valid(); cursor->Next())
                        bytes += cursor->key().size() + cursor->value().size();
                      Check(cursor->status(), "scan");
                    }));
  }
  if (bytes != kRounds * num * 116) {
    std::fprintf(stderr, "the scans saw %zu bytes, expected %zu\n", bytes, kRounds * num * 116);
    std::exit(1);
  }
  std::printf("%-14s  put %7.1f ns   get %7.1f ns   step of a scan %6.2f ns\n", kName, put, get, step);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || std::filesystem::exists(argv[1])) {
    std::fprintf(stderr, "usage: %s DIR [NUM]    DIR: a directory that the program creates, and removes at the end\n",
                 argv[0]);
    return 2;
  }
  Run(argv[1], argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 500'000);
  std::filesystem::remove_all(argv[1]);
}
