// Goal: a mapped table shows the same rows as a table that is read, without a copy, and damage is never
// returned as data. Method: files in memory; the test sees and changes their bytes under the mapping.
#include <gtest/gtest.h>

#include "tests/unit/table/table_rows.h"

namespace mergedb::table::mapped_test {
namespace {

using testing::Bytewise;
using testing::MemoryFiles;
using testing::Row;

const ReaderOptions kMapped{.memory = testing::Mapping()};

std::vector<Row> Rows(int count = 2000) {
  std::vector<Row> rows;
  for (int i = 0; i < count; ++i) {
    rows.push_back({"key" + std::to_string(100'000 + i), kv::MakeTag(7, kv::Kind::kPut), "value " + std::to_string(i)});
  }
  return rows;
}

class MappedTable : public ::testing::Test {
 protected:
  void Write(const testing::TableShape& shape = {}) {
    meta_ = testing::WriteTable(&files_, "7.tbl", Bytewise(), rows_, shape);
  }
  std::shared_ptr<Reader> Open(const ReaderOptions& options = kMapped) {
    auto reader = Reader::Open(&files_, "7.tbl", meta_, Bytewise(), &blocks_, options);
    EXPECT_TRUE(reader.has_value()) << reader.status().ToString();
    return reader ? *reader : nullptr;
  }
  static bool IsIn(std::string_view bytes, std::string_view mapped) {
    return bytes.data() >= mapped.data() && bytes.data() + bytes.size() <= mapped.data() + mapped.size();
  }
  // A byte in the values of the first block.
  char& FirstValueByte() { return files_.bytes("7.tbl")[3]; }
  Status Get(const Reader& reader, size_t row, Found* found, bool verifies = true) const {
    return reader.Get(rows_[row].key, kv::kSequenceMax, {.verify_checksums = verifies}, found);
  }

  MemoryFiles files_;
  base::BlockCache blocks_{1 << 20};
  const std::vector<Row> rows_ = Rows();
  format::FileMetaPtr meta_;
};

TEST_F(MappedTable, ShowsValuesWhereTheyLie) {
  Write();
  const auto reader = Open();
  ASSERT_FALSE(reader->mapped().empty());
  const uint64_t reads_before = files_.reads;
  for (size_t i = 0; i < rows_.size(); ++i) {
    Found found;
    ASSERT_TRUE(Get(*reader, i, &found).ok());
    EXPECT_EQ(found.value, rows_[i].value);
    EXPECT_FALSE(found.pin);
    EXPECT_TRUE(IsIn(found.value, reader->mapped()));
  }
  EXPECT_EQ(files_.reads, reads_before) << "no block was read by a call";
  EXPECT_EQ(blocks_.bytes(), 0u) << "nor copied into the cache";
}

TEST_F(MappedTable, ShowsWholeKeysWhereTheyLieInBothDirections) {
  Write({.keeps_keys_whole = true});
  const auto reader = Open();
  const auto it = reader->NewIterator({});
  size_t i = 0;
  for (it->SeekToFirst(); it->Valid(); it->Next(), ++i) {
    ASSERT_EQ(it->entry().key, rows_[i].key);
    EXPECT_TRUE(IsIn(it->entry().key, reader->mapped()));
    EXPECT_TRUE(IsIn(it->entry().value, reader->mapped()));
  }
  EXPECT_EQ(i, rows_.size());
  for (it->SeekToLast(); it->Valid(); it->Prev()) ASSERT_EQ(it->entry().key, rows_[--i].key);
  EXPECT_EQ(i, 0u);
  EXPECT_TRUE(reader->CheckIntegrity().ok());
}

TEST_F(MappedTable, ReadsCompressedBlocksThroughTheCache) {
  Write({.compression = Compression::kLz4});
  const auto reader = Open();
  for (int round = 0; round < 2; ++round) {
    Found found;
    ASSERT_TRUE(Get(*reader, 17, &found).ok());
    EXPECT_EQ(found.value, rows_[17].value);
    EXPECT_TRUE(found.pin);
    EXPECT_FALSE(IsIn(found.value, reader->mapped()));
  }
  EXPECT_EQ(blocks_.hits(), 1u);
}

TEST_F(MappedTable, IsReadAsOthersWhereNothingCanBeMapped) {
  files_.can_map = false;
  Write();
  const auto reader = Open();
  EXPECT_TRUE(reader->mapped().empty());
  Found found;
  ASSERT_TRUE(Get(*reader, 17, &found).ok());
  EXPECT_EQ(found.value, rows_[17].value);
  EXPECT_TRUE(found.pin);
}

TEST_F(MappedTable, DamageIsAnErrorEachTimeAndOfItsBlockAlone) {
  Write();
  const auto reader = Open();
  FirstValueByte() ^= 1;
  for (int round = 0; round < 2; ++round) {
    Found found;
    EXPECT_TRUE(Get(*reader, 0, &found).IsCorruption());
    const auto it = reader->NewIterator({});
    it->SeekToFirst();
    EXPECT_TRUE(!it->Valid() && it->status().IsCorruption());
    EXPECT_TRUE(Get(*reader, rows_.size() - 1, &found).ok());
  }
  FirstValueByte() ^= 1;
  Found found;
  EXPECT_TRUE(Get(*reader, 0, &found).ok()) << "what was found damaged is not remembered as such";
}

// A read without checksums must not mark the block as verified for other reads.
TEST_F(MappedTable, AReadWithoutChecksumsVouchesForNothing) {
  Write();
  const auto reader = Open();
  FirstValueByte() ^= 1;
  Found found;
  EXPECT_TRUE(Get(*reader, 0, &found, false).ok());
  EXPECT_TRUE(Get(*reader, 0, &found).IsCorruption());
}

// docs/decisions/0027-mapped-tables.md accepts this: a block is verified once.
TEST_F(MappedTable, WhatWasFoundWholeIsBelievedFromThenOn) {
  Write();
  const auto reader = Open();
  Found found;
  ASSERT_TRUE(Get(*reader, 0, &found).ok());
  FirstValueByte() ^= 1;
  EXPECT_TRUE(Get(*reader, 0, &found).ok());
  EXPECT_FALSE(reader->CheckIntegrity().ok()) << "but not by who checks";
}

TEST_F(MappedTable, AnIteratorKeepsItsReader) {
  Write();
  auto reader = Open();
  const auto it = reader->NewIterator({}, reader);
  reader = nullptr;
  it->SeekToLast();
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->entry().value, rows_.back().value);
}

}  // namespace
}  // namespace mergedb::table::mapped_test
