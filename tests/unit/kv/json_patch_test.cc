// Goal: a combined patch has the effect of its parts, one applied after the other. Malformed texts are errors,
// found quickly.
// The examples of the RFC are among the vectors of fold_test.cc.
#include "kv/json_patch.h"

#include <gtest/gtest.h>

#include "testing/seed.h"
#include "tests/unit/kv/merge_histories.h"

namespace mergedb::kv {
namespace {

std::string Plain(std::string_view text) { return std::string(1, '\0').append(text); }

std::string Apply(std::optional<std::string_view> target, const std::vector<std::string>& patches) {
  std::string result;
  const Status status =
      ApplyJsonPatches(target, std::vector<std::string_view>(patches.begin(), patches.end()), &result);
  return status.ok() ? result : status.ToString();
}

std::string Combine(const std::vector<std::string>& patches) {
  std::string body;
  EXPECT_TRUE(CombineJsonPatches(std::vector<std::string_view>(patches.begin(), patches.end()), &body).ok());
  return body;
}

TEST(JsonPatch, ThatReplacesIsMarked) {
  EXPECT_EQ(Combine({Plain("{\"a\":1}"), Plain("{\"b\":2}")}), Plain("{\"a\":1,\"b\":2}"));
  EXPECT_EQ(Combine({Plain("{\"a\":5}"), Plain("{\"a\":{\"b\":1}}")}), "\x01[{\"a\":{\"b\":1}},[[\"a\"]]]");
  EXPECT_EQ(Combine({Plain("5"), Plain("{\"b\":1}")}), "\x01[{\"b\":1},[[]]]");
  EXPECT_EQ(Apply("{\"a\":{\"c\":1}}", {"\x01[{\"a\":{\"b\":1}},[[\"a\"]]]"}), "{\"a\":{\"b\":1}}");
}

TEST(JsonPatch, CombinedInAnyWayDoesTheSame) {
  const uint64_t seed = testing::SeedOr(1);
  for (uint64_t round = 0; round < 3000; ++round) {
    SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed) + " round " + std::to_string(round));
    base::Random random(seed * 1'000'003 + round);
    std::vector<std::string> patches;
    for (uint64_t n = 2 + random.Uniform(5); n > 0; --n) patches.push_back(Plain(testing::RandomJson(random, 3)));
    std::vector<std::string> combined = patches;
    while (combined.size() > 1 && !random.OneIn(4)) {
      const auto at = static_cast<ptrdiff_t>(random.Uniform(combined.size() - 1));
      combined[static_cast<size_t>(at)] =
          Combine({combined[static_cast<size_t>(at)], combined[static_cast<size_t>(at) + 1]});
      combined.erase(combined.begin() + at + 1);
    }
    const std::string target = testing::RandomJson(random, 3);
    ASSERT_EQ(Apply(target, combined), Apply(target, patches)) << target;
    ASSERT_EQ(Apply(std::nullopt, combined), Apply(std::nullopt, patches));
    // The first patch may also be applied on its own.
    const std::string prefix = Apply(target, {patches.front()});
    ASSERT_EQ(Apply(prefix, {patches.begin() + 1, patches.end()}), Apply(target, patches));
  }
}

TEST(JsonPatch, KeepsNumbersAndText) {
  EXPECT_EQ(Apply("{\"b\":18446744073709551615, \"a\" : -9223372036854775808}", {Plain("{}")}),
            "{\"a\":-9223372036854775808,\"b\":18446744073709551615}");
  EXPECT_EQ(Apply("{\"a\":\"\\u00e4\\n\"}", {Plain("{}")}), "{\"a\":\"\xc3\xa4\\n\"}");
  EXPECT_EQ(Apply("{\"a\":1,\"a\":2}", {Plain("{}")}), "{\"a\":2}");
}

TEST(JsonPatch, RefusesWhatIsNoJson) {
  for (const std::string_view text : {"", "{", "{\"a\":}", "nul", "\"\xff\"", "[1,]", "1 2", "{'a':1}", "NaN"}) {
    EXPECT_TRUE(CheckJsonPatch(Plain(text)).IsInvalidArgument()) << text;
    EXPECT_EQ(Apply(text, {Plain("{}")}).substr(0, 12), "MergeFailed:") << text;
  }
  for (const std::string_view body : {"", "\x01{}", "\x01[{}]", "\x01[{},{}]", "\x01[{},[[\"a\"]]]",
                                      "\x01[{\"a\":1},[[\"a\"]]]", "\x01[{},[1]]", "\x01[{},[[1]]]", "\x02{}"}) {
    EXPECT_TRUE(CheckJsonPatch(body).IsInvalidArgument()) << body;
    EXPECT_EQ(Apply("{}", {std::string(body)}).substr(0, 12), "MergeFailed:") << body;
    const std::string_view both[] = {"\x01[{},[]]", body};
    std::string combined;
    EXPECT_FALSE(CombineJsonPatches(both, &combined).ok()) << body;
  }
}

TEST(JsonPatch, BoundsDepthAndSize) {
  const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(CheckJsonPatch(Plain(nested(kJsonDepthMax))).ok());
  EXPECT_TRUE(CheckJsonPatch(Plain(nested(kJsonDepthMax + 1))).IsInvalidArgument());
  EXPECT_TRUE(CheckJsonPatch(Plain(nested(1'000'000))).IsInvalidArgument());
  EXPECT_TRUE(CheckJsonPatch(Plain("\"" + std::string(1000, '[') + "\\\"[[[\"")).ok());
  EXPECT_TRUE(CheckJsonPatch(Plain("\"" + std::string(kJsonBytesMax, 'x') + "\"")).IsInvalidArgument());
}

}  // namespace
}  // namespace mergedb::kv
