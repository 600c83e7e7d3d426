// Goal: LevelDB's bloom filters have LevelDB's hash, size and number of probes; filters of another kind pass every key.
// Method: published values of the hash; sizes and probes on both sides of each limit; forged filters.
#include "leveldb/format/filter.h"

#include <gtest/gtest.h>

namespace mergedb::leveldb_format {
namespace {

std::string FilterOf(int bits_per_key, const std::vector<std::string>& keys) {
  std::string filter;
  BloomPolicy(bits_per_key).AppendFilter({keys.begin(), keys.end()}, &filter);
  return filter;
}

std::vector<std::string> Keys(size_t count) {
  std::vector<std::string> keys;
  for (size_t i = 0; i < count; ++i) keys.push_back("key" + std::to_string(i));
  return keys;
}

TEST(LevelDbBloomHash, IsLevelDbs) {
  EXPECT_EQ(BloomHash(""), 0xbc9f1d34u);
  EXPECT_EQ(BloomHash("\x62"), 0xef1345c4u);
  EXPECT_EQ(BloomHash("\xc3\x97"), 0x5b663814u);
  EXPECT_EQ(BloomHash("\xe2\x99\xa5"), 0x323c078fu);
  EXPECT_EQ(BloomHash("\xe1\x80\xb9\x32"), 0xed21633au);
}

TEST(LevelDbBloom, ProbesAreSevenTenthsOfTheBitsWithinLimits) {
  const auto probes = [](int bits_per_key) { return static_cast<int>(FilterOf(bits_per_key, {}).back()); };
  EXPECT_EQ(probes(-1), 1);
  EXPECT_EQ(probes(0), 1);
  EXPECT_EQ(probes(2), 1);
  EXPECT_EQ(probes(3), 2);
  EXPECT_EQ(probes(10), 6);
  EXPECT_EQ(probes(43), 29);
  EXPECT_EQ(probes(44), 30);
  EXPECT_EQ(probes(46), 30);
  EXPECT_EQ(probes(10'000), 30);
}

TEST(LevelDbBloom, HasWholeBytesAndAtLeastEight) {
  EXPECT_EQ(FilterOf(10, Keys(0)).size(), 8u + 1);
  EXPECT_EQ(FilterOf(10, Keys(6)).size(), 8u + 1);   // 60 bits
  EXPECT_EQ(FilterOf(16, Keys(4)).size(), 8u + 1);   // 64 bits
  EXPECT_EQ(FilterOf(13, Keys(5)).size(), 9u + 1);   // 65 bits
  EXPECT_EQ(FilterOf(10, Keys(8)).size(), 10u + 1);  // 80 bits
}

TEST(LevelDbBloom, IsAppendedToOtherFilters) {
  const std::string alone = FilterOf(10, Keys(20));
  std::string out = "before";
  const std::vector<std::string> keys = Keys(20);
  BloomPolicy(10).AppendFilter({keys.begin(), keys.end()}, &out);
  EXPECT_EQ(out, "before" + alone);
}

TEST(LevelDbBloom, PassesItsKeysAndFewOthers) {
  const BloomPolicy policy(10);
  const std::vector<std::string> keys = Keys(1000);
  const std::string filter = FilterOf(10, keys);
  for (const std::string& key : keys) EXPECT_TRUE(policy.MayContain(key, filter)) << key;
  int passed = 0;
  for (int i = 0; i < 1000; ++i) passed += policy.MayContain("absent" + std::to_string(i), filter);
  EXPECT_LT(passed, 20);
}

TEST(LevelDbBloom, AFilterWithoutBitsHasNoKeys) {
  const BloomPolicy policy(10);
  EXPECT_FALSE(policy.MayContain("key", ""));
  EXPECT_FALSE(policy.MayContain("key", "\x1f"));
  EXPECT_FALSE(policy.MayContain("key", {"\0\1", 2}));
  EXPECT_TRUE(policy.MayContain("key", "\xff\1"));
}

TEST(LevelDbBloom, AFilterOfMoreProbesThanThirtyIsOfAnotherKind) {
  const BloomPolicy policy(10);
  const std::string no_bits(8, '\0');
  EXPECT_FALSE(policy.MayContain("key", no_bits + '\x1e'));
  EXPECT_TRUE(policy.MayContain("key", no_bits + '\x1f'));
  EXPECT_TRUE(policy.MayContain("key", no_bits + '\xff'));
}

}  // namespace
}  // namespace mergedb::leveldb_format
