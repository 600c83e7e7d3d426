// Addresses of this program as places in its sources, by addr2line.
#pragma once

#include <cstdint>
#include <string>

namespace mergedb::testing {

// "src/wal/segments.cc:220". Of code that was inlined from src/base/ the place of the call. "?" where that is not
// known.
std::string SourceOf(uintptr_t site);

}  // namespace mergedb::testing
