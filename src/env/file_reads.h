// All that was asked for, or an error: how tables and value files read.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mergedb/env.h"

namespace mergedb::env {

// What a read of an open file says. WHY NotFound is IOError: a file that the system no longer finds must never pass for a key that is not
// there, nor for the end of an iterator.
[[nodiscard]] Status OfRead(Status status);

// Read exactly `bytes`; Corruption if the file ends before.
[[nodiscard]] Status ReadExactly(File* file, uint64_t offset, size_t bytes, char* out);

}  // namespace mergedb::env
