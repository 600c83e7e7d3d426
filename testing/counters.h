// The properties and counters of a database; Property and Counter also take a leveldb::DB.
#pragma once

#include <cstdint>
#include <string>

#include "gtest/gtest.h"
#include "mergedb/db.h"

namespace mergedb::testing {

template <typename Database>
std::string Property(Database& db, const std::string& name) {
  std::string text;
  EXPECT_TRUE(db.GetProperty("mergedb." + name, &text)) << name;
  return text;
}

// Reads the list of all counters, because the property "mergedb.runs" is a text and not the counter.
template <typename Database>
uint64_t Counter(Database& db, const std::string& name) {
  const std::string list = "\n" + Property(db, "counters");
  const size_t at = list.find("\n" + name + " ");
  EXPECT_NE(at, std::string::npos) << name;
  return at == std::string::npos ? 0 : std::stoull(list.substr(at + name.size() + 2));
}

inline uint64_t FileBytes(DB& db) { return Counter(db, "table_bytes_on_disk") + Counter(db, "blob_bytes_on_disk"); }

}  // namespace mergedb::testing
