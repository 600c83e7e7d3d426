// The contents of a database as one line of text, and their number.
#pragma once

#include <cstdint>
#include <string>

#include "gtest/gtest.h"
#include "mergedb/db.h"
#include "testing/status_matchers.h"

namespace mergedb::testing {

// The value, or the name of the error code.
inline std::string Show(const Status& status, const std::string& value) {
  return status.ok() ? value : std::string(CodeName(status.code()));
}

// Returns "a=1 b=2 ". Checks that a forward and a backward scan give the same entries.
inline std::string Contents(DB& db, const IteratorOptions& options = {}) {
  auto it = db.NewIterator(options);
  std::string forward, backward;
  for (it->SeekToFirst(); it->Valid(); it->Next())
    forward += std::string(it->key()) + "=" + std::string(it->value()) + " ";
  EXPECT_OK(it->status());
  for (it->SeekToLast(); it->Valid(); it->Prev())
    backward.insert(0, std::string(it->key()) + "=" + std::string(it->value()) + " ");
  EXPECT_OK(it->status());
  EXPECT_EQ(forward, backward);
  return forward;
}

inline uint64_t KeyCount(DB& db, const IteratorOptions& options = {}) {
  auto it = db.NewIterator(options);
  uint64_t keys = 0;
  for (it->SeekToFirst(); it->Valid(); it->Next()) ++keys;
  EXPECT_OK(it->status());
  return keys;
}

}  // namespace mergedb::testing
