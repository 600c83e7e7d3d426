// Goal: the VersionEdit between two Versions is the smallest that leads from one to the other. Method: trees as text;
// each edit is printed and applied. version_builder_test.cc does the same with random edits.
#include "version/version_diff.h"

#include <gtest/gtest.h>

#include "testing/tree_text.h"
#include "tests/unit/version/order.h"
#include "version/version_builder.h"

namespace mergedb::version {
namespace {

VersionPtr Tree(const std::string& text) {
  auto parsed = mergedb::testing::ParseTree(kOrder, text);
  EXPECT_TRUE(parsed.has_value()) << parsed.status().ToString();
  return parsed ? *parsed : std::make_shared<Version>();
}

std::string Print(const format::Bounds& bounds) {
  return "[" + bounds.lower.value_or("-") + ".." + bounds.upper.value_or("-") + ")";
}

// "cut 9[c..d) add 9:13[-..-) level 9:2": the edit, once it was applied and led to `target`.
std::string Diff(const std::string& source_text, const std::string& target_text) {
  const VersionPtr source = Tree(source_text), target = Tree(target_text);
  const format::VersionEdit edit = DiffVersions(kOrder, *source, *target);
  const auto applied = ApplyEdit(kOrder, *source, edit);
  EXPECT_TRUE(applied.has_value()) << applied.status().ToString();
  if (applied) { EXPECT_EQ((*applied)->ToString(), target->ToString()); }
  std::string text;
  for (const auto& cut : edit.cuts) text += " cut " + std::to_string(kv::ToInt(cut.position)) + Print(cut.bounds);
  for (const auto& add : edit.adds) {
    text += " add " + std::to_string(kv::ToInt(add.position)) + ":" + std::to_string(kv::ToInt(add.file->number)) +
            Print(add.bounds);
  }
  for (const auto& each : edit.levels)
    text += " level " + std::to_string(kv::ToInt(each.position)) + ":" + std::to_string(each.level);
  return text.empty() ? "nothing" : text.substr(1);
}

std::string DiffTables(const std::string& source, const std::string& target) {
  return Diff("position 9 level 0: " + source, "position 9 level 0: " + target);
}

TEST(DiffVersions, IsNothingBetweenEqualVersions) {
  EXPECT_EQ(Diff("", ""), "nothing");
  EXPECT_EQ(DiffTables("1[a..b] 2[c..d]", "1[a..b] 2[c..d]"), "nothing");
}

TEST(DiffVersions, ReplacesOnlyTheTablesInTheMiddle) {
  EXPECT_EQ(DiffTables("1[a..b] 2[c..d] 3[m..n] 4[o..p]", "1[a..b] 5[e..f] 6[g..h] 3[m..n] 4[o..p]"),
            "cut 9[c..m) add 9:5[-..-) add 9:6[-..-)");
  EXPECT_EQ(DiffTables("1[a..b] 2[f..g] 3[m..n]", "1[a..b] 4[d..e] 3[m..n]"), "cut 9[d..m) add 9:4[-..-)")
      << "the new table begins before the old one";
}

TEST(DiffVersions, ATableInAGapNeedsNoCut) {
  EXPECT_EQ(DiffTables("1[a..b] 2[m..n]", "1[a..b] 3[f..g] 2[m..n]"), "add 9:3[-..-)");
  EXPECT_EQ(DiffTables("2[m..n]", "3[f..g] 2[m..n]"), "add 9:3[-..-)");
  EXPECT_EQ(DiffTables("1[a..b]", "1[a..b] 3[f..g]"), "add 9:3[-..-)");
}

TEST(DiffVersions, ACutAtAnEndOfTheRunHasNoBoundThere) {
  EXPECT_EQ(DiffTables("1[a..b] 2[c..d] 3[m..n]", "2[c..d] 3[m..n]"), "cut 9[-..c)");
  EXPECT_EQ(DiffTables("1[a..b] 2[c..d] 3[m..n]", "1[a..b] 2[c..d]"), "cut 9[m..-)");
  EXPECT_EQ(DiffTables("1[a..b] 2[c..d] 3[m..n]", "1[a..b] 3[m..n]"), "cut 9[c..m)");
  EXPECT_EQ(DiffTables("1[a..b]", "2[a..b]"), "cut 9[-..-) add 9:2[-..-)");
}

TEST(DiffVersions, OtherBoundsOfOneFileAreAChange) {
  EXPECT_EQ(DiffTables("1[a..f) 1[f..z]", "1[a..f) 1[m..z]"), "cut 9[f..-) add 9:1[m..-)");
}

TEST(DiffVersions, OfARunThatGoesOrComes) {
  const std::string other = "position 5 level 1: 5[a..z]\n";
  EXPECT_EQ(Diff("position 9 level 0: 1[a..b] 2[c..d]\n" + other, other), "cut 9[-..-)");
  EXPECT_EQ(Diff(other, "position 9 level 0: 1[a..b]\n" + other), "add 9:1[-..-)");
  EXPECT_EQ(Diff(other, ""), "cut 5[-..-)");
}

TEST(DiffVersions, OfAnotherLevelIsTheLevelAlone) {
  EXPECT_EQ(Diff("position 5 level 1: 5[a..z]", "position 5 level 2: 5[a..z]"), "level 5:2");
  EXPECT_EQ(Diff("position 5 level 1: 5[a..b] 6[c..d]", "position 5 level 2: 5[a..b] 7[e..f]"),
            "cut 5[c..-) add 5:7[-..-) level 5:2");
}

}  // namespace
}  // namespace mergedb::version
