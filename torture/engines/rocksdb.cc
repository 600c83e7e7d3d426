#include <rocksdb/c.h>
#include <rocksdb/version.h>

#include <cstdlib>
#include <utility>

#include "torture/engine.h"

namespace mergedb::torture {
namespace {

class RocksdbEngine final : public Engine {
 public:
  std::string Open(const std::string& directory) override {
    rocksdb_options_t* const options = rocksdb_options_create();
    rocksdb_options_set_create_if_missing(options, 1);
    rocksdb_options_set_write_buffer_size(options, 64 << 10);
    char* error = nullptr;
    db_ = rocksdb_open(options, directory.c_str(), &error);
    return Taken(error);
  }
  std::string Write(const Batch& batch) override {
    rocksdb_writebatch_t* const writes = rocksdb_writebatch_create();
    for (const auto& [key, value] : batch.changes) {
      if (value) {
        rocksdb_writebatch_put(writes, key.data(), key.size(), value->data(), value->size());
      } else {
        rocksdb_writebatch_delete(writes, key.data(), key.size());
      }
    }
    rocksdb_writeoptions_t* const options = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(options, batch.is_synced ? 1 : 0);
    char* error = nullptr;
    rocksdb_write(db_, options, writes, &error);
    rocksdb_writeoptions_destroy(options);
    rocksdb_writebatch_destroy(writes);
    return Taken(error);
  }
  std::string Scan(Pairs* found) override {
    rocksdb_readoptions_t* const options = rocksdb_readoptions_create();
    rocksdb_iterator_t* const it = rocksdb_create_iterator(db_, options);
    for (rocksdb_iter_seek_to_first(it); rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
      size_t key_bytes = 0, value_bytes = 0;
      const char* const key = rocksdb_iter_key(it, &key_bytes);
      const char* const value = rocksdb_iter_value(it, &value_bytes);
      (*found)[std::string(key, key_bytes)] = std::string(value, value_bytes);
    }
    char* error = nullptr;
    rocksdb_iter_get_error(it, &error);
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(options);
    return Taken(error);
  }
  std::string Get(const std::string& key, std::optional<std::string>* value) override {
    rocksdb_readoptions_t* const options = rocksdb_readoptions_create();
    size_t bytes = 0;
    char* error = nullptr;
    char* const found = rocksdb_get(db_, options, key.data(), key.size(), &bytes, &error);
    if (found != nullptr) value->emplace(found, bytes);
    std::free(found);
    rocksdb_readoptions_destroy(options);
    return Taken(error);
  }
  std::string Close() override {
    rocksdb_close(std::exchange(db_, nullptr));
    return {};
  }
  bool syncs_each_commit() const override { return false; }
  std::string version() const override {
    return std::to_string(ROCKSDB_MAJOR) + "." + std::to_string(ROCKSDB_MINOR) + "." + std::to_string(ROCKSDB_PATCH);
  }

 private:
  static std::string Taken(char* error) {
    if (error == nullptr) return {};
    std::string text = error;
    std::free(error);
    return text.empty() ? "an error without words" : text;
  }

  rocksdb_t* db_ = nullptr;
};

}  // namespace

std::unique_ptr<Engine> NewRocksdb() { return std::make_unique<RocksdbEngine>(); }

}  // namespace mergedb::torture
