// Makes a file durably: a copy, or a small one. The caller makes the new name durable.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "mergedb/env.h"

namespace mergedb::env {

// Copies the bytes of `source` to `target`, which must not exist. Calls `copied` with the length of each
// piece; an error from `copied` ends the copy. After an error, a part of `target` may exist.
[[nodiscard]] Status CopyFile(FileSystem* file_system, const std::string& source, const std::string& target,
                              const std::function<Status(uint64_t bytes)>& copied = nullptr);

// Writes `bytes` to `path`, which must not exist. After an error, a part of it may exist.
[[nodiscard]] Status WriteNewFile(FileSystem* file_system, const std::string& path, std::string_view bytes);

}  // namespace mergedb::env
