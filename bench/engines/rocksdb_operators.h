// RocksDB's bundled merge operators, which its C interface, but for uint64add, does not reach: written anew for it.
#pragma once

#include <string_view>

#include "bench/engines/rocksdb_library.h"

namespace mergedb::bench {

// REQUIRES: IsMergeOperator(name).
void SetMergeOperator(const RocksdbLibrary& rocks, std::string_view name, rocksdb_options_t* options);

}  // namespace mergedb::bench
