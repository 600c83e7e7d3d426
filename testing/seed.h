// The seed and the size of random tests. A seed replays a failure:
//
//     MERGEDB_SEED=1234 ./model_model_test        ./model_model_test --gtest_random_seed=1234
//
// Without either, a test uses its own seed, so each run is the same. MERGEDB_FULL=1 selects the long version of tests
// that have one. A step costs several times as much with a sanitizer or with coverage; the functions from Sized() on
// make such tests smaller.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

#include "gtest/gtest.h"

namespace mergedb::testing {

// The seed that the caller names, if any. A check of what the standard seeds reach applies only without one.
inline std::optional<uint64_t> SeedOfCaller() {
  if (const char* text = std::getenv("MERGEDB_SEED")) return std::strtoull(text, nullptr, 0);
  if (const int flag = GTEST_FLAG_GET(random_seed); flag != 0) return static_cast<uint64_t>(flag);
  return std::nullopt;
}

inline uint64_t SeedOr(uint64_t standard) { return SeedOfCaller().value_or(standard); }

inline bool IsFullSize() {
  const char* text = std::getenv("MERGEDB_FULL");
  return text != nullptr && std::string(text) == "1";
}

// Divides the sizes of random tests in an instrumented build.
#if defined(__SANITIZE_THREAD__)
inline constexpr uint64_t kInstrumentedFactor = 16;
#elif defined(__SANITIZE_ADDRESS__)
inline constexpr uint64_t kInstrumentedFactor = 8;
#elif defined(MERGEDB_COVERAGE)
inline constexpr uint64_t kInstrumentedFactor = 4;
#else
inline constexpr uint64_t kInstrumentedFactor = 1;
#endif

// The number of rounds, keys or operations of a random test: `standard`, or `full` with MERGEDB_FULL. An instrumented
// build does fewer, but at least `least`.
inline uint64_t Sized(uint64_t standard, uint64_t full, uint64_t least = 1) {
  return std::max((IsFullSize() ? full : standard) / kInstrumentedFactor, least);
}

// For a test that tries one case in N: N is `standard`, or `full` with MERGEDB_FULL. An instrumented build tries fewer.
inline uint64_t SizedOneIn(uint64_t standard, uint64_t full) {
  return (IsFullSize() ? full : standard) * kInstrumentedFactor;
}

// For a test that tries all offsets or lengths: an instrumented build tries a part of them, in no regular pattern.
inline bool IsTried(uint64_t which) { return (which * 0x9e3779b97f4a7c15u >> 40) % kInstrumentedFactor == 0; }

}  // namespace mergedb::testing
