// Goal: tables are cut when full and at borders, never between two versions of a key, and an unfinished one is removed; range
// tombstones are clipped where they are cut.
#include "compaction/outputs.h"

#include <gtest/gtest.h>

#include "format/file_name.h"
#include "table/salvage.h"
#include "tests/unit/compaction/tables.h"

namespace mergedb::compaction {
namespace {

using testing::PutEntry;

TEST(Outputs, CutsAtBordersOnlyWhereTheyHaveKeys) {
  testing::Tables tables;
  Outputs outputs(tables.factory, {.cut_keys = {"b", "bb", "d", "z"}});
  for (const char* key : {"a", "c", "d", "e"}) {
    ASSERT_OK(outputs.Add(ViewOf(PutEntry(key, 7, "v"), tables.order)));
    EXPECT_EQ(outputs.is_at_cut(), std::string_view(key) == "c" || std::string_view(key) == "d") << key;
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
  Outputs outputs(tables.factory, {.table_bytes_max = 1'000});
  for (kv::Sequence version = 100; version > 0; --version) {
    ASSERT_OK(outputs.Add(ViewOf(PutEntry("a", version, std::string(100, 'v')), tables.order)));
  }
  ASSERT_OK(outputs.Add(ViewOf(PutEntry("b", 1, "v"), tables.order)));
  EXPECT_TRUE(outputs.is_at_cut());
  ASSERT_OK(outputs.Finish());
  const auto made = outputs.Take();
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(made[0]->entries, 100u);
  EXPECT_EQ(made[0]->tombstones, 99u) << "older versions are what a full compaction drops";
}

// "a..g) m..p]", and the range tombstones of each table.
std::string Print(testing::Tables& tables, const std::vector<format::FileMetaPtr>& made) {
  std::string text;
  for (const auto& meta : made) {
    text += meta->smallest + ".." + meta->largest + (meta->largest_is_open ? ")" : "]");
    const auto reader = *tables.cache->Open(meta);
    const kv::RangeTombstones& ranges = reader->range_tombstones();
    for (size_t i = 0; i < ranges.size(); ++i) {
      text += " " + std::string(ranges.begin(i)) + "-" + std::string(ranges.end(i)) + "#" + std::to_string(ranges.sequences(i)[0]);
    }
    text += "; ";
  }
  return text;
}

Outputs::Options WithRanges(const testing::Tables& tables, std::vector<kv::RangeTombstone> ranges) {
  return {.range_tombstones =
              kv::RangeTombstones::Fragment(tables.order, std::move(ranges), {}, kv::RangeTombstones::Keys::kCopies)};
}

TEST(Outputs, ClipsRangeTombstonesWhereItCuts) {
  testing::Tables tables;
  Outputs::Options options = WithRanges(tables, {{"b", "k", 9}, {"q", "s", 8}, {"u", "v", 7}});
  options.cut_keys = {"g", "o", "r", "t", "x"};
  Outputs outputs(tables.factory, options);
  for (const char* key : {"a", "f", "m", "w"}) {
    ASSERT_OK(outputs.Add(ViewOf(PutEntry(key, 20, "v"), tables.order)));
    if (std::string_view(key) == "m") {
      EXPECT_TRUE(outputs.is_at_cut());
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
  options.covered_bytes = [](const kv::RangeTombstones& ranges) { return 100 * ranges.tombstones(); };
  Outputs outputs(tables.factory, options);
  ASSERT_OK(outputs.Finish());
  const auto made = outputs.Take();
  EXPECT_EQ(Print(tables, made), "c..m) c-m#9; ");
  EXPECT_EQ(made[0]->entries, 0u);
  EXPECT_EQ(made[0]->covered_bytes, 100u);
}

// The shares that tables claim for themselves lie side by side and fill the merge's bounds, gaps between keys included.
TEST(Outputs, ShareWhatTheMergeSettles) {
  testing::Tables tables;
  Outputs outputs(tables.factory, {.cut_keys = {"c", "e"}, .settled = format::Settled{.sequence = 9, .bounds = {.lower = "a", .upper = "z"}}});
  for (const char* key : {"b", "d", "f"}) ASSERT_OK(outputs.Add(ViewOf(PutEntry(key, 0, "v"), tables.order)));
  ASSERT_OK(outputs.Finish());
  std::vector<format::Bounds> shares;
  for (uint64_t number = 1; number <= 3; ++number) {
    auto salvaged = table::Salvage({.file_system = &tables.files, .path = format::TablePath("dir", kv::FileNumber{number}),
                                    .number = kv::FileNumber{number}, .order = tables.order}, nullptr);
    ASSERT_OK(salvaged.status());
    ASSERT_TRUE(salvaged->settled.has_value());
    EXPECT_EQ(salvaged->settled->sequence, 9u);
    shares.push_back(salvaged->settled->bounds);
  }
  EXPECT_EQ(shares, (std::vector<format::Bounds>{{"a", "c"}, {"c", "e"}, {"e", "z"}}));
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
