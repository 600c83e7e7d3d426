// LevelDB's 68 C functions over the C++ classes. Each opaque structure holds the object that it names.
//
// If a handle is NULL, functions with an errptr set an error. Functions that destroy do nothing, and functions
// that return NULL on failure return NULL. Everywhere else a NULL handle is the program's fault, as in LevelDB.
// An exception (no memory) becomes an error if there is an errptr; otherwise the process stops. No exception
// leaves a function.
#include "leveldb/c.h"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "leveldb/cache.h"
#include "leveldb/comparator.h"
#include "leveldb/db.h"
#include "leveldb/env.h"
#include "leveldb/filter_policy.h"
#include "leveldb/iterator.h"
#include "leveldb/options.h"
#include "leveldb/write_batch.h"

namespace ldb = leveldb;

struct leveldb_t {
  std::unique_ptr<ldb::DB> db;
};
struct leveldb_iterator_t {
  std::unique_ptr<ldb::Iterator> iterator;
};
struct leveldb_writebatch_t {
  ldb::WriteBatch batch;
};
struct leveldb_snapshot_t {
  const ldb::Snapshot* snapshot = nullptr;
};
struct leveldb_readoptions_t {
  ldb::ReadOptions options;
};
struct leveldb_writeoptions_t {
  ldb::WriteOptions options;
};
struct leveldb_options_t {
  ldb::Options options;
};
struct leveldb_cache_t {
  std::unique_ptr<ldb::Cache> cache;
};
struct leveldb_env_t {
  ldb::Env* env = nullptr;
  bool is_default = false;  // Env::Default(), which is never deleted
};
struct leveldb_logger_t {
  ldb::Logger* logger = nullptr;
};

struct leveldb_comparator_t final : public ldb::Comparator {
  ~leveldb_comparator_t() override { destructor(state); }
  int Compare(const ldb::Slice& a, const ldb::Slice& b) const override {
    return compare(state, a.data(), a.size(), b.data(), b.size());
  }
  const char* Name() const override { return name(state); }
  void FindShortestSeparator(std::string*, const ldb::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}

  void* state = nullptr;
  void (*destructor)(void*) = nullptr;
  int (*compare)(void*, const char* a, size_t alen, const char* b, size_t blen) = nullptr;
  const char* (*name)(void*) = nullptr;
};

struct leveldb_filterpolicy_t : public ldb::FilterPolicy {
  virtual const ldb::FilterPolicy* policy() const { return this; }  // the policy that a database uses
};

namespace {

struct CallbackFilter final : public leveldb_filterpolicy_t {
  ~CallbackFilter() override { destructor(state); }
  const char* Name() const override { return name(state); }
  void CreateFilter(const ldb::Slice* keys, int count, std::string* filter) const override {
    std::vector<const char*> starts;
    std::vector<size_t> lengths;
    for (int i = 0; i < count; ++i) {
      starts.push_back(keys[i].data());
      lengths.push_back(keys[i].size());
    }
    size_t length = 0;
    const std::unique_ptr<char, void (*)(void*)> made(create(state, starts.data(), lengths.data(), count, &length),
                                                      std::free);
    if (made != nullptr) filter->append(made.get(), length);
  }
  bool KeyMayMatch(const ldb::Slice& key, const ldb::Slice& filter) const override {
    return may_match(state, key.data(), key.size(), filter.data(), filter.size()) != 0;
  }

  void* state = nullptr;
  void (*destructor)(void*) = nullptr;
  char* (*create)(void*, const char* const*, const size_t*, int, size_t*) = nullptr;
  uint8_t (*may_match)(void*, const char*, size_t, const char*, size_t) = nullptr;
  const char* (*name)(void*) = nullptr;
};

struct BloomFilter final : public leveldb_filterpolicy_t {
  explicit BloomFilter(int bits_per_key) : bloom(ldb::NewBloomFilterPolicy(bits_per_key)) {}
  const char* Name() const override { return bloom->Name(); }
  void CreateFilter(const ldb::Slice* keys, int count, std::string* filter) const override {
    bloom->CreateFilter(keys, count, filter);
  }
  bool KeyMayMatch(const ldb::Slice& key, const ldb::Slice& filter) const override {
    return bloom->KeyMayMatch(key, filter);
  }
  const ldb::FilterPolicy* policy() const override { return bloom.get(); }

