// Translates addresses of this program into source lines, with addr2line.
#pragma once

#include <cstdint>
#include <string>

namespace mergedb::testing {

// Returns "src/wal/segments.cc:220". For code that was inlined from src/base/, the place of its caller. "?" if the
// place is unknown.
std::string SourceOf(uintptr_t site);

}  // namespace mergedb::testing
