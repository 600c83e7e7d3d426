// Goal: the map separates the keyspaces, keeps the keys of each in order, and maps each tree key back to its
// key. Method: examples in bytes, then all pairs of a set of keys around the marker.
#include "kv/key_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.h"

namespace mergedb::kv {
namespace {

using namespace std::string_literals;

std::string Tree(const KeyMap& map, KeyspaceId keyspace, std::string_view key) {
  std::string scratch;
  return std::string(map.ToTree(keyspace, key, &scratch));
}

// FORMAT golden: docs/formats/keyspaces.md
TEST(KeyMap, WritesPrefixAndIdBeforeTheKey) {
  const KeyMap map("\xff");
  EXPECT_EQ(Tree(map, 0, "apple"), "apple");
  EXPECT_EQ(Tree(map, 5, "apple"),
            "\xff\x05"
            "apple"s);
  EXPECT_EQ(Tree(map, 0xef, ""), "\xff\xef"s);
  EXPECT_EQ(Tree(map, 0xf0, "a"),
            "\xff\xf1\xf0"
            "a"s);
  EXPECT_EQ(Tree(map, 0x1234, "a"),
            "\xff\xf2\x12\x34"
            "a"s);
  EXPECT_EQ(Tree(map, 0xffffffff, "a"),
            "\xff\xf4\xff\xff\xff\xff"
            "a"s);
  EXPECT_EQ(Tree(map, 0,
                 "\xff"
                 "apple"),
            "\xff\xff\xff"
            "apple"s);
  EXPECT_EQ(map.Prefix(0), "\xff\0"s);
}

TEST(KeyMap, MakesNoCopyOfAKeyOfTheDefaultKeyspace) {
  const KeyMap map("\xff");
  const std::string key = "apple";
  std::string scratch;
  EXPECT_EQ(map.ToTree(0, key, &scratch).data(), key.data());
}

TEST(KeyMap, RangesOfTheDefaultKeyspaceLeaveTheOthersOut) {
  const KeyMap map("m");
  using Ranges = std::vector<KeyMap::Range>;
  EXPECT_EQ(map.ToTreeRanges(0, {.lower = "a", .upper = "c"}), (Ranges{{.lower = "a", .upper = "c"}}));
  EXPECT_EQ(map.ToTreeRanges(0, {.lower = "n", .upper = "z"}), (Ranges{{.lower = "n", .upper = "z"}}));
  EXPECT_EQ(map.ToTreeRanges(0, {.lower = "a", .upper = "z"}),
            (Ranges{{.lower = "a", .upper = "m"}, {.lower = "m\xff", .upper = "z"}}));
  EXPECT_EQ(map.ToTreeRanges(0, {}), (Ranges{{.lower = {}, .upper = "m"}, {.lower = "m\xff", .upper = {}}}));
  EXPECT_EQ(map.ToTreeRanges(0, {.lower = "ma", .upper = "mb"}), (Ranges{{.lower = "m\xff"
                                                                                   "ma",
                                                                          .upper = "m\xff"
                                                                                   "mb"}}));
  EXPECT_EQ(map.ToTreeRanges(7, {}), (Ranges{{.lower = "m\x07", .upper = "m\x08"}}));
  EXPECT_EQ(map.ToTreeRanges(7, {.lower = "a", .upper = {}}), (Ranges{{.lower = "m\x07"
                                                                                "a",
                                                                       .upper = "m\x08"}}));
}

class KeyMapOf : public testing::TestWithParam<std::string> {};

std::vector<std::string> KeysAround(const std::string& marker) {
  std::vector<std::string> keys = {"", "\0"s, "a", "m", "z", "\xfe", "\xff", "\xff\xff", "\xff\xff\xff\xff"};
  for (const char* tail : {"", "\x01", "a", "\xef", "\xf1\xf0", "\xfe", "\xff", "\xff\xff"})
    keys.push_back(marker + tail);
  keys.push_back(marker + marker);
  keys.push_back(marker + "\xff" + marker);
  keys.push_back(marker + "\0"s);
  keys.push_back(marker.substr(0, marker.size() - 1));
  base::Random random(7);
  for (int i = 0; i < 40; ++i) {
    std::string key = random.OneIn(2) ? marker : "";
    for (uint64_t left = random.Uniform(4); left > 0; --left)
      key += static_cast<char>(random.OneIn(2) ? 0xf0 + random.Uniform(16) : random.Next());
    keys.push_back(key);
  }
  std::ranges::sort(keys);
  keys.erase(std::ranges::unique(keys).begin(), keys.end());
  return keys;
}

TEST_P(KeyMapOf, KeepsEachKeyspaceInOrderAndApart) {
  const KeyMap map(GetParam());
  const auto keys = KeysAround(GetParam());
  std::map<std::string, std::pair<KeyspaceId, std::string>> all;
  for (const KeyspaceId id : {0u, 1u, 2u, 0xefu, 0xf0u, 0xffu, 0x100u, 0xffffu, 0x10000u, 0xffffffffu}) {
    std::string before;
    for (const std::string& key : keys) {
      const std::string tree = Tree(map, id, key);
      EXPECT_TRUE(&key == &keys.front() || before < tree) << id;
      before = tree;
      EXPECT_TRUE(all.emplace(tree, std::pair(id, key)).second) << "two keys in one place";
      const auto place = map.FromTree(tree);
      EXPECT_EQ(place.keyspace, id);
      EXPECT_EQ(place.key, key);
      EXPECT_FALSE(place.is_keyspace_record);
      EXPECT_EQ(map.IsNamed(tree), id != 0);
      EXPECT_EQ(map.named_lower() <= tree && tree < map.named_upper(), id != 0);
    }
  }
}

TEST_P(KeyMapOf, RangesHoldTheirKeysAndNoOthers) {
  const KeyMap map(GetParam());
  const auto keys = KeysAround(GetParam());
  for (const KeyspaceId id : {0u, 1u, 0xf0u}) {
    for (const std::string& lower : keys) {
      for (const std::string& upper : keys) {
        if (upper < lower) continue;
        const auto ranges = map.ToTreeRanges(id, {.lower = lower, .upper = upper});
        for (const KeyspaceId other : {0u, 1u, 2u, 0xf0u}) {
          for (const std::string& key : keys) {
            const std::string tree = Tree(map, other, key);
            const bool is_in = std::ranges::any_of(
                ranges, [&](const auto& range) { return *range.lower <= tree && tree < *range.upper; });
            ASSERT_EQ(is_in, other == id && lower <= key && key < upper);
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Markers, KeyMapOf, testing::Values("\xff", "m", "\xff\xff", "ab", "\0"s, "\xff\xfe\xff"));

}  // namespace
}  // namespace mergedb::kv