  const std::unique_ptr<const ldb::FilterPolicy> bloom;
};

void SayError(const char* message, char** errptr) {
  if (errptr == nullptr) return;
  std::free(*errptr);
  *errptr = strdup(message);
}

bool SayError(const ldb::Status& status, char** errptr) {
  if (status.ok()) return false;
  SayError(status.ToString().c_str(), errptr);
  return true;
}

// Returns the result of `act`, or its type's default value after an exception.
template <typename Act>
auto Guarded(char** errptr, Act act) -> decltype(act()) {
  try {
    return act();
  } catch (const std::exception& exception) { SayError(exception.what(), errptr); } catch (...) {
    SayError("unknown exception", errptr);
  }
  return decltype(act())();
}

// If memory runs out here, the process stops.
template <typename Act>
auto Unfailing(Act act) noexcept -> decltype(act()) {
  return act();
}

template <typename... Handles>
bool IsMissing(char** errptr, const Handles*... handles) {
  if ((... && (handles != nullptr))) return false;
  SayError(ldb::Status::InvalidArgument("NULL handle"), errptr);
  return true;
}

bool AreMissing(char** errptr, const char* bytes, size_t size) {
  if (bytes != nullptr || size == 0) return false;
  SayError(ldb::Status::InvalidArgument("NULL bytes"), errptr);
  return true;
}

// Allocated by malloc. Not NULL for zero bytes.
char* Duplicate(const std::string& bytes) {
  char* const copy = static_cast<char*>(std::malloc(bytes.empty() ? 1 : bytes.size()));
  if (copy != nullptr && !bytes.empty()) std::memcpy(copy, bytes.data(), bytes.size());
  return copy;
}

ldb::ReadOptions OptionsOf(const leveldb_readoptions_t* options) {
  return options == nullptr ? ldb::ReadOptions() : options->options;
}
ldb::WriteOptions OptionsOf(const leveldb_writeoptions_t* options) {
  return options == nullptr ? ldb::WriteOptions() : options->options;
}

}  // namespace

