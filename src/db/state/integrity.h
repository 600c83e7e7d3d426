// DB::CheckIntegrity: reads all files of a version and compares them with what the MANIFEST says about them.
#pragma once

#include "db/state/store.h"
#include "version/version.h"

namespace mergedb::db {

// OK if every byte of every table and blob file is as it was written, and every blob reference leads to a
// value of its key.
Status CheckIntegrity(Store& store, const version::Version& version);

}  // namespace mergedb::db
