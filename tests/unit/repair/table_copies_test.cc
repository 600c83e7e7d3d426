// Goal: a copy has each intact entry once, without obsolete ones; a value in a damaged blob file moves into the table,
// and only a value that was reported as lost may be missing. Method: tables and blob files in memory, copied with what
// the inspection would say of them. tests/flips/repair_test.cc repairs whole databases.
#include "repair/table_copies.h"

#include <gtest/gtest.h>

#include "testing/status_matchers.h"
#include "tests/unit/compaction/tables.h"

namespace mergedb::repair {
namespace {

using ::testing::HasSubstr;
using testing::OwnedEntry;
using testing::PutEntry;
using testing::StatusIs;

constexpr kv::FileNumber kBlobFile{50};

class TableCopiesTest : public ::testing::Test {
 protected:
  Result<format::FileMetaPtr> Copy(const LooseTable& damaged, uint64_t entries,
                                   const CompactedInputs* compacted_inputs = nullptr) {
    return CopyTable({tables_.factory, {}, blob_files_, compacted_inputs}, damaged, {}, entries);
  }
  std::string Shown(const format::FileMetaPtr& meta) {
    std::string shown;
    for (const OwnedEntry& entry : tables_.Read(meta))
      shown += kv::PrintKey(entry.key, entry.tag) + "=" + entry.value + " ";
    return shown;
  }
  // Writes the values of `keys` to a blob file. Returns a table that refers to them.
  LooseTable WriteReferences(const std::string& keys) {
    auto writer = blob::Writer::Create(&tables_.files, path_, kBlobFile, 77, {});
    EXPECT_OK(writer.status());
    std::vector<OwnedEntry> entries;
    for (const char key : keys) {
      format::BlobIndex index;
      EXPECT_OK((*writer)->Add(std::string(1, key), std::string("value of ") + key, &index));
      offsets_.push_back(index.offset);
      char bytes[format::kBlobIndexBytesMax];
      const size_t size = format::EncodeBlobIndex(bytes, index);
      entries.push_back({std::string(1, key), kv::MakeTag(5, kv::Kind::kPutBlobIndex), std::string(bytes, size)});
    }
    EXPECT_OK((*writer)->Finish());
    return {.meta = tables_.Write(entries)};
  }

  testing::Tables tables_;
  BlobFiles blob_files_{&tables_.files, "dir", tables_.order};
  const std::string path_ = format::BlobFilePath("dir", kBlobFile);
  std::vector<uint64_t> offsets_;
};

TEST_F(TableCopiesTest, ACopyHasTheEntriesOfItsTable) {
  const LooseTable table{.meta = tables_.Write({PutEntry("a", 3, "1"), PutEntry("b", 2, "2")})};
  ASSERT_OK_AND_ASSIGN(const auto copy, Copy(table, 2));
  EXPECT_NE(copy->number, table.meta->number);
  EXPECT_EQ(Shown(copy), "a#3,PUT=1 b#2,PUT=2 ");
}

TEST_F(TableCopiesTest, FewerOrMoreEntriesThanTheInspectionSawAreAnError) {
  const LooseTable table{.meta = tables_.Write({PutEntry("a", 3, "1"), PutEntry("b", 2, "2")})};
  EXPECT_THAT(Copy(table, 3), StatusIs(Code::kIOError, HasSubstr("of 3 intact entries 2")));
  EXPECT_THAT(Copy(table, 1), StatusIs(Code::kIOError));
}

TEST_F(TableCopiesTest, ObsoleteEntriesAreCountedAndNotCopied) {
  std::vector<LooseTable> tables = {{.meta = tables_.Write({PutEntry("a", 3, "1"), PutEntry("b", 9, "2")})},
                                    {.meta = tables_.Write({PutEntry("a", 3, "1")})}};
  tables[1].compacted_ranges = {{.from = 1, .sequence = 8}};
  const CompactedInputs inputs(tables_.order, tables);
  ASSERT_OK_AND_ASSIGN(const auto copy, Copy(tables[0], 2, &inputs));
  EXPECT_EQ(Shown(copy), "b#9,PUT=2 ");
  tables[1].compacted_ranges = {{.from = 1, .sequence = 9}};
  const CompactedInputs all(tables_.order, tables);
  ASSERT_OK_AND_ASSIGN(const auto none, Copy(tables[0], 2, &all));
  EXPECT_EQ(none, nullptr);
}

TEST_F(TableCopiesTest, AReferenceToAWholeBlobFileStays) {
  const LooseTable table = WriteReferences("ab");
  ASSERT_OK(blob_files_.Look(kBlobFile, nullptr));
  ASSERT_OK_AND_ASSIGN(const auto copy, Copy(table, 2));
  const auto entries = tables_.Read(copy);
  ASSERT_EQ(entries.size(), 2u);
  for (const OwnedEntry& entry : entries) EXPECT_EQ(kv::KindOf(entry.tag), kv::Kind::kPutBlobIndex);
}

TEST_F(TableCopiesTest, AValueOfADamagedBlobFileMovesIntoTheTable) {
  LooseTable table = WriteReferences("abc");
  ASSERT_OK(tables_.files.FlipBit(path_, offsets_[1] + 12, 0));
  ASSERT_OK(blob_files_.Look(kBlobFile, nullptr));
  table.lost_ranges = {{"b", "b"}};
  ASSERT_OK_AND_ASSIGN(const auto copy, Copy(table, 3));
  EXPECT_EQ(Shown(copy), "a#5,PUT=value of a c#5,PUT=value of c ");
}

TEST_F(TableCopiesTest, AValueIsNotLostUnlessItWasReported) {
  LooseTable table = WriteReferences("abc");
  ASSERT_OK(tables_.files.FlipBit(path_, offsets_[1] + 12, 0));
  ASSERT_OK(blob_files_.Look(kBlobFile, nullptr));
  for (const KeyRange& reported : {KeyRange{"a", "aa"}, KeyRange{"bb", "c"}}) {
    table.lost_ranges = {reported};
    EXPECT_THAT(Copy(table, 3), StatusIs(Code::kIOError, HasSubstr("could not be read a second time")));
  }
  table.lost_ranges = {KeyRange{}};
  EXPECT_OK(Copy(table, 3)) << "a range without bounds has every key";
}

TEST_F(TableCopiesTest, TheWalIsOlderThanAnyCompactedRange) {
  memtable::Memtable logged(tables_.order, memtable::NewMemory(64 << 10));
  logged.Add("a", kv::MakeTag(3, kv::Kind::kPut), "1");
  logged.Add("b", kv::MakeTag(9, kv::Kind::kPut), "2");
  for (const kv::Sequence last : {8, 9}) {
    std::vector<LooseTable> tables = {{.meta = tables_.Write({PutEntry("x", 3, "1")})}};
    tables[0].compacted_ranges = {{.from = 1, .sequence = last}};
    const CompactedInputs inputs(tables_.order, tables);
    ASSERT_OK_AND_ASSIGN(const auto made, CopyLogged({tables_.factory, {}, blob_files_, &inputs}, logged));
    ASSERT_EQ(made == nullptr, last == 9);
    if (made != nullptr) { EXPECT_EQ(Shown(made), "b#9,PUT=2 "); }
  }
}

}  // namespace
}  // namespace mergedb::repair
