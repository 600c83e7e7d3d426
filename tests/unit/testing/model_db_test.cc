// Goal: the model is right by example. A wrong model would make every model test worthless.
#include "testing/model_db.h"

#include "gtest/gtest.h"

namespace mergedb::testing {
namespace {

using Pairs = ModelDb::Pairs;

ModelDb Example() {
  ModelDb model;
  model.Commit({{"a", "1"}});
  model.Commit({{"b", "1"}, {"a", {}}});
  model.Commit({{"a", "2"}});
  model.Commit({});
  return model;
}

TEST(ModelDb, AnswersAsOfEachCommit) {
  const ModelDb model = Example();
  EXPECT_EQ(model.commits(), 4u);
  EXPECT_EQ(model.Get("a", 0), std::nullopt);
  EXPECT_EQ(model.Get("a", 1), "1");
  EXPECT_EQ(model.Get("a", 2), std::nullopt);
  EXPECT_EQ(model.Get("a", 3), "2");
  EXPECT_EQ(model.Get("never", 3), std::nullopt);
  EXPECT_EQ(model.Scan(0), Pairs{});
  EXPECT_EQ(model.Scan(2), (Pairs{{"b", "1"}}));
  EXPECT_EQ(model.Scan(4), (Pairs{{"a", "2"}, {"b", "1"}}));
}

TEST(ModelDb, LaterChangesOfACommitWin) {
  ModelDb model;
  model.Commit({{"a", "1"}, {"a", "2"}, {"b", "1"}, {"b", {}}});
  EXPECT_EQ(model.Scan(1), (Pairs{{"a", "2"}}));
  EXPECT_EQ(model.FindPrefix({{"a", "2"}}, 0, 1), 1u);
}

TEST(ModelDb, ScansWithinBoundsBothWays) {
  ModelDb model;
  model.Commit({{"a", ""}, {"b", ""}, {"c", ""}, {"d", ""}});
  EXPECT_EQ(model.Scan(1, {.lower = "b", .upper = "d"}), (Pairs{{"b", ""}, {"c", ""}}));
  EXPECT_EQ(model.ScanBackward(1, {.lower = "b"}), (Pairs{{"d", ""}, {"c", ""}, {"b", ""}}));
}

TEST(ModelDb, FollowsAnotherOrder) {
  ModelDb model([](const std::string& a, const std::string& b) { return a > b; });
  model.Commit({{"a", ""}, {"b", ""}});
  EXPECT_EQ(model.Scan(1), (Pairs{{"b", ""}, {"a", ""}}));
}

TEST(ModelDb, FindsWhichPrefixAStateIs) {
  const ModelDb model = Example();
  EXPECT_EQ(model.FindPrefix({}, 0, 4), 0u);
  EXPECT_EQ(model.FindPrefix({{"a", "1"}}, 0, 4), 1u);
  EXPECT_EQ(model.FindPrefix({{"a", "2"}, {"b", "1"}}, 0, 4), 4u) << "the largest";
  EXPECT_EQ(model.FindPrefix({{"a", "2"}, {"b", "1"}}, 0, 3), 3u);
  EXPECT_EQ(model.FindPrefix({{"a", "1"}}, 2, 4), std::nullopt) << "too old";
  EXPECT_EQ(model.FindPrefix({{"a", "2"}}, 0, 4), std::nullopt) << "a hole";
}

TEST(ModelDb, GoesOnFromAPrefix) {
  ModelDb model = Example();
  model.Truncate(1);
  EXPECT_EQ(model.commits(), 1u);
  EXPECT_EQ(model.Scan(4), (Pairs{{"a", "1"}}));
  EXPECT_EQ(model.Commit({{"c", "3"}}), 2u);
  EXPECT_EQ(model.FindPrefix({{"a", "1"}, {"c", "3"}}, 2, 2), 2u);
}

TEST(ModelDb, DeletesRanges) {
  ModelDb model;
  model.Commit({{.key = "a", .value = "1"}, {.key = "b", .value = "2"}, {.key = "c", .value = "3"}});
  const uint64_t before = model.commits();
  model.Commit({{.key = "a", .end = "c"}, {.key = "b", .value = "4"}});
  EXPECT_EQ(model.Scan(before).size(), 3u);
  EXPECT_EQ(model.Scan(model.commits()), (ModelDb::Pairs{{"b", "4"}, {"c", "3"}}));
  EXPECT_EQ(model.FindPrefix({{"b", "4"}, {"c", "3"}}, 0, 9), model.commits());
  model.Commit({{.key = "x", .end = "a"}});
  EXPECT_EQ(model.Scan(model.commits()).size(), 2u) << "nothing lies in a range that ends before it begins";
}

TEST(ModelDb, MergesWhatWasThereBefore) {
  ModelDb model;
  const auto append = [](const std::string& bytes) {
    return [bytes](const std::optional<std::string>& before) { return before.value_or("-") + bytes; };
  };
  model.Commit({{.key = "k", .merge = append("a")}});
  model.Commit({{.key = "k", .value = "put"}, {.key = "k", .merge = append("b")}, {.key = "k", .merge = append("c")}});
  model.Commit({{.key = "k"}, {.key = "k", .merge = append("d")}});
  EXPECT_EQ(model.Get("k", 1), "-a");
  EXPECT_EQ(model.Get("k", 2), "putbc");
  EXPECT_EQ(model.Get("k", 3), "-d");
  EXPECT_EQ(model.FindPrefix({{"k", "putbc"}}, 0, 3), 2u);
}

}  // namespace
}  // namespace mergedb::testing
