// Where a random test's seed comes from, so that a failure can be had again, and how much it should do:
//
//     MERGEDB_SEED=1234 ./model_model_test        ./model_model_test --gtest_random_seed=1234
//
// Without either the test's own seed: the same run every time. MERGEDB_FULL=1 asks the tests that have a long version for
// it. Under a sanitizer, or counting lines, a step costs several times as much: Sized() and what follows it make up for it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "gtest/gtest.h"

namespace mergedb::testing {

inline uint64_t SeedOr(uint64_t standard) {
  if (const char* text = std::getenv("MERGEDB_SEED")) return std::strtoull(text, nullptr, 0);
  const int flag = GTEST_FLAG_GET(random_seed);
  return flag != 0 ? static_cast<uint64_t>(flag) : standard;
}

inline bool IsFullSize() {
  const char* text = std::getenv("MERGEDB_FULL");
  return text != nullptr && std::string(text) == "1";
}

// By what an instrumented build divides the sizes of random tests.
#if defined(__SANITIZE_THREAD__)
inline constexpr uint64_t kInstrumentedFactor = 16;
#elif defined(__SANITIZE_ADDRESS__)
inline constexpr uint64_t kInstrumentedFactor = 8;
#elif defined(MERGEDB_COVERAGE)
inline constexpr uint64_t kInstrumentedFactor = 4;
#else
inline constexpr uint64_t kInstrumentedFactor = 1;
#endif

// How many rounds, keys or operations a random test does: `standard`, fewer in an instrumented build (but `least`), `full` if
// MERGEDB_FULL asks for it.
inline uint64_t Sized(uint64_t standard, uint64_t full, uint64_t least = 1) {
  return std::max((IsFullSize() ? full : standard) / kInstrumentedFactor, least);
}

// Of what a test tries one in so many: `standard`, or `full`; fewer in an instrumented build.
inline uint64_t SizedOneIn(uint64_t standard, uint64_t full) {
  return (IsFullSize() ? full : standard) * kInstrumentedFactor;
}

// The same for one of what a test tries all of, in no order that a format knows: an offset, a length.
inline bool IsTried(uint64_t which) { return (which * 0x9e3779b97f4a7c15u >> 40) % kInstrumentedFactor == 0; }

}  // namespace mergedb::testing
