// Goal: the "leveldb.*" properties show the sorted runs of the tree as levels, in LevelDB's formats; names that LevelDB
// does not know do not exist. Method: a database in memory whose flushes and compactions the test runs.
#include "leveldb/interface/properties.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <charconv>

#include "testing/simulated_env.h"
#include "testing/status_matchers.h"

namespace leveldb {
namespace {

using ::testing::HasSubstr;
using namespace mergedb::testing;

class Properties : public ::testing::Test {
 protected:
  void SetUp() override {
    mergedb::Options options = sim_.SmallOptions();
    database_ = std::move(mergedb::db::DbImpl::Open(options, SimulatedEnv::kPath)).value();
  }
  void PutAndFlush(const std::string& key, const std::string& value) {
    ASSERT_OK(database_->Put({}, key, value));
    ASSERT_OK(database_->Flush());
  }
  // Empty: the property does not exist.
  std::string Get(const std::string& name) {
    std::string value;
    return PrintProperty(*database_, name, &value) ? value : "";
  }
  uint64_t Number(const std::string& name) { return std::stoull(Get(name)); }
  static size_t Count(const std::string& text, const std::string& part) {
    size_t count = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
  }

  SimulatedEnv sim_;
  std::unique_ptr<mergedb::db::DbImpl> database_;
};

TEST_F(Properties, TheOldestRunIsTheLastLevelAndFlushedRunsAreLevelZero) {
  for (int level = 0; level < 7; ++level) EXPECT_EQ(Get("leveldb.num-files-at-level" + std::to_string(level)), "0");
  PutAndFlush("a", "1");
  EXPECT_EQ(Get("leveldb.num-files-at-level6"), "1");
  EXPECT_EQ(Get("leveldb.num-files-at-level0"), "0");
  PutAndFlush("b", "2");
  EXPECT_EQ(Get("leveldb.num-files-at-level6"), "1");
  EXPECT_EQ(Get("leveldb.num-files-at-level0"), "1");
  ASSERT_OK(database_->CompactRange(nullptr, nullptr));
  EXPECT_EQ(Get("leveldb.num-files-at-level6"), "1");
  EXPECT_EQ(Get("leveldb.num-files-at-level0"), "0");
}

TEST_F(Properties, OnlySevenLevelsHaveANumber) {
  for (const char* digits : {"", "7", "10", "-1", "+1", " 1", "1x", "x", "0x1", "18446744073709551616"})
    EXPECT_EQ(Get("leveldb.num-files-at-level" + std::string(digits)), "") << digits;
  for (const char* name :
       {"leveldb.", "leveldb.stat", "leveldb.statss", "leveldb.mergedb.stats", "leveldb", "stats", ""})
    EXPECT_EQ(Get(name), "") << name;
}

TEST_F(Properties, OtherNamesAreMergedbs) {
  std::string expected;
  ASSERT_TRUE(database_->GetProperty("mergedb.memtable_bytes", &expected));
  EXPECT_EQ(Get("mergedb.memtable_bytes"), expected);
  EXPECT_EQ(Get("mergedb.no such property"), "");
}

TEST_F(Properties, TheTablesAreListedByLevelWithTheirBounds) {
  PutAndFlush("oldest", "1");
  ASSERT_OK(database_->Put({}, "b\n", "2"));
  ASSERT_OK(database_->Put({}, "a'", "3"));
  ASSERT_OK(database_->Flush());
  const std::string text = Get("leveldb.sstables");
  EXPECT_EQ(Count(text, "--- level "), 7u);
  EXPECT_EQ(Count(text, "['"), 2u);
  const size_t level_0 = text.find("--- level 0 ---\n");
  const size_t level_1 = text.find("--- level 1 ---\n");
  const size_t level_6 = text.find("--- level 6 ---\n");
  ASSERT_NE(level_6, std::string::npos);
  EXPECT_THAT(text.substr(level_0, level_1 - level_0), HasSubstr("['a'' @ 3 : 1 .. 'b\\x0a' @ 2 : 1]\n"));
  EXPECT_EQ(text.substr(level_1, level_6 - level_1).find("['"), std::string::npos);
  EXPECT_THAT(text.substr(level_6), HasSubstr("['oldest' @ 1 : 1 .. 'oldest' @ 1 : 1]\n"));
}

TEST_F(Properties, TheStatsHaveALineForEachLevelWithFilesOrWork) {
  const std::string nothing = Get("leveldb.stats");
  EXPECT_THAT(nothing, ::testing::StartsWith("                               Compactions\nLevel  Files Size(MB) "));
  EXPECT_EQ(Count(nothing, "\n"), 3u) << "the head alone";
  for (int i = 0; i < 60; ++i) ASSERT_OK(database_->Put({}, "k" + std::to_string(i), std::string(50'000, 'v')));
  ASSERT_OK(database_->Flush());
  ASSERT_OK(database_->CompactRange(nullptr, nullptr));
  const std::string text = Get("leveldb.stats");
  const auto line = [&](const std::string& begin) {
    const size_t at = text.find("\n" + begin);
    return at == std::string::npos ? "" : text.substr(at + 1, text.find('\n', at + 1) - at - 1);
  };
  EXPECT_THAT(line("  0 "), HasSubstr("  0        0        0 ")) << "no table there any more";
  EXPECT_NE(line("  6 "), "");
  EXPECT_EQ(line("  3 "), "");
}

TEST_F(Properties, MemoryGrowsWithTheMemtable) {
  const uint64_t before = Number("leveldb.approximate-memory-usage");
  ASSERT_OK(database_->Put({}, "k", std::string(40'000, 'v')));
  EXPECT_GE(Number("leveldb.approximate-memory-usage"), before + 40'000);
}

}  // namespace
}  // namespace leveldb
