// A blob file in memory with known contents: for the tests of blob/.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "blob/reader.h"
#include "blob/writer.h"
#include "format/file_name.h"
#include "kv/order.h"
#include "tests/unit/table/memory_files.h"

namespace mergedb::testing {

struct ValueRow {
  std::string key;
  std::string value;
  format::BlobIndex reference = {};
};

inline const kv::Order& BytewiseOrder() {
  static const kv::Order order(BytewiseComparator());
  return order;
}

inline std::string ValuePath(uint64_t number) {
  return format::PrintFileName(format::FileKind::kBlobFile, kv::FileNumber{number});
}

// Writes the rows and sets their blob indexes.
inline format::BlobFilePtr WriteValues(MemoryFiles* files, uint64_t number, std::vector<ValueRow>* rows,
                                       const blob::WriterOptions& options = {}) {
  auto writer = blob::Writer::Create(files, ValuePath(number), kv::FileNumber{number}, 77 + number, options);
  EXPECT_TRUE(writer.has_value());
  for (ValueRow& row : *rows) EXPECT_TRUE((*writer)->Add(row.key, row.value, &row.reference).ok());
  auto meta = (*writer)->Finish();
  EXPECT_TRUE(meta.has_value()) << meta.status().ToString();
  return *meta;
}

inline std::vector<ValueRow> SomeValues(size_t count, size_t value_bytes) {
  std::vector<ValueRow> rows;
  for (size_t i = 0; i < count; ++i) {
    const std::string number = std::to_string(1'000 + i);
    std::string value = number;
    while (value.size() < value_bytes) value += "/" + number;
    rows.push_back({"key" + number, value});
  }
  return rows;
}

}  // namespace mergedb::testing
