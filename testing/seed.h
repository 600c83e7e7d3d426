// Where a random test's seed comes from, so that a failure can be had again:
//
//     MERGEDB_SEED=1234 ./model_model_test        ./model_model_test --gtest_random_seed=1234
//
// Without either the test's own seed: the same run every time. MERGEDB_FULL=1 asks the tests that have a long version for
// it.
#pragma once

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

}  // namespace mergedb::testing
