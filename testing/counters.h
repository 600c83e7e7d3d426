// What a database counts, as numbers.
#pragma once

#include <cstdint>
#include <string>

#include "gtest/gtest.h"
#include "mergedb/db.h"

namespace mergedb::testing {

inline std::string Property(DB& db, const std::string& name) {
  std::string text;
  EXPECT_TRUE(db.GetProperty("mergedb." + name, &text)) << name;
  return text;
}

inline uint64_t Counter(DB& db, const std::string& name) { return std::stoull("0" + Property(db, name)); }

}  // namespace mergedb::testing