extern "C" {

// -- the database

leveldb_t* leveldb_open(const leveldb_options_t* options, const char* name, char** errptr) {
  if (IsMissing(errptr, options, name)) return nullptr;
  return Guarded(errptr, [&]() -> leveldb_t* {
    ldb::DB* db = nullptr;
    if (SayError(ldb::DB::Open(options->options, name, &db), errptr)) return nullptr;
    return new leveldb_t{std::unique_ptr<ldb::DB>(db)};
  });
}

void leveldb_close(leveldb_t* db) { delete db; }

void leveldb_put(leveldb_t* db, const leveldb_writeoptions_t* options, const char* key, size_t keylen, const char* val,
                 size_t vallen, char** errptr) {
  if (IsMissing(errptr, db) || AreMissing(errptr, key, keylen) || AreMissing(errptr, val, vallen)) return;
  Guarded(errptr, [&] { return SayError(db->db->Put(OptionsOf(options), {key, keylen}, {val, vallen}), errptr); });
}

void leveldb_delete(leveldb_t* db, const leveldb_writeoptions_t* options, const char* key, size_t keylen,
                    char** errptr) {
  if (IsMissing(errptr, db) || AreMissing(errptr, key, keylen)) return;
  Guarded(errptr, [&] { return SayError(db->db->Delete(OptionsOf(options), {key, keylen}), errptr); });
}

void leveldb_write(leveldb_t* db, const leveldb_writeoptions_t* options, leveldb_writebatch_t* batch, char** errptr) {
  if (IsMissing(errptr, db, batch)) return;
  Guarded(errptr, [&] { return SayError(db->db->Write(OptionsOf(options), &batch->batch), errptr); });
}

char* leveldb_get(leveldb_t* db, const leveldb_readoptions_t* options, const char* key, size_t keylen, size_t* vallen,
                  char** errptr) {
  if (IsMissing(errptr, db, vallen)) return nullptr;
  *vallen = 0;
  if (AreMissing(errptr, key, keylen)) return nullptr;
  return Guarded(errptr, [&]() -> char* {
    std::string value;
    const ldb::Status status = db->db->Get(OptionsOf(options), {key, keylen}, &value);
    if (status.IsNotFound() || SayError(status, errptr)) return nullptr;
    char* const copy = Duplicate(value);
    if (copy == nullptr) {
      SayError("out of memory", errptr);
    } else {
      *vallen = value.size();
    }
    return copy;
  });
}

leveldb_iterator_t* leveldb_create_iterator(leveldb_t* db, const leveldb_readoptions_t* options) {
  if (db == nullptr) return nullptr;
  return Guarded(nullptr, [&] {
    return new leveldb_iterator_t{std::unique_ptr<ldb::Iterator>(db->db->NewIterator(OptionsOf(options)))};
  });
}

const leveldb_snapshot_t* leveldb_create_snapshot(leveldb_t* db) {
  if (db == nullptr) return nullptr;
  return Guarded(nullptr, [&] { return new leveldb_snapshot_t{db->db->GetSnapshot()}; });
}

void leveldb_release_snapshot(leveldb_t* db, const leveldb_snapshot_t* snapshot) {
  if (db == nullptr || snapshot == nullptr) return;
  db->db->ReleaseSnapshot(snapshot->snapshot);
  delete snapshot;
}

char* leveldb_property_value(leveldb_t* db, const char* propname) {
  if (db == nullptr || propname == nullptr) return nullptr;
  return Guarded(nullptr, [&]() -> char* {
    std::string text;
    return db->db->GetProperty(propname, &text) ? strdup(text.c_str()) : nullptr;
  });
}

void leveldb_approximate_sizes(leveldb_t* db, int num_ranges, const char* const* range_start_key,
                               const size_t* range_start_key_len, const char* const* range_limit_key,
                               const size_t* range_limit_key_len, uint64_t* sizes) {
  if (db == nullptr || num_ranges <= 0) return;
  Unfailing([&] {
    std::vector<ldb::Range> ranges;
    for (int i = 0; i < num_ranges; ++i) {
      ranges.emplace_back(ldb::Slice(range_start_key[i], range_start_key_len[i]),
                          ldb::Slice(range_limit_key[i], range_limit_key_len[i]));
    }
    db->db->GetApproximateSizes(ranges.data(), num_ranges, sizes);
  });
}

void leveldb_compact_range(leveldb_t* db, const char* start_key, size_t start_key_len, const char* limit_key,
                           size_t limit_key_len) {
  if (db == nullptr) return;
  const ldb::Slice start(start_key, start_key_len);
  const ldb::Slice limit(limit_key, limit_key_len);
  db->db->CompactRange(start_key == nullptr ? nullptr : &start, limit_key == nullptr ? nullptr : &limit);
}

void leveldb_destroy_db(const leveldb_options_t* options, const char* name, char** errptr) {
  if (IsMissing(errptr, options, name)) return;
  Guarded(errptr, [&] { return SayError(ldb::DestroyDB(name, options->options), errptr); });
}

void leveldb_repair_db(const leveldb_options_t* options, const char* name, char** errptr) {
  if (IsMissing(errptr, options, name)) return;
  Guarded(errptr, [&] { return SayError(ldb::RepairDB(name, options->options), errptr); });
}

// -- iterators

void leveldb_iter_destroy(leveldb_iterator_t* it) { delete it; }
uint8_t leveldb_iter_valid(const leveldb_iterator_t* it) { return it != nullptr && it->iterator->Valid(); }
void leveldb_iter_seek_to_first(leveldb_iterator_t* it) { it->iterator->SeekToFirst(); }
void leveldb_iter_seek_to_last(leveldb_iterator_t* it) { it->iterator->SeekToLast(); }
void leveldb_iter_seek(leveldb_iterator_t* it, const char* k, size_t klen) { it->iterator->Seek({k, klen}); }
void leveldb_iter_next(leveldb_iterator_t* it) { it->iterator->Next(); }
void leveldb_iter_prev(leveldb_iterator_t* it) { it->iterator->Prev(); }
const char* leveldb_iter_key(const leveldb_iterator_t* it, size_t* klen) {
  const ldb::Slice key = it->iterator->key();
  *klen = key.size();
  return key.data();
}
const char* leveldb_iter_value(const leveldb_iterator_t* it, size_t* vlen) {
  const ldb::Slice value = it->iterator->value();
  *vlen = value.size();
  return value.data();
}
void leveldb_iter_get_error(const leveldb_iterator_t* it, char** errptr) {
  if (!IsMissing(errptr, it)) SayError(it->iterator->status(), errptr);
}

// -- batches

leveldb_writebatch_t* leveldb_writebatch_create(void) {
  return Unfailing([] { return new leveldb_writebatch_t; });
}
void leveldb_writebatch_destroy(leveldb_writebatch_t* batch) { delete batch; }
void leveldb_writebatch_clear(leveldb_writebatch_t* batch) {
  Unfailing([&] { batch->batch.Clear(); });
}
void leveldb_writebatch_put(leveldb_writebatch_t* batch, const char* key, size_t klen, const char* val, size_t vlen) {
  Unfailing([&] { batch->batch.Put({key, klen}, {val, vlen}); });
}
void leveldb_writebatch_delete(leveldb_writebatch_t* batch, const char* key, size_t klen) {
  Unfailing([&] { batch->batch.Delete({key, klen}); });
}
void leveldb_writebatch_iterate(const leveldb_writebatch_t* batch, void* state,
                                void (*put)(void*, const char* k, size_t klen, const char* v, size_t vlen),
                                void (*deleted)(void*, const char* k, size_t klen)) {
  struct Callbacks final : public ldb::WriteBatch::Handler {
    void Put(const ldb::Slice& key, const ldb::Slice& value) override {
      put(state, key.data(), key.size(), value.data(), value.size());
    }
    void Delete(const ldb::Slice& key) override { deleted(state, key.data(), key.size()); }
    void* state = nullptr;
    void (*put)(void*, const char*, size_t, const char*, size_t) = nullptr;
    void (*deleted)(void*, const char*, size_t) = nullptr;
  };
  Callbacks callbacks;
  callbacks.state = state;
  callbacks.put = put;
  callbacks.deleted = deleted;
  Unfailing([&] { return batch->batch.Iterate(&callbacks); });
}
void leveldb_writebatch_append(leveldb_writebatch_t* destination, const leveldb_writebatch_t* source) {
  Unfailing([&] { destination->batch.Append(source->batch); });
}

// -- options

leveldb_options_t* leveldb_options_create(void) {
  return Unfailing([] { return new leveldb_options_t; });
}
void leveldb_options_destroy(leveldb_options_t* options) { delete options; }
void leveldb_options_set_comparator(leveldb_options_t* options, leveldb_comparator_t* comparator) {
  options->options.comparator = comparator;
}
void leveldb_options_set_filter_policy(leveldb_options_t* options, leveldb_filterpolicy_t* policy) {
  options->options.filter_policy = policy == nullptr ? nullptr : policy->policy();
}
void leveldb_options_set_create_if_missing(leveldb_options_t* options, uint8_t value) {
  options->options.create_if_missing = value != 0;
}
void leveldb_options_set_error_if_exists(leveldb_options_t* options, uint8_t value) {
  options->options.error_if_exists = value != 0;
}
void leveldb_options_set_paranoid_checks(leveldb_options_t* options, uint8_t value) {
  options->options.paranoid_checks = value != 0;
}
void leveldb_options_set_env(leveldb_options_t* options, leveldb_env_t* env) {
  options->options.env = env == nullptr ? nullptr : env->env;
}
void leveldb_options_set_info_log(leveldb_options_t* options, leveldb_logger_t* logger) {
  options->options.info_log = logger == nullptr ? nullptr : logger->logger;
}
void leveldb_options_set_write_buffer_size(leveldb_options_t* options, size_t bytes) {
  options->options.write_buffer_size = bytes;
}
void leveldb_options_set_max_open_files(leveldb_options_t* options, int files) {
  options->options.max_open_files = files;
}
void leveldb_options_set_cache(leveldb_options_t* options, leveldb_cache_t* cache) {
  options->options.block_cache = cache == nullptr ? nullptr : cache->cache.get();
}
void leveldb_options_set_block_size(leveldb_options_t* options, size_t bytes) { options->options.block_size = bytes; }
void leveldb_options_set_block_restart_interval(leveldb_options_t* options, int interval) {
  options->options.block_restart_interval = interval;
}
void leveldb_options_set_max_file_size(leveldb_options_t* options, size_t bytes) {
  options->options.max_file_size = bytes;
}
void leveldb_options_set_compression(leveldb_options_t* options, int compression) {
  options->options.compression = static_cast<ldb::CompressionType>(compression);
}

// -- comparators and filters

leveldb_comparator_t* leveldb_comparator_create(void* state, void (*destructor)(void*),
                                                int (*compare)(void*, const char* a, size_t alen, const char* b,
                                                               size_t blen),
                                                const char* (*name)(void*)) {
  auto* const comparator = Unfailing([] { return new leveldb_comparator_t; });
  comparator->state = state;
  comparator->destructor = destructor;
  comparator->compare = compare;
  comparator->name = name;
  return comparator;
}
void leveldb_comparator_destroy(leveldb_comparator_t* comparator) { delete comparator; }

leveldb_filterpolicy_t* leveldb_filterpolicy_create(void* state, void (*destructor)(void*),
                                                    char* (*create_filter)(void*, const char* const* key_array,
                                                                           const size_t* key_length_array, int num_keys,
                                                                           size_t* filter_length),
                                                    uint8_t (*key_may_match)(void*, const char* key, size_t length,
                                                                             const char* filter, size_t filter_length),
                                                    const char* (*name)(void*)) {
  auto* const filter = Unfailing([] { return new CallbackFilter; });
  filter->state = state;
  filter->destructor = destructor;
  filter->create = create_filter;
  filter->may_match = key_may_match;
  filter->name = name;
  return filter;
}
void leveldb_filterpolicy_destroy(leveldb_filterpolicy_t* filter) { delete filter; }
leveldb_filterpolicy_t* leveldb_filterpolicy_create_bloom(int bits_per_key) {
  return Unfailing([&] { return new BloomFilter(bits_per_key); });
}

// -- options of reads and writes

leveldb_readoptions_t* leveldb_readoptions_create(void) {
  return Unfailing([] { return new leveldb_readoptions_t; });
}
void leveldb_readoptions_destroy(leveldb_readoptions_t* options) { delete options; }
void leveldb_readoptions_set_verify_checksums(leveldb_readoptions_t* options, uint8_t value) {
  options->options.verify_checksums = value != 0;
}
void leveldb_readoptions_set_fill_cache(leveldb_readoptions_t* options, uint8_t value) {
  options->options.fill_cache = value != 0;
}
void leveldb_readoptions_set_snapshot(leveldb_readoptions_t* options, const leveldb_snapshot_t* snapshot) {
  options->options.snapshot = snapshot == nullptr ? nullptr : snapshot->snapshot;
}
leveldb_writeoptions_t* leveldb_writeoptions_create(void) {
  return Unfailing([] { return new leveldb_writeoptions_t; });
}
void leveldb_writeoptions_destroy(leveldb_writeoptions_t* options) { delete options; }
void leveldb_writeoptions_set_sync(leveldb_writeoptions_t* options, uint8_t value) {
  options->options.sync = value != 0;
}

// -- cache, environment, the rest

leveldb_cache_t* leveldb_cache_create_lru(size_t capacity) {
  return Unfailing([&] { return new leveldb_cache_t{std::unique_ptr<ldb::Cache>(ldb::NewLRUCache(capacity))}; });
}
void leveldb_cache_destroy(leveldb_cache_t* cache) { delete cache; }
leveldb_env_t* leveldb_create_default_env(void) {
  return Unfailing([] { return new leveldb_env_t{.env = ldb::Env::Default(), .is_default = true}; });
}
void leveldb_env_destroy(leveldb_env_t* env) {
  if (env != nullptr && !env->is_default) delete env->env;
  delete env;
}
char* leveldb_env_get_test_directory(leveldb_env_t* env) {
  if (env == nullptr) return nullptr;
  return Guarded(nullptr, [&]() -> char* {
    std::string path;
    return env->env->GetTestDirectory(&path).ok() ? strdup(path.c_str()) : nullptr;
  });
}
void leveldb_free(void* ptr) { std::free(ptr); }
int leveldb_major_version(void) { return ldb::kMajorVersion; }
int leveldb_minor_version(void) { return ldb::kMinorVersion; }

}  // extern "C"
