// Copies a file durably. The caller makes the new name durable.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "mergedb/env.h"

namespace mergedb::env {

// Copies the bytes of `source` to `target`, which must not exist. Calls `copied` with the length of each
// piece; an error from `copied` ends the copy. After an error, a part of `target` may exist.
[[nodiscard]] Status CopyFile(FileSystem* file_system, const std::string& source, const std::string& target,
                              const std::function<Status(uint64_t bytes)>& copied = nullptr);

}  // namespace mergedb::env
