// Goal: the description that a writer returns for its table is right, and the writer reports failures.
#include "table/writer.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "leveldb/format/filter.h"
#include "table/reader.h"
#include "tests/unit/table/table_rows.h"

namespace mergedb::table {
namespace {

using testing::Bytewise;
using testing::MemoryFiles;
using testing::Row;

Result<std::unique_ptr<Writer>> Create(MemoryFiles* files, const kv::Order& order, WriterOptions options = {}) {
  return Writer::Create(files, "7.tbl", kv::FileNumber{7}, 42, order, options);
}

TEST(Writer, DescribesItsTable) {
  MemoryFiles files;
  auto writer = Create(&files, Bytewise());
  ASSERT_TRUE(writer.has_value());
  const Row rows[] = {{"apple", kv::MakeTag(9, kv::Kind::kPut), "red"},
                      {"apple", kv::MakeTag(3, kv::Kind::kPut), "green"},
                      {"pear", kv::MakeTag(5, kv::Kind::kDelete), ""}};
  for (const Row& row : rows) ASSERT_TRUE((*writer)->Add(ViewOf(Bytewise(), row)).ok());
  EXPECT_EQ((*writer)->entries(), 3u);
  EXPECT_EQ((*writer)->last_key(), "pear");
  EXPECT_GT((*writer)->bytes_written(), 0u);
  const auto meta = (*writer)->Finish();
  ASSERT_TRUE(meta.has_value());
  EXPECT_TRUE((*writer)->Sync().ok());
  format::FileMeta expected;
  expected.number = kv::FileNumber{7};
  expected.bytes = 4096;
  expected.unique_id = 42;
  expected.entries = 3;
  expected.tombstones = 2;  // the delete, and the older apple: a full compaction drops both
  expected.raw_bytes = 5 + 3 + 5 + 5 + 4;
  expected.smallest_sequence = 3;
  expected.largest_sequence = 9;
  expected.smallest = "apple";
  expected.largest = "pear";
  EXPECT_EQ(**meta, expected);
}

kv::RangeTombstones Ranges(std::vector<kv::RangeTombstone> tombstones) {
  return kv::RangeTombstones::Fragment(Bytewise(), std::move(tombstones), {}, kv::RangeTombstones::Keys::kViews);
}

TEST(Writer, LimitsIncludeRangeTombstones) {
  MemoryFiles files;
  const std::vector<Row> rows = {{"d", kv::MakeTag(9, kv::Kind::kPut), "red"},
                                 {"m", kv::MakeTag(8, kv::Kind::kPut), ""}};
  int tables = 0;
  const auto limits = [&](const std::vector<Row>& entries, const kv::RangeTombstones& ranges) {
    const std::string path = std::to_string(++tables) + ".tbl";
    const auto meta = testing::WriteTable(&files, path, Bytewise(), entries, {.range_tombstones = ranges});
    EXPECT_EQ(meta->entries, entries.size());
    EXPECT_EQ(meta->range_tombstones, ranges.tombstones());
    const auto reader = testing::OpenTable(&files, path, meta, Bytewise(), nullptr);
    EXPECT_TRUE(reader->CheckIntegrity().ok()) << reader->CheckIntegrity().ToString();
    return meta->smallest + ".." + meta->largest + (meta->largest_is_open ? ") " : "] ") +
           std::to_string(meta->smallest_sequence) + "-" + std::to_string(meta->largest_sequence);
  };
  EXPECT_EQ(limits(rows, {}), "d..m] 8-9");
  EXPECT_EQ(limits(rows, Ranges({{"a", "e", 5}})), "a..m] 5-9");
  EXPECT_EQ(limits(rows, Ranges({{"d", "m", 5}})), "d..m] 5-9");
  EXPECT_EQ(limits(rows, Ranges({{"e", "z", 11}})), "d..z) 8-11");
  EXPECT_EQ(limits({}, Ranges({{"b", "c", 5}, {"e", "z", 11}})), "b..z) 5-11");
}

TEST(Writer, ATableOfRangeTombstonesAloneHasNoEntries) {
  MemoryFiles files;
  const auto meta = testing::WriteTable(&files, "7.tbl", Bytewise(), {}, {.range_tombstones = Ranges({{"b", "e", 5}})});
  EXPECT_EQ(meta->bytes, 4096u);
  const auto reader = testing::OpenTable(&files, "7.tbl", meta, Bytewise(), nullptr);
  Found found;
  EXPECT_TRUE(reader->Get("c", kv::kSequenceMax, {}, &found).IsNotFound());
  for (const bool is_scan : {false, true}) {
    const auto it = is_scan ? reader->NewScanIterator() : reader->NewIterator({});
    it->SeekToFirst();
    EXPECT_FALSE(it->Valid());
    EXPECT_TRUE(it->status().ok());
  }
  EXPECT_EQ(reader->ApproximateOffset("c"), 0u);
  reader->Warm();
  EXPECT_EQ(reader->range_tombstones().MaskingSequence(Bytewise(), "d", 9), 5u);
}

// docs/formats/table.md shows this file byte by byte.
TEST(Writer, WritesTheseBytes) {
  MemoryFiles files;
  const std::vector<Row> rows = {{"apple", kv::MakeTag(7, kv::Kind::kPut), "red"},
                                 {"apricot", kv::MakeTag(9, kv::Kind::kDelete), ""}};
  (void)testing::WriteTable(&files, "7.tbl", Bytewise(), rows);
  const std::string& bytes = files.bytes("7.tbl");
  ASSERT_EQ(bytes.size(), 4096u);
  EXPECT_EQ(base::ToHex(bytes.substr(0, 50)),
            "7265646170706c657269636f740100000200000300080000000300030002000000020000000700000000000022"
            "00"  // codec
            "67b5b4cb");
  EXPECT_EQ(base::ToHex(bytes.substr(4000)),
            "78563412cefaedfe"  // unique id
            "0010000000000000"  // file bytes
            "3200000000000000"  // data bytes
            "4600000000000000"  // filter bytes
            "1d00000000000000"  // index bytes
            "7600000000000000"  // properties bytes
            "000000000000000000000000000000000000000000000000"
            "90ee1a1d"  // checksum
            "01000000"  // version
            "6d657267656462207461626c650d0a1a");
  EXPECT_EQ(base::Crc32c(bytes), 3268131718u);
}

TEST(Writer, RefusesEntriesOutOfOrder) {
  const Row good{"b", kv::MakeTag(5, kv::Kind::kPut), ""};
  const Row bad[] = {{"a", kv::MakeTag(9, kv::Kind::kPut), ""},
                     {"b", kv::MakeTag(5, kv::Kind::kPut), ""},
                     {"b", kv::MakeTag(6, kv::Kind::kPut), ""}};
  for (const Row& row : bad) {
    MemoryFiles files;
    auto writer = Create(&files, Bytewise());
    ASSERT_TRUE((*writer)->Add(ViewOf(Bytewise(), good)).ok());
    EXPECT_TRUE((*writer)->Add(ViewOf(Bytewise(), row)).IsCorruption());
    const auto finished = (*writer)->Finish();
    EXPECT_TRUE(finished.status().IsCorruption());
    EXPECT_NE(finished.status().message().find("not a total order"), std::string_view::npos);
  }
}

TEST(Writer, ReportsAFullDiskAndStaysFailed) {
  MemoryFiles files;
  auto writer = Create(&files, Bytewise(), {.bytes_expected = 8 << 20});
  files.writes_left = 1;
  Status status;
  for (int i = 0; i < 40'000 && status.ok(); ++i) {
    const Row row{std::to_string(1'000'000 + i), 1 << 8, std::string(100, 'v')};
    status = (*writer)->Add(ViewOf(Bytewise(), row));
  }
  EXPECT_TRUE(status.code() == Code::kNoSpace) << status.ToString();
  files.writes_left = 100;
  EXPECT_TRUE((*writer)->Finish().status().code() == Code::kNoSpace);
}

// The writer writes a table in pieces of 1 MiB. The first piece may end anywhere: in a block, a trailer, a
// section, the padding or the footer. A failed write of the piece always fails the table.
TEST(Writer, ReportsAFullDiskWhereverItsBufferEnds) {
  constexpr size_t kPiece = 1 << 20;
  const auto ranges = kv::RangeTombstones::Fragment(Bytewise(), {{"a", "b", 9}}, {}, kv::RangeTombstones::Keys::kViews);
  const leveldb_format::BloomPolicy policy(10);
  for (const bool has_own_filter : {false, true}) {
    for (size_t behind = 0; behind < 5000; behind += behind < 600 ? 4 : 97) {
      SCOPED_TRACE(behind);
      MemoryFiles files;
      files.writes_left = 0;
      auto writer =
          Create(&files, Bytewise(), {.filter_policy = has_own_filter ? &policy : nullptr, .bytes_expected = 8 << 20});
      ASSERT_TRUE(writer.has_value());
      const Row row{"a", kv::MakeTag(5, kv::Kind::kPut), std::string(kPiece - behind, 'v')};
      (*writer)->SetRangeTombstones(ranges);
      Status status = (*writer)->Add(ViewOf(Bytewise(), row));
      if (status.ok()) status = (*writer)->Finish().status();
      EXPECT_EQ(status.code(), Code::kNoSpace) << status.ToString();
      EXPECT_EQ(status.message(), "files in memory are full");
    }
  }
}

TEST(Writer, WritesSmallTablesThroughThePageCacheInOneCall) {
  MemoryFiles files;
  files.writes_left = 1;
  base::Random random(1);
  const auto rows = testing::RandomRows(&random, Bytewise(), 500, 1000);
  (void)testing::WriteTable(&files, "7.tbl", Bytewise(), rows, {.bytes_expected = 100 << 10});
  EXPECT_EQ(files.direct_opens, 0u);
}

TEST(Writer, EstimatesTheSizeOfItsFile) {
  MemoryFiles files;
  auto writer = Create(&files, Bytewise(), {.bytes_expected = 8 << 20});
  for (int i = 0; i < 20'000; ++i) {
    const Row row{std::to_string(1'000'000 + i), 1 << 8, std::string(100, 'v')};
    ASSERT_TRUE((*writer)->Add(ViewOf(Bytewise(), row)).ok());
  }
  const auto estimate = static_cast<double>((*writer)->bytes_written());
  const auto meta = (*writer)->Finish();
  EXPECT_NEAR(estimate, static_cast<double>((*meta)->bytes), estimate / 50);
}

TEST(Writer, GivesUpQuietlyWhenItDies) {
  MemoryFiles files;
  auto writer = Create(&files, Bytewise());
  ASSERT_TRUE((*writer)->Add({.prefix = 0, .key = "", .tag = 0, .value = ""}).ok());
  writer->reset();
  EXPECT_TRUE(files.bytes("7.tbl").empty());
}

// A table that is written into a recycled file.
class WriterOverARecycledFile : public ::testing::TestWithParam<size_t> {};

TEST_P(WriterOverARecycledFile, MakesAWholeTableOfIt) {
  const size_t recycled_bytes = GetParam();
  MemoryFiles files;
  {
    auto spare = files.Open("7.tbl", {.access = Access::kCreate});
    ASSERT_TRUE(spare.has_value());
    ASSERT_TRUE((*spare)->WriteAt(0, std::string(recycled_bytes, 'x')).ok());
  }
  auto writer = Create(&files, Bytewise(), {.is_reuse = true});
  ASSERT_TRUE(writer.has_value());
  for (int i = 0; i < 5'000; ++i) {
    const std::string key = std::to_string(100'000 + i);
    const Row row{key, kv::MakeTag(9, kv::Kind::kPut), "a value of some length"};
    ASSERT_TRUE((*writer)->Add(ViewOf(Bytewise(), row)).ok());
  }
  const auto meta = (*writer)->Finish();
  ASSERT_TRUE(meta.has_value());
  ASSERT_TRUE((*writer)->Sync().ok());
  EXPECT_EQ(files.bytes("7.tbl").size(), (*meta)->bytes);
  EXPECT_LE((*meta)->bytes, uint64_t{200'000}) << "what is much too long is cut off";
  auto reader = Reader::Open(&files, "7.tbl", *meta, Bytewise(), nullptr);
  ASSERT_TRUE(reader.has_value()) << reader.error().ToString();
  const Status checked = (*reader)->CheckIntegrity();
  EXPECT_TRUE(checked.ok()) << checked.ToString();
  EXPECT_EQ(files.bytes("7.tbl").find("xxxx"), std::string::npos) << "nothing of the dead table is left";
}

// The table has about 170 KB.
INSTANTIATE_TEST_SUITE_P(Spares, WriterOverARecycledFile,
                         ::testing::Values(size_t{4'096}, size_t{100 << 10}, size_t{176 << 10}, size_t{180 << 10},
                                           size_t{1 << 20}));

}  // namespace
}  // namespace mergedb::table
