// A mergedb::DB that makes every call through the C interface (include/mergedb/c.h). So a test that takes a DB, such
// as the model tests, also tests the C interface.
//
//     OpRunner -> mergedb::DB (this) -> mergedb_put(...) -> mergedb::DB (the engine)
//
// The database uses real files and real threads, because a C program cannot supply an Env. An invalid handle gives
// ShuttingDown, the status that the C++ interface returns after Close.
// THREADS: as the C interface.
#pragma once

#include <memory>
#include <string>

#include "mergedb/db.h"

namespace mergedb::testing {

// `options.env` is not used. The comparator must outlive the database.
Result<std::unique_ptr<DB>> OpenThroughC(const Options& options, const std::string& path);
Status DestroyThroughC(const std::string& path);

}  // namespace mergedb::testing
