// What the inspections of one file share (repair/one_file.h).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "repair/one_file.h"

namespace mergedb::repair {

inline std::string_view LastName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Checks the kind, opens the file, and sets name, bytes and the number that the name has.
Result<std::unique_ptr<File>> OpenOneFile(FileSystem* file_system, const std::string& path, OneFileKind kind,
                                          OneFile* report);
// Adds a damage.
Damage& Report(OneFile* report, uint64_t offset, uint64_t bytes, std::string_view what);
// Compares the number of the content with that of the name, if the name has one.
void TakeNumber(kv::FileNumber found, OneFile* report);
// The status of a file system, an open file or a visitor, but not damage.
inline bool IsFailure(const Status& status) { return !status.ok() && !status.IsCorruption(); }

}  // namespace mergedb::repair
