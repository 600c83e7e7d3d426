// The C face behind the C++ one: a mergedb::DB whose every call goes through include/mergedb/c.h and back. What runs on
// a DB then runs on the C face: the model tests do.
//
//     OpRunner -> mergedb::DB (this) -> mergedb_put(...) -> mergedb::DB (the engine)
//
// It lives in real files with real threads, since a C program cannot inject others. A handle that is no longer good is
// told as ShuttingDown, which is what the C++ face says after Close.
// THREADS: as the C face has it.
#pragma once

#include <memory>
#include <string>

#include "mergedb/db.h"

namespace mergedb::testing {

// `options.env` is not used. The comparator must outlive the database.
Result<std::unique_ptr<DB>> OpenThroughC(const Options& options, const std::string& path);
Status DestroyThroughC(const std::string& path);

}  // namespace mergedb::testing
