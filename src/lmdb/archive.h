// A database as one stream of bytes, for mdb_env_copyfd: a tar archive of the files of a copy, which mdb_env_open unpacks where it
// finds one in place of a database, and which tar itself unpacks as well.
//
// FORMAT: POSIX ustar (docs/formats/archive.md). A member for each file of the directory, named "mergedb/" and the file's name; CURRENT
// comes last, so that an archive that was cut off has none; two blocks of zeros. What is in the members says itself whether it is whole.
// Tested by tests/unit/lmdb/archive_test.cc.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "mergedb/env.h"
#include "mergedb/result.h"

namespace mergedb::lmdb {

using Sink = std::function<Status(std::string_view bytes)>;

// Every file of the database in `directory`, which nobody has open.
Status WriteArchive(FileSystem* files, const std::string& directory, const Sink& sink);

// Does the file begin as an archive of ours? False too if it cannot be read.
bool IsArchive(FileSystem* files, const std::string& path);
// Make the database of the archive in `directory`, which holds none. CURRENT comes last, and durably so: until then what was unpacked is
// written over by the next call.
Status Unpack(FileSystem* files, const std::string& archive, const std::string& directory);

}  // namespace mergedb::lmdb
