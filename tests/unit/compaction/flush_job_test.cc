// Goal: a flush writes the entries of a memtable that a reader can still see into one table, or writes no
// table if there are no such entries. After a failure it leaves no file.
#include "compaction/flush_job.h"

#include <gtest/gtest.h>

#include "format/file_name.h"
#include "table/salvage.h"
#include "tests/unit/compaction/tables.h"

namespace mergedb::compaction {
namespace {

using testing::OwnedEntry;
using testing::StatusIs;

class FlushTest : public ::testing::Test {
 protected:
  void Add(const std::string& key, kv::Sequence sequence, const std::string& value) {
    memtable_.Add(key, kv::MakeTag(sequence, kv::Kind::kPut), value);
  }
  void Delete(const std::string& key, kv::Sequence sequence) {
    memtable_.Add(key, kv::MakeTag(sequence, kv::Kind::kDelete), "");
  }
  Result<format::FileMetaPtr> Flush(std::vector<kv::Sequence> snapshots) {
    ASSIGN_OR_RETURN(Flushed flushed,
                     compaction::Flush(tables_.factory, memtable_, std::move(snapshots), Compression::kNone, &counts_));
    blob_files_ = std::move(flushed.blob_files);
    return flushed.table;
  }

  std::string Read(const format::FileMetaPtr& table) {
    std::string text;
    for (const OwnedEntry& entry : tables_.Read(table))
      text += kv::PrintKey(entry.key, entry.tag) + "=" + entry.value + " ";
    return text;
  }

  testing::Tables tables_;
  memtable::Memtable memtable_{tables_.order, memtable::NewMemory(1 << 20)};
  iterator::CompactionIteratorCounts counts_;
  std::vector<format::BlobFilePtr> blob_files_;
};

TEST_F(FlushTest, KeepsTheNewestVersionsInOrder) {
  Add("b", 1, "old");
  Add("a", 2, "a");
  Add("b", 3, "new");
  ASSERT_OK_AND_ASSIGN(const auto table, Flush({3}));
  EXPECT_EQ(Read(table), "a#2,PUT=a b#3,PUT=new ");
  EXPECT_EQ(table->smallest, "a");
  EXPECT_EQ(table->largest, "b");
  EXPECT_EQ(counts_.entries_in, 3u);
  EXPECT_EQ(counts_.entries_out, 2u);
}

TEST_F(FlushTest, KeepsWhatASnapshotSees) {
  Add("k", 1, "one");
  Add("k", 2, "two");
  Add("k", 3, "three");
  ASSERT_OK_AND_ASSIGN(const auto table, Flush({2, 3}));
  EXPECT_EQ(Read(table), "k#3,PUT=three k#2,PUT=two ");
}

// Repair relies on this: an entry with a sequence of this range that is not in the table was dropped for
// good.
TEST_F(FlushTest, SaysWhichSequencesItTookIn) {
  memtable_.Add("x", kv::MakeTag(7, kv::Kind::kRangeDelete), "y");
  Add("k", 8, "one");
  Add("k", 12, "two");
  ASSERT_OK_AND_ASSIGN(const auto table, Flush({}));
  ASSERT_OK_AND_ASSIGN(const auto salvaged, table::Salvage({.file_system = &tables_.files,
                                                            .path = format::TablePath("dir", table->number),
                                                            .number = table->number,
                                                            .order = tables_.order},
                                                           nullptr));
  EXPECT_EQ(salvaged.compacted_ranges, (std::vector<format::CompactedRange>{{.from = 7, .sequence = 12}}));
}

// Older runs may hold the key, so the flush keeps the delete.
TEST_F(FlushTest, KeepsDeletes) {
  Add("k", 1, "v");
  Delete("k", 2);
  ASSERT_OK_AND_ASSIGN(const auto table, Flush({2}));
  EXPECT_EQ(Read(table), "k#2,DELETE= ");
  EXPECT_EQ(table->tombstones, 1u);
}

TEST_F(FlushTest, MakesNoTableOfNothing) {
  const size_t before = tables_.files_there();
  ASSERT_OK_AND_ASSIGN(const auto table, Flush({0}));
  EXPECT_EQ(table, nullptr);
  EXPECT_EQ(tables_.files_there(), before);
}

TEST_F(FlushTest, PutsLargeValuesInOneBlobFile) {
  tables_.factory.blob_value_bytes_min = 100;
  for (int i = 0; i < 2'000; ++i) {
    Add("key" + std::to_string(10'000 + i), static_cast<kv::Sequence>(i + 1), std::string(i % 2 == 0 ? 200 : 20, 'v'));
  }
  ASSERT_OK_AND_ASSIGN(const auto table, Flush({3'000}));
  ASSERT_EQ(blob_files_.size(), 1u);
  EXPECT_EQ(blob_files_[0]->records, 1'000u);
  EXPECT_EQ(table->value_bytes(), blob_files_[0]->record_bytes);
  EXPECT_LT(table->bytes, 120'000u);
}

// The table may be finished when its blob file fails with a full disk. No version names the table then, and
// it is removed like any obsolete file.
TEST_F(FlushTest, LeavesNoFileWhenTheDiskIsFull) {
  tables_.RemoveWhatNobodyNames();
  for (int i = 0; i < 2'000; ++i)
    Add("key" + std::to_string(i), static_cast<kv::Sequence>(i + 1), std::string(200, 'v'));
  const size_t before = tables_.files_there();
  tables_.files.SetCapacity(100 << 10);
  for (const size_t separated : {0u, 100u}) {
    tables_.factory.blob_value_bytes_min = separated;
    EXPECT_THAT(Flush({3'000}), StatusIs(Code::kNoSpace));
    EXPECT_EQ(tables_.files_there(), before);
  }
}

}  // namespace
}  // namespace mergedb::compaction
