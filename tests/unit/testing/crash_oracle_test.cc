// Goal: the crash oracle accepts each state that a crash may leave, and rejects all other states.
#include "testing/crash_oracle.h"

#include <gtest/gtest.h>

namespace mergedb::testing {
namespace {

using Kind = CrashOracle::Kind;
using Owed = CrashOracle::Owed;
using State = CrashOracle::State;

CrashOracle::Change Put(const std::string& key, const std::string& value) { return {.key = key, .value = value}; }
CrashOracle::Change Delete(const std::string& key) { return {.kind = Kind::kDelete, .key = key}; }

TEST(CrashOracle, AllowsEveryPrefixThatCoversWhatWasOwed) {
  CrashOracle oracle;
  oracle.Begin({Put("a", "1")}, true);
  oracle.Begin({Put("b", "2"), Delete("a")}, true);
  oracle.Begin({Put("a", "3")}, true);
  EXPECT_EQ(oracle.Explain({}, {}), 0u);
  EXPECT_EQ(oracle.Explain({{"a", "1"}}, {}), 1u);
  EXPECT_EQ(oracle.Explain({{"b", "2"}}, {.logged = 2}), 2u);
  EXPECT_EQ(oracle.Explain({{"a", "3"}, {"b", "2"}}, {.logged = 2}), 3u);
  EXPECT_EQ(oracle.Explain({{"a", "1"}}, {.logged = 2}), std::nullopt) << "owed and lost";
  EXPECT_EQ(oracle.Explain({{"a", "1"}, {"b", "2"}}, {}), std::nullopt) << "half a batch";
  EXPECT_EQ(oracle.Explain({{"a", "3"}}, {}), std::nullopt) << "a hole";
  EXPECT_EQ(oracle.Explain({{"c", "3"}}, {}), std::nullopt) << "nobody wrote it";
}

TEST(CrashOracle, LetsWritesWithoutLogBeMissingEachByItself) {
  CrashOracle oracle;
  oracle.Begin({Put("a", "1")}, true);
  oracle.Begin({Put("a", "2"), Put("b", "2")}, false);
  oracle.Begin({Put("c", "3")}, false);
  oracle.Begin({Put("d", "4")}, true);
  const Owed owed{.logged = 4};
  EXPECT_TRUE(oracle.Explain({{"a", "1"}, {"d", "4"}}, owed));
  EXPECT_TRUE(oracle.Explain({{"a", "2"}, {"b", "2"}, {"d", "4"}}, owed));
  EXPECT_TRUE(oracle.Explain({{"a", "1"}, {"c", "3"}, {"d", "4"}}, owed));
  EXPECT_FALSE(oracle.Explain({{"a", "2"}, {"d", "4"}}, owed)) << "half a batch";
  EXPECT_FALSE(oracle.Explain({{"a", "1"}, {"d", "4"}}, {.logged = 4, .unlogged = 2})) << "it was flushed";
  EXPECT_TRUE(oracle.Explain({{"a", "2"}, {"b", "2"}, {"d", "4"}}, {.logged = 4, .unlogged = 2}));
}

TEST(CrashOracle, KnowsWhatFailedAndWhatNobodyKnows) {
  CrashOracle oracle;
  oracle.Begin({Put("a", "1")}, true);
  oracle.Failed(oracle.Begin({Put("a", "2"), Put("b", "2")}, true), true);
  oracle.Failed(oracle.Begin({Put("a", "3")}, true), false);
  oracle.Begin({Put("c", "4")}, true);
  EXPECT_EQ(oracle.Everything(), (State{{"a", "1"}, {"c", "4"}}));
  EXPECT_TRUE(oracle.Explain({{"a", "1"}, {"c", "4"}}, {.logged = 4}));
  EXPECT_TRUE(oracle.Explain({{"a", "2"}, {"b", "2"}, {"c", "4"}}, {.logged = 4}));
  EXPECT_FALSE(oracle.Explain({{"a", "2"}, {"c", "4"}}, {.logged = 4})) << "half a batch";
  EXPECT_FALSE(oracle.Explain({{"a", "3"}, {"c", "4"}}, {.logged = 4})) << "it failed";
}

TEST(CrashOracle, WantsEveryMergeOnceAndInOrder) {
  const auto append = [](const std::string& key, const std::string& piece) {
    return CrashOracle::Change{.kind = Kind::kAppend, .key = key, .value = piece};
  };
  CrashOracle oracle;
  oracle.Begin({Put("a", "1"), append("a", "+2")}, true);
  oracle.Begin({append("a", "+3")}, true);
  oracle.Begin({append("a", "+4")}, false);
  oracle.Begin({append("a", "+5"), append("b", "+6")}, true);
  const Owed owed{.logged = 4};
  EXPECT_EQ(oracle.Everything(), (State{{"a", "1+2+3+4+5"}, {"b", "+6"}}));
  EXPECT_TRUE(oracle.Explain({{"a", "1+2+3+5"}, {"b", "+6"}}, owed));
  EXPECT_TRUE(oracle.Explain({{"a", "1+2+3+4+5"}, {"b", "+6"}}, owed));
  EXPECT_FALSE(oracle.Explain({{"a", "1+2+3+5"}, {"b", "+6"}}, {.logged = 4, .unlogged = 3})) << "it was flushed";
  EXPECT_FALSE(oracle.Explain({{"a", "1+2+3+3+5"}, {"b", "+6"}}, owed)) << "twice";
  EXPECT_FALSE(oracle.Explain({{"a", "1+3+5"}, {"b", "+6"}}, owed)) << "a hole";
  EXPECT_FALSE(oracle.Explain({{"a", "1+2+5+3"}, {"b", "+6"}}, owed)) << "in another order";
  EXPECT_EQ(oracle.Explain({{"a", "1+2"}}, {}), 1u);
  EXPECT_FALSE(oracle.Explain({{"a", "1"}}, {})) << "half a batch";
  oracle.Begin({Delete("b"), append("b", "+7")}, true);
  EXPECT_TRUE(oracle.Explain({{"a", "1+2+3+5"}, {"b", "+7"}}, {.logged = 5}));
  EXPECT_FALSE(oracle.Explain({{"a", "1+2+3+5"}, {"b", "+6+7"}}, {.logged = 5})) << "deleted";
}

TEST(CrashOracle, TheLastChangeOfAKeyInABatchWins) {
  CrashOracle oracle;
  oracle.Begin({Put("a", "1"), Delete("a"), Put("a", "2")}, true);
  EXPECT_EQ(oracle.Everything(), (State{{"a", "2"}}));
  EXPECT_FALSE(oracle.Explain({{"a", "1"}}, {}));
}

TEST(CrashOracle, ARangeDeleteIsADeleteOfEachKeyInIt) {
  CrashOracle oracle;
  oracle.Begin({Put("a", "1"), Put("b", "1"), Put("c", "1")}, true);
  oracle.Begin({Put("b", "2"), {.kind = Kind::kDeleteRange, .key = "a", .value = "c"}, Put("a", "2")}, true);
  EXPECT_EQ(oracle.Everything(), (State{{"a", "2"}, {"c", "1"}}));
  EXPECT_EQ(oracle.Explain({{"a", "1"}, {"b", "1"}, {"c", "1"}}, {}), 1u);
  EXPECT_FALSE(oracle.Explain({{"a", "2"}, {"b", "1"}, {"c", "1"}}, {})) << "half of the range";
}

TEST(CrashOracle, SaysHowStatesDiffer) {
  EXPECT_EQ(DescribeDifference({{"a", "1"}}, {{"a", "1"}}), "");
  EXPECT_EQ(DescribeDifference({{"a", "1"}, {"c", "3"}}, {{"a", "2"}, {"b", "2"}}),
            " a=1 not 2 b is missing (2) c=3 exists");
}

}  // namespace
}  // namespace mergedb::testing
