// Goal: each filter holds the keys of the blocks that begin in its 2 KiB of the file; a filter block that is damaged
// passes every key. Method: a policy whose filters are readable text; blocks and bytes around each limit.
#include "format/filter_block.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/coding.h"
#include "base/random.h"

namespace mergedb::format::filter_block_test {
namespace {

// A filter is a list of its keys: "a;b;".
class ListPolicy final : public FilterPolicy {
 public:
  std::string_view Name() const override { return "test.list"; }
  void AppendFilter(const std::vector<std::string_view>& keys, std::string* out) const override {
    for (const std::string_view key : keys) out->append(key).push_back(';');
  }
  bool MayContain(std::string_view key, std::string_view filter) const override {
    return (";" + std::string(filter)).find(";" + std::string(key) + ";") != std::string::npos;
  }
};
const ListPolicy kPolicy;

struct KeyAt {
  uint64_t block_offset;
  std::string key;
};

std::string Build(const std::vector<KeyAt>& keys) {
  FilterBlockBuilder builder(kPolicy);
  for (const KeyAt& each : keys) {
    builder.StartBlock(each.block_offset);
    builder.AddKey(each.key);
  }
  return std::string(builder.Finish());
}

// A filter block of these filters, offsets and offset of the offsets.
std::string Forge(const std::string& filters, const std::vector<uint32_t>& offsets, uint32_t offsets_at,
                  char shift = 11) {
  std::string block = filters;
  for (const uint32_t offset : offsets) base::AppendFixed32(&block, offset);
  base::AppendFixed32(&block, offsets_at);
  return block + shift;
}

TEST(FilterBlock, IsTheBytesOfTheSpecification) {
  EXPECT_EQ(Build({{0, "a"}, {700, "b"}, {5000, "c"}}), Forge("a;b;c;", {0, 4, 4}, 6))
      << "no block begins from 2,048 to 4,096";
}

TEST(FilterBlock, AFilterHoldsTheBlocksThatBeginIn2Kibibytes) {
  const std::string bytes = Build({{0, "a"}, {2047, "b"}, {2048, "c"}, {6143, "d"}, {6144, "e"}});
  const FilterBlock block(kPolicy, bytes);
  for (const uint64_t offset : {0, 2047}) {
    EXPECT_TRUE(block.MayContain(offset, "a")) << offset;
    EXPECT_TRUE(block.MayContain(offset, "b")) << offset;
    EXPECT_FALSE(block.MayContain(offset, "c")) << offset;
  }
  for (const uint64_t offset : {2048, 4095}) {
    EXPECT_FALSE(block.MayContain(offset, "b")) << offset;
    EXPECT_TRUE(block.MayContain(offset, "c")) << offset;
  }
  EXPECT_TRUE(block.MayContain(6143, "d"));
  EXPECT_FALSE(block.MayContain(6143, "e"));
  EXPECT_TRUE(block.MayContain(8191, "e")) << "the last filter";
  EXPECT_FALSE(block.MayContain(8191, "d"));
}

TEST(FilterBlock, AnEmptyFilterPassesNoKeyAndAMissingOneEveryKey) {
  const std::string bytes = Build({{0, "a"}, {4096, "b"}});
  const FilterBlock block(kPolicy, bytes);
  EXPECT_FALSE(block.MayContain(2048, "a"));
  EXPECT_FALSE(block.MayContain(2048, "b"));
  EXPECT_TRUE(block.MayContain(6144, "z")) << "no filter";
  EXPECT_TRUE(block.MayContain(UINT64_MAX, "z"));
}

TEST(FilterBlock, OfNoKeysPassesEverything) {
  const std::string bytes = Build({});
  EXPECT_EQ(bytes.size(), 5u);
  EXPECT_TRUE(FilterBlock(kPolicy, bytes).MayContain(0, "a"));
}

TEST(FilterBlock, TakesAnEmptyKey) {
  const std::string bytes = Build({{0, ""}, {2048, "a"}});
  EXPECT_TRUE(FilterBlock(kPolicy, bytes).MayContain(0, ""));
  EXPECT_FALSE(FilterBlock(kPolicy, bytes).MayContain(0, "a"));
  EXPECT_FALSE(FilterBlock(kPolicy, bytes).MayContain(2048, ""));
}

TEST(FilterBlock, PassesEveryKeyIfItIsDamaged) {
  const auto passes = [](const std::string& bytes) { return FilterBlock(kPolicy, bytes).MayContain(0, "z"); };
  ASSERT_FALSE(passes(Forge("a;", {0}, 2))) << "not damaged";
  EXPECT_TRUE(passes(""));
  EXPECT_TRUE(passes(std::string(4, '\0')));
  EXPECT_TRUE(passes(Forge("a;", {0}, 6))) << "the offsets would begin at their own offset";
  EXPECT_TRUE(passes(Forge("a;", {0}, 7))) << "and behind it";
  EXPECT_TRUE(passes(Forge("a;", {0}, UINT32_MAX)));
  EXPECT_TRUE(passes(Forge("a;b;", {3, 2}, 4))) << "descending offsets";
  EXPECT_TRUE(passes(Forge("a;b;", {0, 5}, 4))) << "a filter that reaches into the offsets";
  EXPECT_FALSE(passes(Forge("a;b;", {0, 4}, 4)));
  EXPECT_TRUE(passes(Forge("a;", {0}, 2, 64))) << "a shift of all bits";
  EXPECT_FALSE(passes(Forge("a;", {0}, 2, 63)));
  EXPECT_TRUE(passes(Forge("a;", {0}, 2, '\xff')));
}

TEST(FilterBlock, ReadsNothingOutsideOfRandomBytes) {
  constexpr uint64_t kSeed = 5;
  base::Random random(kSeed);
  int passed = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = Build({{0, "a"}, {2048, "b"}, {9000, "c"}});
    for (uint64_t changes = 1 + random.Uniform(3); changes > 0; --changes)
      bytes[random.Uniform(bytes.size())] = static_cast<char>(random.Uniform(256));
    bytes.resize(random.OneIn(4) ? random.Uniform(bytes.size()) : bytes.size());
    if (FilterBlock(kPolicy, bytes).MayContain(random.Uniform(10'000), "z")) ++passed;
  }
  EXPECT_GT(passed, 100) << "seed " << kSeed;
  EXPECT_LT(passed, 2000) << "seed " << kSeed;
}

}  // namespace
}  // namespace mergedb::format::filter_block_test
