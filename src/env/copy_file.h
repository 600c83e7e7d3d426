// A copy of a file that is durable, but for its name.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "mergedb/env.h"

namespace mergedb::env {

// The bytes of `source` into `target`, which must not exist. `copied` is called with the length of each piece; its error ends the copy.
// After an error `target` may be there, in part.
[[nodiscard]] Status CopyFile(FileSystem* file_system, const std::string& source, const std::string& target,
                              const std::function<Status(uint64_t bytes)>& copied = nullptr);

}  // namespace mergedb::env
