// Goal: the index finds the first block that may hold a key, for any keys. A damaged index is refused or does no
// harm.
// Method: lists of blocks, each with a first and a last key, compared with a linear search.
#include "format/index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/bytes.h"
#include "base/random.h"

namespace mergedb::format::index_test {
namespace {

struct Span {
  std::string first, last;
};

const kv::Order& Bytewise() {
  static const kv::Order order(BytewiseComparator());
  return order;
}

class Backwards final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return base::CompareBytes(b, a); }
  std::string_view Name() const override { return "test.backwards"; }
};

std::string Build(const std::vector<Span>& blocks, bool is_bytewise) {
  IndexBuilder builder(is_bytewise);
  for (size_t i = 0; i < blocks.size(); ++i) {
    builder.AddBlock(static_cast<uint32_t>(100 + i));
    const std::string_view next = i + 1 < blocks.size() ? std::string_view(blocks[i + 1].first) : std::string_view();
    builder.AddFence(blocks[i].last, i + 1 < blocks.size() ? &next : nullptr);
  }
  return builder.Finish(blocks.front().first, blocks.back().last);
}

uint64_t DataBytes(size_t blocks) { return blocks * 100 + blocks * (blocks - 1) / 2; }

Index Open(const std::vector<Span>& blocks, const kv::Order& order) {
  Index index;
  const Status status = index.Decode(Build(blocks, order.is_bytewise()), DataBytes(blocks.size()), order);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return index;
}

// Splits a sorted list into blocks of one to three keys. Some keys continue in the next block.
std::vector<Span> RandomBlocks(base::Random* random, const kv::Order& order, size_t keys, const std::string& shared) {
  std::set<std::string> sorted;
  for (size_t i = 0; i < keys; ++i) {
    std::string key = shared;
    const uint64_t style = random->Uniform(3);
    if (style == 0) key += std::to_string(random->Uniform(1'000'000'000));
    if (style == 1) key += "cluster of one head/" + std::to_string(random->Uniform(1000));
    for (uint64_t left = style == 2 ? random->Uniform(12) : 0; left > 0; --left) key += "a\0\xff"[random->Uniform(3)];
    sorted.insert(key);
  }
  std::vector<std::string> list(sorted.begin(), sorted.end());
  if (!order.is_bytewise()) std::reverse(list.begin(), list.end());
  std::vector<Span> blocks;
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.size(), at + 1 + random->Uniform(3));
    const bool goes_on = !blocks.empty() && random->OneIn(5);
    blocks.push_back({.first = goes_on ? blocks.back().last : list[at], .last = list[end - 1]});
    at = end;
  }
  return blocks;
}

void ExpectFinds(const kv::Order& order, const std::vector<Span>& blocks, const Index& index, const std::string& key) {
  uint32_t expected = 0;  // the first block whose last key is not before `key`
  while (expected < blocks.size() && order.CompareKeys(blocks[expected].last, key) < 0) ++expected;
  const uint32_t found = index.Find(order, key);
  // A fence may be larger than the last key of its block. Then the search begins one block too early, never too
  // late.
  ASSERT_LE(found, expected) << base::Escape(key);
  ASSERT_GE(found + 1, expected) << base::Escape(key);
  if (expected < blocks.size() && order.CompareKeys(blocks[expected].first, key) <= 0) {
    ASSERT_EQ(found, expected) << "a key of a block leads to it at once: " << base::Escape(key);
  }
}

void ExpectFindsAll(base::Random* random, const kv::Order& order, const std::string& shared) {
  const std::vector<Span> blocks = RandomBlocks(random, order, 1 + random->Uniform(200), shared);
  const Index index = Open(blocks, order);
  ASSERT_EQ(index.count(), blocks.size());
  for (const Span& block : blocks) {
    for (const std::string& key : {block.first, block.last}) {
      ExpectFinds(order, blocks, index, key);
      ExpectFinds(order, blocks, index, key + '\0');
      ExpectFinds(order, blocks, index, key + "\xff\xff");
      ExpectFinds(order, blocks, index, key.substr(0, random->Uniform(key.size() + 1)));
    }
  }
  for (const char* key : {"", "a", "q", "\xff\xff\xff\xff\xff\xff\xff\xff\xff"}) ExpectFinds(order, blocks, index, key);
}

TEST(Index, LeadsToTheBlockOfAKey) {
  base::Random random(1);
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE("seed 1, round " + std::to_string(round));
    ExpectFindsAll(&random, Bytewise(), random.OneIn(2) ? "" : "prefix of all/");
  }
}

