// Helpers for the tests of tables: make rows, write them to a table, open it.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"
#include "gtest/gtest.h"
#include "kv/order.h"
#include "table/reader.h"
#include "table/writer.h"
#include "tests/unit/table/memory_files.h"

namespace mergedb::testing {

struct Row {
  std::string key;
  kv::Tag tag = 0;
  std::string value;
};

inline kv::Entry ViewOf(const kv::Order& order, const Row& row) {
  return {.prefix = order.Prefix(row.key), .key = row.key, .tag = row.tag, .value = row.value};
}

inline kv::Order Bytewise() { return kv::Order(BytewiseComparator()); }

// Returns distinct rows in order: keys of several kinds, some with many versions, a few large values.
inline std::vector<Row> RandomRows(base::Random* random, const kv::Order& order, size_t count, size_t value_bytes_max) {
  std::vector<Row> rows;
  std::string key;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t shape = random->Uniform(6);
    if (shape == 0) key = "user:" + std::to_string(random->Uniform(1'000'000));
    if (shape == 1) key = "a long shared beginning of keys/" + std::to_string(random->Uniform(1'000'000));
    if (shape == 2) {
      key.clear();
      for (uint64_t left = random->Uniform(5); left > 0; --left) key += "a\0\xff"[random->Uniform(3)];
    }
    const bool is_delete = random->OneIn(6);
    const size_t value_bytes = random->OneIn(50) ? value_bytes_max : random->Uniform(value_bytes_max / 10 + 1);
    rows.push_back({.key = key,
                    .tag = kv::MakeTag(random->Uniform(100'000), is_delete ? kv::Kind::kDelete : kv::Kind::kPut),
                    .value = is_delete ? "" : std::string(value_bytes, static_cast<char>(random->Next()))});
  }
  const auto compare = [&](const Row& a, const Row& b) { return order.Compare(ViewOf(order, a), ViewOf(order, b)); };
  std::sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) { return compare(a, b) < 0; });
  // Keeps one version of a key for each sequence.
  const auto same = [&](const Row& a, const Row& b) {
    return order.SameKey(a.key, b.key) && kv::SequenceOf(a.tag) == kv::SequenceOf(b.tag);
  };
  rows.erase(std::unique(rows.begin(), rows.end(), same), rows.end());
  return rows;
}

inline constexpr uint64_t kUniqueId = 0xfeedface12345678;

struct TableShape {
  Compression compression = Compression::kNone;
  size_t block_bytes = 4096;
  int bloom_bits_per_key = 10;
  const format::FilterPolicy* filter_policy = nullptr;
  bool keeps_keys_whole = false;
  uint64_t bytes_expected = 1 << 20;
  uint64_t unique_id = kUniqueId;
  kv::RangeTombstones range_tombstones = {};
};

inline format::FileMetaPtr WriteTable(MemoryFiles* files, const std::string& path, const kv::Order& order,
                                      const std::vector<Row>& rows, const TableShape& shape = {}) {
  auto writer = table::Writer::Create(files, path, kv::FileNumber{7}, shape.unique_id, order,
                                      {.compression = shape.compression,
                                       .bloom_bits_per_key = shape.bloom_bits_per_key,
                                       .filter_policy = shape.filter_policy,
                                       .block_bytes = shape.block_bytes,
                                       .keeps_keys_whole = shape.keeps_keys_whole,
                                       .bytes_expected = shape.bytes_expected});
  EXPECT_TRUE(writer.has_value()) << writer.status().ToString();
  for (const Row& row : rows) EXPECT_TRUE((*writer)->Add(ViewOf(order, row)).ok());
  (*writer)->SetRangeTombstones(shape.range_tombstones);
  auto meta = (*writer)->Finish();
  EXPECT_TRUE(meta.has_value()) << meta.status().ToString();
  EXPECT_TRUE((*writer)->Sync().ok());
  return *meta;
}

inline std::shared_ptr<table::Reader> OpenTable(MemoryFiles* files, const std::string& path, format::FileMetaPtr meta,
                                                const kv::Order& order, base::BlockCache* cache) {
  auto reader = table::Reader::Open(files, path, std::move(meta), order, cache);
  EXPECT_TRUE(reader.has_value()) << reader.status().ToString();
  return reader ? *reader : nullptr;
}

}  // namespace mergedb::testing
