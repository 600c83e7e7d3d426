// RocksDB's bundled merge operators, written again, because its C interface has only uint64add.
#pragma once

#include <string_view>

#include "bench/engines/rocksdb_library.h"

namespace mergedb::bench {

// REQUIRES: IsMergeOperator(name).
void SetMergeOperator(const RocksdbLibrary& rocks, std::string_view name, rocksdb_options_t* options);

}  // namespace mergedb::bench
