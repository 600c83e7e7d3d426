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
};

const Maker kMakers[] = {
    {"mergedb", OpenMergedb, DestroyMergedb},
#ifdef MERGEDB_BENCH_LEVELDB
    {"leveldb", OpenLeveldb, DestroyLeveldb},
#endif
#ifdef MERGEDB_BENCH_LMDB
    {"lmdb", OpenLmdb, DestroyLmdb},
#endif
    {"rocksdb", OpenRocksdb, DestroyRocksdb}, {"fjall", OpenPeer, DestroyPeer}, {"pebble", OpenPeer, DestroyPeer},
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

void Writer::DeleteRange(std::string_view, std::string_view) {
  Die("--engine", "deleterange", "it has no range deletes");
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
