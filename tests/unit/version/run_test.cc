// Goal: bounds, open ends and shares are exact to the key: a key is shown by one virtual table or by none, and a file
// counts once. Method: files and bounds as letters, one key around each limit. version_builder_test.cc compares runs
// with a map after random edits.
#include "version/run.h"

#include <gtest/gtest.h>

#include "testing/tree_text.h"
#include "tests/unit/version/order.h"
#include "version/version.h"

namespace mergedb::version {
namespace {

// A file of the keys c to m. If `is_open`, it shows no m.
format::FileMetaPtr File(bool is_open = false) {
  auto file = std::make_shared<format::FileMeta>();
  file->number = kv::FileNumber{7};
  file->bytes = 100;
  file->smallest = "c";
  file->largest = "m";
  file->largest_is_open = is_open;
  return file;
}

// "d..k)", "c..m]", or "none". A leading or trailing * is a bound that is not set: "*c..m]*".
std::string Clipped(std::optional<std::string> lower, std::optional<std::string> upper, bool is_open = false) {
  const auto clipped = Clip(kOrder, File(is_open), {.lower = std::move(lower), .upper = std::move(upper)});
  if (!clipped) return "none";
  return std::string(clipped->bounds.lower ? "" : "*") + std::string(clipped->smallest()) + ".." +
         std::string(clipped->largest()) + (clipped->largest_is_open() ? ")" : "]") +
         (clipped->bounds.upper ? "" : "*");
}

TEST(Clip, KeepsOnlyBoundsThatHideKeys) {
  EXPECT_EQ(Clipped({}, {}), "*c..m]*");
  EXPECT_EQ(Clipped("d", "k"), "d..k)");
  EXPECT_EQ(Clipped("c", {}), "*c..m]*");
  EXPECT_EQ(Clipped("b", {}), "*c..m]*");
  EXPECT_EQ(Clipped("ca", {}), "ca..m]*");
  EXPECT_EQ(Clipped({}, "m"), "*c..m)") << "hides the last key";
  EXPECT_EQ(Clipped({}, "ma"), "*c..m]*");
  EXPECT_EQ(Clipped({}, "m", true), "*c..m)*") << "the file itself ends there";
  EXPECT_EQ(Clipped({}, "lz", true), "*c..lz)");
}

TEST(Clip, IsNothingIfNoKeyIsInBoth) {
  EXPECT_EQ(Clipped("m", {}), "m..m]*") << "one key";
  EXPECT_EQ(Clipped("ma", {}), "none");
  EXPECT_EQ(Clipped("m", {}, true), "none");
  EXPECT_EQ(Clipped("lz", {}, true), "lz..m)*");
  EXPECT_EQ(Clipped({}, "c"), "none");
  EXPECT_EQ(Clipped({}, "ca"), "*c..ca)");
  EXPECT_EQ(Clipped("f", "f"), "none");
  EXPECT_EQ(Clipped("f", "fa"), "f..fa)");
  EXPECT_EQ(Clipped("f", "e"), "none");
}

TEST(VirtualTable, IsBeforeAKeyBehindItsLastOne) {
  const VirtualTable closed{File(), {}}, open{File(true), {}}, cut{File(), {.lower = {}, .upper = "k"}};
  EXPECT_FALSE(closed.IsBefore(kOrder, "m"));
  EXPECT_TRUE(closed.IsBefore(kOrder, "ma"));
  EXPECT_TRUE(open.IsBefore(kOrder, "m"));
  EXPECT_FALSE(open.IsBefore(kOrder, "lz"));
  EXPECT_TRUE(cut.IsBefore(kOrder, "k"));
  EXPECT_FALSE(cut.IsBefore(kOrder, "jz"));
}

TEST(Bounds, IntersectIfTheyShareAKey) {
  const format::Bounds all, to_c{.lower = {}, .upper = "c"}, from_c{.lower = "c", .upper = {}};
  const format::Bounds a_to_c{.lower = "a", .upper = "c"}, b_to_d{.lower = "b", .upper = "d"};
  const auto intersect = [](const format::Bounds& a, const format::Bounds& b) {
    EXPECT_EQ(Intersect(kOrder, a, b), Intersect(kOrder, b, a));
    return Intersect(kOrder, a, b);
  };
  EXPECT_TRUE(intersect(all, all));
  EXPECT_TRUE(intersect(all, a_to_c));
  EXPECT_TRUE(intersect(a_to_c, b_to_d));
  EXPECT_FALSE(intersect(a_to_c, from_c)) << "c is only in one of them";
  EXPECT_FALSE(intersect(to_c, from_c));
  EXPECT_TRUE(intersect(to_c, a_to_c));
  EXPECT_TRUE(intersect(from_c, b_to_d));
}

TEST(Bounds, IntersectionIsTheInnermostOfEachSide) {
  const format::Bounds all, inner{.lower = "b", .upper = "d"};
  const auto both = [](const format::Bounds& a, const format::Bounds& b) {
    EXPECT_EQ(Intersection(kOrder, a, b), Intersection(kOrder, b, a));
    return Intersection(kOrder, a, b);
  };
  EXPECT_EQ(both(all, all), all);
  EXPECT_EQ(both(all, inner), inner);
  EXPECT_EQ(both({.lower = "a", .upper = "e"}, inner), inner);
  EXPECT_EQ(both({.lower = "c", .upper = {}}, inner), (format::Bounds{.lower = "c", .upper = "d"}));
  EXPECT_EQ(both({.lower = {}, .upper = "c"}, inner), (format::Bounds{.lower = "b", .upper = "c"}));
}

using Shares = std::vector<format::BlobShare>;
constexpr kv::FileNumber k1{1}, k2{2}, k3{3}, k4{4};

TEST(AddShares, SumsUpTheBytesOfEachFile) {
  const auto sum = [](const Shares& more, Shares sums) {
    AddShares(more, &sums);
    return sums;
  };
  EXPECT_EQ(sum({}, {}), Shares());
  EXPECT_EQ(sum({}, {{k1, 5}}), Shares({{k1, 5}}));
  EXPECT_EQ(sum({{k1, 5}}, {}), Shares({{k1, 5}}));
  EXPECT_EQ(sum({{k2, 7}, {k3, 1}}, {{k1, 5}}), Shares({{k1, 5}, {k2, 7}, {k3, 1}})) << "only newer files";
  EXPECT_EQ(sum({{k1, 7}, {k3, 1}}, {{k1, 5}}), Shares({{k1, 12}, {k3, 1}}));
  EXPECT_EQ(sum({{k1, 7}}, {{k2, 5}, {k3, 1}}), Shares({{k1, 7}, {k2, 5}, {k3, 1}}));
  EXPECT_EQ(sum({{k2, 1}, {k3, 2}}, {{k1, 10}, {k3, 20}, {k4, 30}}), Shares({{k1, 10}, {k2, 1}, {k3, 22}, {k4, 30}}));
}

RunPtr ParseRun(const std::string& tables, const std::string& values = "") {
  const auto version = mergedb::testing::ParseTree(kOrder, "position 5 level 0: " + tables + "\n" + values);
  EXPECT_TRUE(version.has_value()) << version.status().ToString();
  return (*version)->runs().at(0);
}

TEST(Run, CountsAFileOnceHoweverManyPiecesItShows) {
  const RunPtr run = ParseRun("12[a..c)8MB,25%,3MB{90:2MB} 13[d..e]1MB{90:1MB} 12[m..p) 12[q..z]", "values 90 9MB\n");
  EXPECT_EQ(run->virtual_tables().size(), 4u);
  EXPECT_EQ(run->bytes(), uint64_t{9} << 20);
  EXPECT_EQ(run->value_bytes(), uint64_t{3} << 20);
  EXPECT_EQ(run->bytes_with_values(), uint64_t{12} << 20);
  EXPECT_EQ(run->entries(), 9u * 1024);
  EXPECT_EQ(run->tombstones(), 2u * 1024);
  EXPECT_EQ(run->range_tombstones(), 10u);
  EXPECT_EQ(run->masked_bytes(), uint64_t{3} << 20);
  EXPECT_EQ(run->whole_weight().files, 1u);
  EXPECT_EQ(run->whole_values(), Shares({{kv::FileNumber{90}, uint64_t{1} << 20}}));
  ASSERT_EQ(run->partial_files().size(), 1u);
  EXPECT_EQ(run->partial_files()[0]->number, kv::FileNumber{12});
  EXPECT_EQ(run->virtual_tables_with_ranges(), std::vector<uint32_t>({0, 2, 3}));
}

TEST(Run, AnEmptyOneHoldsNothing) {
  const version::Run run(kv::Position{3}, 2, {});
  EXPECT_EQ(run.bytes(), 0u);
  EXPECT_EQ(run.Find(kOrder, "a"), nullptr);
  EXPECT_EQ(run.FindIndex(kOrder, ""), 0u);
  EXPECT_EQ(run.Overlap(kOrder, {}), std::pair(size_t{0}, size_t{0}));
  EXPECT_EQ(run.Overlap(kOrder, {.lower = "a", .upper = "z"}), std::pair(size_t{0}, size_t{0}));
}

TEST(Run, OverlapEndsBeforeATableThatBeginsAtTheUpperBound) {
  const RunPtr run = ParseRun("5[b..f) 6[g..h] 7[m..p]");
  using Range = std::pair<size_t, size_t>;
  EXPECT_EQ(run->Overlap(kOrder, {.lower = "e", .upper = "g"}), Range(0, 1));
  EXPECT_EQ(run->Overlap(kOrder, {.lower = "e", .upper = "ga"}), Range(0, 2));
  EXPECT_EQ(run->Overlap(kOrder, {.lower = "f", .upper = "ga"}), Range(1, 2)) << "f is not shown";
  EXPECT_EQ(run->Overlap(kOrder, {.lower = "h", .upper = {}}), Range(1, 3)) << "h is shown";
  EXPECT_EQ(run->Overlap(kOrder, {.lower = "ha", .upper = {}}), Range(2, 3));
  EXPECT_EQ(run->Overlap(kOrder, {.lower = {}, .upper = "b"}), Range(0, 0));
  EXPECT_EQ(run->Overlap(kOrder, {.lower = "q", .upper = {}}), Range(3, 3));
}

}  // namespace
}  // namespace mergedb::version
