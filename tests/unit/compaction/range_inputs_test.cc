// Goal: a job knows the range tombstones of its inputs within the bounds of their virtual tables. It writes
// the tombstones that may still mask an entry. It skips a table only if no reader needs an entry of it.
#include "compaction/range_inputs.h"

#include <gtest/gtest.h>

#include "compaction/masked_bytes.h"
#include "tests/unit/compaction/tables.h"

namespace mergedb::compaction {
namespace {

using testing::PutEntry;

class RangeInputs : public ::testing::Test {
 protected:
  format::FileMetaPtr WriteRanges(std::vector<kv::RangeTombstone> ranges) {
    Outputs outputs(tables_.factory, {.range_tombstones = Fragment(std::move(ranges), {})});
    EXPECT_OK(outputs.Finish());
    return outputs.Take().at(0);
  }
  kv::RangeTombstones Fragment(std::vector<kv::RangeTombstone> ranges, const kv::Stripes& stripes) {
    return kv::RangeTombstones::Fragment(tables_.order, std::move(ranges), stripes, kv::RangeTombstones::Keys::kCopies);
  }
  static std::string Print(const kv::RangeTombstones& list) {
    std::string text;
    for (size_t i = 0; i < list.size(); ++i) {
      text += std::string(list.begin(i)) + "-" + std::string(list.end(i));
      for (const kv::Sequence sequence : list.sequences(i)) text += "#" + std::to_string(sequence);
      text += " ";
    }
    return text;
  }
  version::RunPtr Run(uint64_t position, std::vector<version::VirtualTable> virtual_tables) {
    return std::make_shared<const version::Run>(kv::Position{position}, 0, std::move(virtual_tables));
  }

  testing::Tables tables_;
};

TEST_F(RangeInputs, AreGatheredWithinVirtualTablesAndBounds) {
  const auto newer = WriteRanges({{"a", "m", 9}, {"q", "z", 8}});
  const auto older = WriteRanges({{"b", "t", 5}});
  const std::vector<version::RunPtr> sources = {
      Run(2, {{newer, {.lower = "d", .upper = "f"}}, {newer, {.lower = "r", .upper = {}}}}), Run(1, {{older, {}}})};
  const auto gather = [&](const format::Bounds& bounds) {
    auto gathered = GatherRangeTombstones(tables_.order, *tables_.cache, sources, bounds, {});
    EXPECT_OK(gathered.status());
    return Print(*gathered);
  };
  EXPECT_EQ(gather({}), "b-d#5 d-f#9 f-r#5 r-z#8 ");
  EXPECT_EQ(gather({.lower = "c", .upper = "e"}), "c-d#5 d-e#9 ");
  EXPECT_EQ(gather({.lower = "u", .upper = {}}), "u-z#8 ");
}

TEST_F(RangeInputs, ArePassedOnUntilTheyReachTheBottomBelowAllSnapshots) {
  const kv::Stripes stripes({6});
  const auto gathered = Fragment({{"a", "m", 9}, {"c", "e", 5}}, stripes);
  EXPECT_EQ(Print(gathered), "a-c#9 c-e#9#5 e-m#9 ");
  EXPECT_EQ(Print(PassedOn(tables_.order, gathered, stripes, false)), Print(gathered));
  EXPECT_EQ(Print(PassedOn(tables_.order, gathered, stripes, true)), "a-m#9 ");
  EXPECT_EQ(Print(PassedOn(tables_.order, Fragment({{"a", "m", 9}}, {}), {}, true)), "");
}

TEST_F(RangeInputs, HideATableOnlyAsAWholeAndFromEverybody) {
  const auto file = tables_.Write({PutEntry("c", 3, "v"), PutEntry("k", 4, "v")});
  const auto is_hidden = [&](std::vector<kv::RangeTombstone> ranges, std::vector<kv::Sequence> snapshots,
                             format::Bounds bounds = {}) {
    const kv::Stripes stripes(std::move(snapshots));
    return IsHidden(tables_.order, Fragment(std::move(ranges), stripes), stripes, {file, std::move(bounds)});
  };
  EXPECT_TRUE(is_hidden({{"a", "z", 9}}, {}));
  EXPECT_TRUE(is_hidden({{"c", "f", 9}, {"f", "l", 8}}, {}));
  EXPECT_FALSE(is_hidden({{"c", "k", 9}}, {})) << "the last key is not covered";
  EXPECT_FALSE(is_hidden({{"d", "z", 9}}, {}));
  EXPECT_FALSE(is_hidden({{"a", "f", 9}, {"g", "z", 9}}, {})) << "there may be keys in the gap";
  EXPECT_FALSE(is_hidden({{"a", "z", 4}}, {})) << "one is not older";
  EXPECT_FALSE(is_hidden({{"a", "z", 9}}, {6})) << "a snapshot sees them";
  EXPECT_FALSE(is_hidden({{"a", "z", 9}}, {3})) << "a snapshot sees one of them";
  EXPECT_TRUE(is_hidden({{"a", "z", 9}}, {2})) << "a snapshot sees none of them";
  EXPECT_TRUE(is_hidden({{"a", "k", 9}}, {}, {.lower = {}, .upper = "k"}));
  EXPECT_TRUE(is_hidden({{"d", "z", 9}}, {}, {.lower = "d", .upper = {}}));
  EXPECT_FALSE(is_hidden({}, {}));
}

TEST_F(RangeInputs, MaskAboutTheBytesBelowThem) {
  std::vector<testing::OwnedEntry> entries;
  for (int i = 0; i < 1000; ++i) entries.push_back(PutEntry(std::to_string(1000 + i), 1, std::string(100, 'v')));
  const auto file = tables_.Write(entries);
  const version::Version version({Run(5, {{tables_.Write({PutEntry("1500", 3, "v")}), {}}}), Run(2, {{file, {}}})});
  const auto covered = [&](std::vector<kv::RangeTombstone> ranges, uint64_t older_than) {
    return EstimateMaskedBytes(tables_.order, *tables_.cache, version, kv::Position{older_than},
                               Fragment(std::move(ranges), {}));
  };
  const auto bytes = static_cast<double>(file->bytes);
  EXPECT_EQ(covered({{"0", "9", 9}}, 5), file->bytes);
  EXPECT_GT(covered({{"0", "9", 9}}, 9), file->bytes);
  EXPECT_EQ(covered({{"0", "9", 9}}, 2), 0u);
  EXPECT_EQ(covered({{"a", "z", 9}}, 9), 0u);
  EXPECT_NEAR(static_cast<double>(covered({{"1000", "1250", 9}, {"1500", "1750", 9}}, 5)), bytes / 2, bytes / 10);
  std::vector<std::string> keys;
  for (int i = 0; i < 1000; ++i) keys.push_back(std::to_string(1000 + i));
  std::vector<kv::RangeTombstone> many;
  for (size_t i = 0; i + 1 < keys.size(); i += 2) many.push_back({keys[i], keys[i + 1], 9});
  EXPECT_NEAR(static_cast<double>(covered(many, 5)), bytes / 2, bytes / 2) << "smaller than a block: a guess";
}

}  // namespace
}  // namespace mergedb::compaction
