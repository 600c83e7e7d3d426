#include <leveldb/c.h>

#include <cstdlib>
#include <utility>

#include "torture/engine.h"

namespace mergedb::torture {
namespace {

class LeveldbEngine final : public Engine {
 public:
  std::string Open(const std::string& directory) override {
    leveldb_options_t* const options = leveldb_options_create();
    leveldb_options_set_create_if_missing(options, 1);
    leveldb_options_set_write_buffer_size(options, 64 << 10);
    char* error = nullptr;
    db_ = leveldb_open(options, directory.c_str(), &error);
    return Taken(error);
  }
  std::string Write(const Batch& batch) override {
    leveldb_writebatch_t* const writes = leveldb_writebatch_create();
    for (const auto& [key, value] : batch.changes) {
      if (value) {
        leveldb_writebatch_put(writes, key.data(), key.size(), value->data(), value->size());
      } else {
        leveldb_writebatch_delete(writes, key.data(), key.size());
      }
    }
    leveldb_writeoptions_t* const options = leveldb_writeoptions_create();
    leveldb_writeoptions_set_sync(options, batch.is_synced ? 1 : 0);
    char* error = nullptr;
    leveldb_write(db_, options, writes, &error);
    leveldb_writeoptions_destroy(options);
    leveldb_writebatch_destroy(writes);
    return Taken(error);
  }
  std::string Scan(Pairs* found) override {
    leveldb_readoptions_t* const options = leveldb_readoptions_create();
    leveldb_iterator_t* const it = leveldb_create_iterator(db_, options);
    for (leveldb_iter_seek_to_first(it); leveldb_iter_valid(it); leveldb_iter_next(it)) {
      size_t key_bytes = 0, value_bytes = 0;
      const char* const key = leveldb_iter_key(it, &key_bytes);
      const char* const value = leveldb_iter_value(it, &value_bytes);
      (*found)[std::string(key, key_bytes)] = std::string(value, value_bytes);
    }
    char* error = nullptr;
    leveldb_iter_get_error(it, &error);
    leveldb_iter_destroy(it);
    leveldb_readoptions_destroy(options);
    return Taken(error);
  }
  std::string Get(const std::string& key, std::optional<std::string>* value) override {
    leveldb_readoptions_t* const options = leveldb_readoptions_create();
    size_t bytes = 0;
    char* error = nullptr;
    char* const found = leveldb_get(db_, options, key.data(), key.size(), &bytes, &error);
    if (found != nullptr) value->emplace(found, bytes);
    std::free(found);
    leveldb_readoptions_destroy(options);
    return Taken(error);
  }
  std::string Close() override {
    leveldb_close(std::exchange(db_, nullptr));
    return {};
  }
  bool syncs_each_commit() const override { return false; }
  std::string version() const override {
    return std::to_string(leveldb_major_version()) + "." + std::to_string(leveldb_minor_version());
  }

 private:
  static std::string Taken(char* error) {
    if (error == nullptr) return {};
    std::string text = error;
    std::free(error);
    return text.empty() ? "an error without words" : text;
  }

  leveldb_t* db_ = nullptr;
};

}  // namespace

std::unique_ptr<Engine> NewLeveldb() { return std::make_unique<LeveldbEngine>(); }

}  // namespace mergedb::torture
