#include "bench/engines/engine.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace mergedb::bench {
namespace {

struct Maker {
  std::string_view name;
  std::unique_ptr<Engine> (*open)(const Flags&, const std::string&);
  void (*destroy)(const Flags&, const std::string&);
  bool is_linked;
};

const Maker kMakers[] = {
    {"mergedb", OpenMergedb, DestroyMergedb, true},
#ifdef MERGEDB_BENCH_LEVELDB
    {"leveldb", OpenLeveldb, DestroyLeveldb, true},
#endif
#ifdef MERGEDB_BENCH_LMDB
    {"lmdb", OpenLmdb, DestroyLmdb, true},
#endif
    {"rocksdb", OpenRocksdb, DestroyRocksdb, false}, {"fjall", OpenPeer, DestroyPeer, false},
    {"pebble", OpenPeer, DestroyPeer, false},
};

const Maker& MakerOf(const Flags& flags) {
  for (const Maker& maker : kMakers) {
    if (maker.name == flags.engine) return maker;
  }
  Die(flags.engine, "open", "this db_bench was built without this engine");
}

}  // namespace

bool IsMergeOperator(std::string_view name) {
  return name == "uint64add" || name == "stringappend" || name == "max" || name == "put" || name == "bytesxor";
}

void Die(std::string_view engine, std::string_view act, std::string_view reason) {
  std::fflush(stdout);
  std::fprintf(stderr, "%.*s: %.*s error: %.*s\n", static_cast<int>(engine.size()), engine.data(),
               static_cast<int>(act.size()), act.data(), static_cast<int>(reason.size()), reason.data());
  std::_Exit(1);  // _Exit, because background threads of the engine may still run
}

int64_t Reader::MultiGet(const std::vector<std::string_view>& keys, std::vector<std::string>* values) {
  int64_t found = 0;
  for (size_t i = 0; i < keys.size(); ++i) found += Get(keys[i], &(*values)[i]);
  return found;
}

void Writer::DeleteRange(std::string_view, std::string_view) {
  Die("--engine", "deleterange", "it has no range deletes");
}

std::vector<std::string> LinkedEngines() {
  std::vector<std::string> names;
  for (const Maker& maker : kMakers) {
    if (maker.is_linked) names.emplace_back(maker.name);
  }
  return names;
}

std::unique_ptr<Engine> OpenEngine(const Flags& flags, const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) Die(flags.engine, "open", path + ": " + error.message());
  return MakerOf(flags).open(flags, path);
}

void DestroyEngine(const Flags& flags, const std::string& path) {
  if (std::filesystem::exists(path)) MakerOf(flags).destroy(flags, path);
}

}  // namespace mergedb::bench
