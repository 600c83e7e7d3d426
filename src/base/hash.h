// 64-bit hash of a key: XXH3 (xxhash 0.8, header-only). FORMAT: filters store it, so it must never change.
#pragma once

#include <cstdint>
#include <string_view>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace mergedb::base {

inline uint64_t Hash64(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace mergedb::base
