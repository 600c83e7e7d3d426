// All that was asked for, or an error: how tables and value files read.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mergedb/env.h"

namespace mergedb::env {

// Read exactly `bytes`; Corruption if the file ends before.
[[nodiscard]] Status ReadExactly(File* file, uint64_t offset, size_t bytes, char* out);

}  // namespace mergedb::env
