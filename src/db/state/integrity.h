// Reads files whole and compares them with what the MANIFEST says about them: one file, or for DB::CheckIntegrity all
// files of a version.
#pragma once

#include <string>

#include "db/state/store.h"
#include "format/data_file.h"
#include "version/version.h"

namespace mergedb::db {

// OK if every byte of the file at `path` is as `file` describes it.
Status CheckFile(FileSystem* files, const std::string& path, const format::DescribedFile& file, const kv::Order& order);
// OK if every byte of every table and blob file is as it was written, and every blob index leads to a
// value of its key.
Status CheckIntegrity(Store& store, const version::Version& version);

}  // namespace mergedb::db
