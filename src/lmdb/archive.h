// A database as one stream of bytes, for mdb_env_copyfd: a tar archive of the files of a copy. If mdb_env_open
// finds an archive in place of a database, it unpacks the archive. tar can unpack it as well.
//
// FORMAT: POSIX ustar (docs/formats/archive.md). One member for each file of the directory, named "mergedb/"
// and the file's name. CURRENT is the last member, so an archive that was cut off has none. Then two blocks of
// zeros. The members need no checksum of the archive: the files have their own.
// Tests: tests/unit/lmdb/archive_test.cc.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "mergedb/env.h"
#include "mergedb/result.h"

namespace mergedb::lmdb {

using Sink = std::function<Status(std::string_view bytes)>;

// Writes every file of the database in `directory`. REQUIRES: the database is not open.
Status WriteArchive(FileSystem* files, const std::string& directory, const Sink& sink);

// True if the file begins as an archive of this format. False if it cannot be read.
bool IsArchive(FileSystem* files, const std::string& path);
// Makes a database from the archive. REQUIRES: `directory` holds no database. CURRENT is made last, and
// durably: after an interruption the next call replaces the files unpacked so far.
Status Unpack(FileSystem* files, const std::string& archive, const std::string& directory);

}  // namespace mergedb::lmdb