TEST(Index, LeadsToTheBlockUnderAnotherComparator) {
  const Backwards backwards;
  base::Random random(2);
  for (int round = 0; round < 10; ++round) {
    SCOPED_TRACE("seed 2, round " + std::to_string(round));
    ExpectFindsAll(&random, kv::Order(&backwards), "");
  }
}

TEST(Index, LeadsToTheFirstBlockOfAKeyThatGoesOn) {
  const std::vector<Span> blocks = {{"a", "k"}, {"k", "k"}, {"k", "m"}, {"n", "z"}};
  const Index index = Open(blocks, Bytewise());
  EXPECT_EQ(index.Find(Bytewise(), "k"), 0u);
  EXPECT_EQ(index.Find(Bytewise(), "l"), 2u);
  EXPECT_EQ(index.Find(Bytewise(), "n"), 3u);
  EXPECT_EQ(index.Find(Bytewise(), "z"), 3u);
  EXPECT_EQ(index.Find(Bytewise(), std::string("z\0", 2)), 4u) << "behind all";
}

TEST(Index, StoresTheShortestFences) {
  const Index index = Open({{"apple", "apple pie"}, {"apricot", "banana"}, {"banana", "cherry"}}, Bytewise());
  EXPECT_EQ(index.fence(0), "apr");
  EXPECT_EQ(index.fence(1), std::string("banana\0", 7));
  EXPECT_EQ(index.fence(2), std::string("cherry\0", 7));
  EXPECT_EQ(index.offset(0), 0u);
  EXPECT_EQ(index.offset(2), 201u);
  EXPECT_EQ(index.stored_bytes(2), 102u);
}

TEST(Index, HasTheseBytes) {
  EXPECT_EQ(base::ToHex(Build({{"apple", "apple pie"}, {"apricot", "apt"}}, true)),
            "02000000"
            "02000000"
            "6170"  // two blocks, prefix "ap"
            "64000000"
            "65000000"  // of 100 and 101 bytes
            "01000000"
            "03000000"  // fence ends
            "72"
            "7400");  // "r", "t\0"
}

TEST(Index, RefusesEveryTruncation) {
  const std::string bytes = Build({{"a", "b"}, {"c", "d"}, {"e", "f"}}, true);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_TRUE(Index().Decode(bytes.substr(0, size), DataBytes(3), Bytewise()).IsCorruption()) << size;
  }
  EXPECT_TRUE(Index().Decode(bytes, DataBytes(3) + 1, Bytewise()).IsCorruption());
}

// Symptom: an index with two exchanged fences opened, and existing keys were absent. Cause: the check compared
// only the first 8 bytes of fences, and nothing under other comparators. Found by fuzz/index_fuzz.cc.
TEST(Index, RefusesFencesThatDescend) {
  const Backwards backwards;
  const kv::Order other(&backwards);
  const std::vector<Span> up = {{"", "aaaaaaaa2"}, {"aaaaaaaa5", "aaaaaaaa6"}, {"aaaaaaaa8", "b"}};
  const std::string bytes = Build(up, true);
  EXPECT_TRUE(Index().Decode(bytes, DataBytes(3), Bytewise()).ok());
  EXPECT_TRUE(Index().Decode(Build(up, false), DataBytes(3), other).IsCorruption());
  const size_t first_fence = bytes.find("aaaaaaaa");
  ASSERT_LT(first_fence + 9, bytes.size());
  std::string changed = bytes;
  changed[first_fence + 8] = '9';  // the first 8 bytes are unchanged
  EXPECT_TRUE(Index().Decode(changed, DataBytes(3), Bytewise()).IsCorruption());
}

TEST(Index, IsSafeOnEveryChangedByte) {
  base::Random random(3);
  const std::string bytes = Build(RandomBlocks(&random, Bytewise(), 30, "x"), true);
  uint32_t blocks = 0;
  std::memcpy(&blocks, bytes.data(), 4);
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (const int change : {0x01, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      Index index;
      if (!index.Decode(damaged, DataBytes(blocks), Bytewise()).ok()) continue;
      for (const char* key : {"", "x", "x5", "xcluster of one head/7", "xa", "y"}) {
        EXPECT_LE(index.Find(Bytewise(), key), index.count());
      }
    }
  }
}

}  // namespace
}  // namespace mergedb::format::index_test
