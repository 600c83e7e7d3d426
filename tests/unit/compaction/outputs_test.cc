// Goal: tables are cut when full and at borders, never between two versions of a key, and an unfinished one is removed.
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
  EXPECT_EQ(shares, (std::vector<format::Bounds>{{"a", "d"}, {"d", "f"}, {"f", "z"}}));
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
