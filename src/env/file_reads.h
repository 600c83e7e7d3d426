// Reads that return all requested bytes or an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "mergedb/env.h"

namespace mergedb::env {

// Converts the status of a read of an open file. WHY NotFound becomes IOError: a missing file must never pass
// for a missing key, nor for the end of an iterator.
[[nodiscard]] Status OfRead(Status status);

// Reads the first `bytes_max` bytes of a file, or all of a shorter one.
Result<std::string> ReadBeginning(FileSystem* file_system, const std::string& path, size_t bytes_max);

// Opens a file for reading. Null if the path does not exist, or if it is a directory, a link or another path that is
// no regular file.
Result<std::unique_ptr<File>> OpenIfRegular(FileSystem* file_system, const std::string& path);

// Reads exactly `bytes` bytes. Corruption if the file ends before that.
[[nodiscard]] Status ReadExactly(File* file, uint64_t offset, size_t bytes, char* out);

}  // namespace mergedb::env
