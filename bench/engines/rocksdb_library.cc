#include "bench/engines/rocksdb_library.h"

#include <dlfcn.h>

#include "bench/engines/engine.h"

namespace mergedb::bench {
namespace {

template <typename Call>
void Find(void* library, const char* name, bool is_required, Call* call) {
  *call = reinterpret_cast<Call>(dlsym(library, name));
  if (is_required && !*call) Die("rocksdb", "open", std::string("the library lacks ") + name);
}

RocksdbLibrary Load(const std::string& path) {
  void* library = nullptr;
  RocksdbLibrary calls;
  for (const std::string& candidate :
       path.empty() ? std::vector<std::string>{"librocksdb.so.7.8", "librocksdb.so"} : std::vector<std::string>{path}) {
    calls.path = candidate;
    library = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library) break;
  }
  if (!library) Die("rocksdb", "open", dlerror());
#define X(result, name, parameters) Find(library, "rocksdb_" #name, true, &calls.name##_);
  MERGEDB_ROCKSDB_CALLS(X)
#undef X
#define X(result, name, parameters) Find(library, "rocksdb_" #name, false, &calls.name##_);
  MERGEDB_ROCKSDB_NEWER_CALLS(X)
#undef X
  return calls;
}

}  // namespace

const RocksdbLibrary& LoadRocksdb(const std::string& path) {
  static const RocksdbLibrary library = Load(path);
  return library;
}

}  // namespace mergedb::bench
