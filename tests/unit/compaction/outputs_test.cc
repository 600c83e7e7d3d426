// Goal: tables are cut when they are full and at cut keys, never between two versions of a key. An unfinished
// table is removed. Range tombstones are clipped where tables are cut.
#include "compaction/outputs.h"

#include <gtest/gtest.h>

#include "format/file_name.h"
#include "table/salvage.h"
#include "testing/contradicting_comparator.h"
#include "tests/unit/compaction/tables.h"

namespace mergedb::compaction {
namespace {

using testing::PutEntry;

TEST(Outputs, CutsAtBordersOnlyWhereTheyHaveKeys) {
  testing::Tables tables;
  Outputs outputs(tables.factory, {.cut_keys = {"b", "bb", "d", "z"}, .publication_bytes = 1});
  for (const char* key : {"a", "c", "d", "e"}) {
    ASSERT_OK(outputs.Add(ViewOf(PutEntry(key, 7, "v"), tables.order)));
    EXPECT_EQ(outputs.is_at_publication(), std::string_view(key) == "c" || std::string_view(key) == "d") << key;
  }
  ASSERT_OK(outputs.Finish());
  const auto made = outputs.Take();
  ASSERT_EQ(made.size(), 3u);
  EXPECT_EQ(made[0]->largest, "a");
  EXPECT_EQ(made[1]->largest, "c");
  EXPECT_EQ(made[2]->smallest, "d");
  EXPECT_EQ(made[2]->largest, "e");
}

TEST(Outputs, KeepsAllVersionsOfAKeyInOneTable) {
  testing::Tables tables;
  Outputs outputs(tables.factory, {.table_bytes_max = 1'000, .publication_bytes = 1});
  for (kv::Sequence version = 100; version > 0; --version) {
    ASSERT_OK(outputs.Add(ViewOf(PutEntry("a", version, std::string(100, 'v')), tables.order)));
  }
  ASSERT_OK(outputs.Add(ViewOf(PutEntry("b", 1, "v"), tables.order)));
  EXPECT_TRUE(outputs.is_at_publication());
  ASSERT_OK(outputs.Finish());
  const auto made = outputs.Take();
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(made[0]->entries, 100u);
  EXPECT_EQ(made[0]->tombstones, 99u) << "older versions are what a full compaction drops";
}

// Prints the bounds of each table, "a..g) m..p]", and its range tombstones.
std::string Print(testing::Tables& tables, const std::vector<format::FileMetaPtr>& made) {
  std::string text;
  for (const auto& meta : made) {
    text += meta->smallest + ".." + meta->largest + (meta->largest_is_open ? ")" : "]");
    const auto reader = *tables.cache->Open(meta);
    const kv::RangeTombstones& ranges = reader->range_tombstones();
    for (size_t i = 0; i < ranges.size(); ++i) {
      text += " " + std::string(ranges.begin(i)) + "-" + std::string(ranges.end(i)) + "#" +
              std::to_string(ranges.sequences(i)[0]);
    }
    text += "; ";
  }
  return text;
}

Outputs::Options WithRanges(const testing::Tables& tables, std::vector<kv::RangeTombstone> ranges) {
  return {.range_tombstones =
              kv::RangeTombstones::Fragment(tables.order, std::move(ranges), {}, kv::RangeTombstones::Keys::kCopies)};
}

TEST(Outputs, WritesNothingWhereTheOrderOfRangeTombstonesContradictsItself) {
  testing::ContradictingComparator comparator(1);
  testing::Tables tables(&comparator);
  std::vector<kv::RangeTombstone> ranges;
  const std::string keys = "abcdefghijklmnopqrstuvwxyz";
  for (size_t i = 0; i + 4 < keys.size(); ++i) ranges.push_back({{&keys[i], 1}, {&keys[i + 4], 1}, i + 1});
  Outputs outputs(tables.factory, WithRanges(tables, ranges));
  comparator.contradicts = true;
  const Status status = outputs.Finish();
  EXPECT_TRUE(status.IsCorruption()) << status.ToString();
  EXPECT_NE(status.message().find("is not a total order"), std::string_view::npos) << status.ToString();
}

TEST(Outputs, ClipsRangeTombstonesWhereItCuts) {
  testing::Tables tables;
  Outputs::Options options = WithRanges(tables, {{"b", "k", 9}, {"q", "s", 8}, {"u", "v", 7}});
  options.publication_bytes = 1;
  options.cut_keys = {"g", "o", "r", "t", "x"};
  Outputs outputs(tables.factory, options);
  for (const char* key : {"a", "f", "m", "w"}) {
    ASSERT_OK(outputs.Add(ViewOf(PutEntry(key, 20, "v"), tables.order)));
    if (std::string_view(key) == "m") {
      EXPECT_TRUE(outputs.is_at_publication());
      EXPECT_EQ(outputs.cut_key(), "g") << "not m: the tombstone from g on is in the table that m is in";
    }
  }
  ASSERT_OK(outputs.Finish());
  EXPECT_EQ(Print(tables, outputs.Take()), "a..g) b-g#9; g..m] g-k#9; q..r) q-r#8; r..s) r-s#8; u..w] u-v#7; ");
}

TEST(Outputs, ClipsRangeTombstonesWhereATableIsFull) {
  testing::Tables tables;
  Outputs::Options options = WithRanges(tables, {{"a", "z", 9}});
  options.table_bytes_max = 1;
  Outputs outputs(tables.factory, options);
  for (const char* key : {"c", "m"}) ASSERT_OK(outputs.Add(ViewOf(PutEntry(key, 20, "v"), tables.order)));
  ASSERT_OK(outputs.Finish());
  EXPECT_EQ(Print(tables, outputs.Take()), "a..m) a-m#9; m..z) m-z#9; ");
}

TEST(Outputs, OfRangeTombstonesAloneAreATable) {
  testing::Tables tables;
  Outputs::Options options = WithRanges(tables, {{"c", "m", 9}});
  options.masked_bytes = [](const kv::RangeTombstones& ranges) { return 100 * ranges.tombstones(); };
  Outputs outputs(tables.factory, options);
  ASSERT_OK(outputs.Finish());
  const auto made = outputs.Take();
  EXPECT_EQ(Print(tables, made), "c..m) c-m#9; ");
  EXPECT_EQ(made[0]->entries, 0u);
  EXPECT_EQ(made[0]->masked_bytes, 100u);
}

// The compacted ranges of the output tables are adjacent and fill the compacted ranges of the compaction,
// with the gaps between keys.
TEST(Outputs, ShareTheCompactedRanges) {
  testing::Tables tables;
  Outputs outputs(tables.factory,
                  {.cut_keys = {"c", "e"},
                   .compacted_ranges = {{.from = 3, .sequence = 9, .bounds = {.lower = "a", .upper = "d"}},
                                        {.from = 3, .sequence = 7, .bounds = {.lower = "d", .upper = "z"}}}});
  for (const char* key : {"b", "d", "f"}) ASSERT_OK(outputs.Add(ViewOf(PutEntry(key, 0, "v"), tables.order)));
  ASSERT_OK(outputs.Finish());
  std::vector<std::vector<format::CompactedRange>> shares;
  for (uint64_t number = 1; number <= 3; ++number) {
    auto salvaged = table::Salvage({.file_system = &tables.files,
                                    .path = format::TablePath("dir", kv::FileNumber{number}),
                                    .number = kv::FileNumber{number},
                                    .order = tables.order},
                                   nullptr);
    ASSERT_OK(salvaged.status());
    shares.push_back(salvaged->compacted_ranges);
  }
  EXPECT_EQ(shares, (std::vector<std::vector<format::CompactedRange>>{
                        {{3, 9, {"a", "c"}}}, {{3, 9, {"c", "d"}}, {3, 7, {"d", "e"}}}, {{3, 7, {"e", "z"}}}}));
}

TEST(Outputs, PutsLargeValuesInABlobFile) {
  testing::Tables tables;
  tables.factory.blob_value_bytes_min = 100;
  Outputs outputs(tables.factory, {.separates_values = true});
  ASSERT_OK(outputs.Add(ViewOf(PutEntry("a", 7, std::string(100, 'a')), tables.order)));
  ASSERT_OK(outputs.Add(ViewOf(PutEntry("b", 6, std::string(99, 'b')), tables.order)));
  ASSERT_OK(outputs.Add(ViewOf(testing::DeleteEntry("c", 5), tables.order)));
  ASSERT_OK(outputs.Finish());
  const auto made = outputs.Take();
  const auto values = outputs.TakeBlobFiles();
  ASSERT_EQ(made.size(), 1u);
  ASSERT_EQ(values.size(), 1u);
  EXPECT_EQ(values[0]->records, 1u);
  EXPECT_EQ(made[0]->values,
            (std::vector<format::BlobShare>{{.file = values[0]->number, .bytes = values[0]->record_bytes}}));
  const auto entries = tables.Read(made[0]);
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].tag, kv::MakeTag(7, kv::Kind::kPutBlobIndex));
  EXPECT_EQ(entries[1].value, std::string(99, 'b'));
  format::BlobIndex reference;
  ASSERT_OK(format::DecodeBlobIndex(entries[0].value, &reference));
  ASSERT_OK_AND_ASSIGN(const auto reader, tables.values->Open(*values[0]));
  blob::Found found;
  ASSERT_OK(reader->Get(reference, "a", {}, &found));
  EXPECT_EQ(found.value, std::string(100, 'a'));
}

TEST(Outputs, LeavesLargeValuesInTheTableUnlessToldOtherwise) {
  testing::Tables tables;
  tables.factory.blob_value_bytes_min = 100;
  Outputs outputs(tables.factory, {});
  ASSERT_OK(outputs.Add(ViewOf(PutEntry("a", 7, std::string(100, 'a')), tables.order)));
  ASSERT_OK(outputs.AddMoved(ViewOf(PutEntry("b", 7, std::string(100, 'b')), tables.order)));  // came from a blob file
  ASSERT_OK(outputs.Finish());
  EXPECT_EQ(outputs.TakeBlobFiles().at(0)->records, 1u);
  const auto entries = tables.Read(outputs.Take().at(0));
  EXPECT_EQ(kv::KindOf(entries[0].tag), kv::Kind::kPut);
  EXPECT_EQ(kv::KindOf(entries[1].tag), kv::Kind::kPutBlobIndex);
}

TEST(Outputs, PublishesWhenTablesAndTheirValuesAreFinished) {
  testing::Tables tables;
  tables.factory.blob_value_bytes_min = 100;
  Outputs outputs(tables.factory, {.table_bytes_max = 1'000, .separates_values = true, .publication_bytes = 8'000});
  size_t publications = 0, published_tables = 0;
  for (int i = 0; i < 200; ++i) {
    ASSERT_OK(outputs.Add(ViewOf(PutEntry("k" + std::to_string(1'000 + i), 1, std::string(150, 'v')), tables.order)));
    if (!outputs.is_at_publication()) continue;
    ++publications;
    const auto made = outputs.Take();
    const auto values = outputs.TakeBlobFiles();
    ASSERT_EQ(values.size(), 1u);
    uint64_t referred = 0;
    for (const auto& table : made) {
      ASSERT_EQ(table->values.size(), 1u);
      EXPECT_EQ(table->values[0].file, values[0]->number);
      referred += table->values[0].bytes;
    }
    EXPECT_EQ(referred, values[0]->record_bytes) << "nothing of what comes is in there";
    published_tables += made.size();
  }
  EXPECT_GE(publications, 2u);
  EXPECT_GT(published_tables, publications);
}

TEST(Outputs, AFewLargeValuesAmongManySmallOnesAreNotWorthAFile) {
  testing::Tables tables;
  tables.factory.blob_value_bytes_min = 1'000;
  EXPECT_TRUE(AreWorthABlobFile(tables.factory, 1'000, 1'000'000));
  EXPECT_FALSE(AreWorthABlobFile(tables.factory, 100, 100'000)) << "too few";
  EXPECT_FALSE(AreWorthABlobFile(tables.factory, 100'000, 10'000'000)) << "too small on the average";
  EXPECT_TRUE(AreWorthABlobFile(tables.factory, 1, 50'000'000)) << "one giant";
  tables.factory.blob_value_bytes_min = 0;
  EXPECT_FALSE(AreWorthABlobFile(tables.factory, 1'000, 1'000'000));
}

TEST(Outputs, WritesTablesAndBlobFilesOverSpareOnes) {
  testing::Tables tables;
  tables.factory.blob_value_bytes_min = 1;
  std::vector<std::string> reused;
  tables.reuse = [&](const format::DataFile& recycled) -> Result<bool> {
    const std::string path = recycled.PathIn("dir");
    auto file = tables.files.Open(path, {.access = Access::kCreate});
    RETURN_IF_ERROR(file.status());
    RETURN_IF_ERROR((*file)->WriteAt(0, std::string(100'000, 'x')));
    reused.push_back(path);
    return true;
  };
  Outputs outputs(tables.factory, {.separates_values = true});
  ASSERT_OK(outputs.Add(ViewOf(PutEntry("a", 7, "value"), tables.order)));
  ASSERT_OK(outputs.Finish());
  EXPECT_EQ(reused, (std::vector<std::string>{"dir/000001.tbl", "dir/000002.val"}));
  EXPECT_EQ(tables.Read(outputs.Take().at(0)).size(), 1u);
  ASSERT_OK_AND_ASSIGN(const auto reader, tables.values->Open(*outputs.TakeBlobFiles().at(0)));
  EXPECT_OK(reader->CheckIntegrity());
}

// The write may fail in the middle of a blob file (when a piece of it is full), at a publication, or for tables
// behind the last entry. One of those tables holds only range tombstones.
TEST(Outputs, EachWriteThatFailsIsAnErrorAndLeavesNoFile) {
  for (uint64_t nth = 1;; ++nth) {
    SCOPED_TRACE(nth);
    testing::Tables tables;
    tables.RemoveWhatNobodyNames();
    tables.factory.blob_value_bytes_min = 100;
    tables.files.AddFault({.op = testing::FileOp::kWrite, .nth = nth});
    Outputs::Options options = WithRanges(tables, {{"b", "k", 9}, {"q", "s", 8}});
    options.cut_keys = {"g", "p", "r"};
    options.separates_values = true;
    options.publication_bytes = 1;
    Status status;
    {
      Outputs outputs(tables.factory, options);
      for (const char* key : {"a", "f", "m"}) {
        if (status.ok()) status = outputs.Add(ViewOf(PutEntry(key, 20, std::string(600'000, 'v')), tables.order));
      }
      if (status.ok()) status = outputs.Finish();
    }
    EXPECT_EQ(tables.files_there(), 0u);
    if (tables.files.faults_hit() == 0) {
      EXPECT_OK(status);
      EXPECT_EQ(nth, 8u) << "four tables and two blob files, one of them in two pieces";
      break;
    }
    EXPECT_THAT(status, testing::StatusIs(Code::kIOError, ::testing::HasSubstr("dir/00000")));
  }
}

TEST(Outputs, RemovesABlobFileThatIsNotFinished) {
  testing::Tables tables;
  tables.factory.blob_value_bytes_min = 1;
  {
    Outputs outputs(tables.factory, {.separates_values = true});
    ASSERT_OK(outputs.Add(ViewOf(PutEntry("a", 1, "v"), tables.order)));
    EXPECT_EQ(tables.files_there(), 2u);
  }
  EXPECT_EQ(tables.files_there(), 0u);
}

TEST(Outputs, RemovesATableThatIsNotFinished) {
  testing::Tables tables;
  {
    Outputs outputs(tables.factory, {});
    ASSERT_OK(outputs.Add(ViewOf(PutEntry("a", 1, "v"), tables.order)));
    EXPECT_EQ(tables.files_there(), 1u);
  }
  EXPECT_EQ(tables.files_there(), 0u);
}

}  // namespace
}  // namespace mergedb::compaction
