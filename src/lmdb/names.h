// The names of named databases, which are keys of the main database. mergedb_kv.lmdb includes this header, too: no call
// of LMDB's interface tells a name from another key.
#pragma once

#include <string_view>

#include "lmdb.h"

namespace mergedb::lmdb {

// MDB_INCOMPATIBLE if the key of the main database names a named database; 0 if not; an error if the look-up fails.
// REQUIRES: an open transaction. THREADS: that of the transaction. Throws std::bad_alloc.
int RefuseName(MDB_txn* txn, MDB_dbi dbi, std::string_view key);

}  // namespace mergedb::lmdb
