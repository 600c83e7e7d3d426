// Goal: a block returns its entries, its binary search agrees with a linear search, and any input bytes are
// harmless.
// Method: an example in hex; random blocks compared with a sorted vector; every truncation and changes of every
// byte of small blocks.
#include "format/block.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "format/block_builder.h"

namespace mergedb::format {
namespace {

struct Row {
  std::string key;
  kv::Tag tag;
  std::string value;
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

std::string Build(const std::vector<Row>& rows, bool is_bytewise = true) {
  BlockBuilder builder(is_bytewise);
  for (const Row& row : rows) builder.Add(row.key, row.tag, row.value);
  return std::string(builder.Finish());
}

kv::Entry ViewOf(const kv::Order& order, const Row& row) {
  return {.prefix = order.Prefix(row.key), .key = row.key, .tag = row.tag, .value = row.value};
}

void Sort(const kv::Order& order, std::vector<Row>* rows) {
  const auto compare = [&](const Row& a, const Row& b) { return order.Compare(ViewOf(order, a), ViewOf(order, b)); };
  std::sort(rows->begin(), rows->end(), [&](const Row& a, const Row& b) { return compare(a, b) < 0; });
  rows->erase(std::unique(rows->begin(), rows->end(), [&](const Row& a, const Row& b) { return compare(a, b) == 0; }),
              rows->end());
}

std::vector<Row> RandomRows(base::Random* random, const kv::Order& order, size_t count, size_t value_bytes_max) {
  const std::string shared(random->Uniform(12), 'p');
  std::vector<Row> rows;
  for (size_t i = 0; i < count; ++i) {
    std::string key = shared;
    for (uint64_t left = random->Uniform(14); left > 0; --left) key += "ab\0\xff"[random->Uniform(4)];
    if (!rows.empty() && random->OneIn(4)) key = rows.back().key;
    rows.push_back({.key = key,
                    .tag = kv::MakeTag(random->OneIn(9) ? kv::kSequenceMax : random->Uniform(1000), kv::Kind::kPut),
                    .value = std::string(random->Uniform(value_bytes_max + 1), static_cast<char>(random->Next()))});
  }
  Sort(order, &rows);
  return rows;
}

void ExpectSame(const kv::Order& order, const std::string& raw, const std::vector<Row>& rows) {
  ASSERT_TRUE(CheckBlock(raw).ok()) << CheckBlock(raw).ToString();
  const Block block(raw);
  ASSERT_EQ(block.count(), rows.size());
  BlockCursor cursor(order);
  cursor.Open(block);
  for (uint32_t i = 0; i < block.count(); ++i) {
    kv::Entry entry;
    cursor.Show(i, &entry);
    ASSERT_EQ(entry.key, rows[i].key);
    ASSERT_EQ(entry.prefix, order.Prefix(rows[i].key));
    ASSERT_EQ(entry.tag, rows[i].tag);
    ASSERT_EQ(entry.value, rows[i].value);
    ASSERT_EQ(block.Key(i), rows[i].key);
    ASSERT_TRUE(block.HasKey(order, i, rows[i].key));
    ASSERT_FALSE(block.HasKey(order, i, rows[i].key + "x"));
  }
}

void ExpectSameSeeks(const kv::Order& order, const std::string& raw, const std::vector<Row>& rows,
                     base::Random* random) {
  const Block block(raw);
  std::vector<Row> targets = rows;
  for (const Row& row : rows) {
    targets.push_back({row.key, kv::kTagMax, ""});
    targets.push_back({row.key, row.tag - 1, ""});
    targets.push_back({row.key, 0, ""});
    targets.push_back({row.key + '\0', kv::kTagMax, ""});
    targets.push_back({row.key.substr(0, random->Uniform(row.key.size() + 1)), random->Next(), ""});
  }
  targets.push_back({"", kv::kTagMax, ""});
  targets.push_back({"\xff\xff\xff", 0, ""});
  for (const Row& target : targets) {
    uint32_t expected = 0;
    while (expected < rows.size() && order.Compare(ViewOf(order, rows[expected]), ViewOf(order, target)) < 0)
      ++expected;
    ASSERT_EQ(block.Seek(order, target.key, target.tag), expected) << kv::PrintKey(target.key, target.tag);
  }
}

// FORMAT golden: docs/formats/table.md explains these bytes one by one.
TEST(Block, HasTheseBytes) {
  const std::string raw =
      Build({{"apple", kv::MakeTag(7, kv::Kind::kPut), "red"}, {"apricot", kv::MakeTag(9, kv::Kind::kDelete), ""}});
  EXPECT_EQ(base::ToHex(raw),
            "726564"      // values: "red", ""
            "6170"        // prefix: "ap"
            "706c65"      // suffixes: "ple"
            "7269636f74"  //           "ricot"
            "0100"
            "0002"  // tags: 7,PUT and 9,DELETE above sequence 7
            "0000"
            "0300"
            "0800"  // suffix offsets
            "0000"
            "0300"
            "0300"            // value offsets
            "02000000"        // count
            "02000000"        // prefix bytes
            "07000000000000"  // base sequence
            "22");            // tag width 2, offset width 2
}

TEST(Block, GivesBackWhatWasPutIn) {
  base::Random random(1);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE("seed 1, round " + std::to_string(round));
    const std::vector<Row> rows = RandomRows(&random, Bytewise(), 1 + random.Uniform(60), 40);
    ExpectSame(Bytewise(), Build(rows), rows);
  }
}

TEST(Block, SeeksLikeALinearSearch) {
  base::Random random(2);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE("seed 2, round " + std::to_string(round));
    const std::vector<Row> rows = RandomRows(&random, Bytewise(), 1 + random.Uniform(40), 10);
    ExpectSameSeeks(Bytewise(), Build(rows), rows, &random);
  }
}

TEST(Block, FollowsAnotherComparator) {
  const Backwards backwards;
  const kv::Order order(&backwards);
  base::Random random(3);
  for (int round = 0; round < 30; ++round) {
    SCOPED_TRACE("seed 3, round " + std::to_string(round));
    const std::vector<Row> rows = RandomRows(&random, order, 1 + random.Uniform(30), 10);
    ExpectSame(order, Build(rows, false), rows);
    ExpectSameSeeks(order, Build(rows, false), rows, &random);
  }
}

TEST(Block, WidensOffsetsForLargeValuesAndKeys) {
  const std::vector<Row> rows = {{"a", 1 << 8, std::string(65'535, 'v')},
                                 {std::string(70'000, 'b'), kv::MakeTag(kv::kSequenceMax, kv::Kind::kDelete), ""},
                                 {"c", 5 << 8 | 1, "w"}};
  ExpectSame(Bytewise(), Build(rows), rows);
  const std::vector<Row> narrow = {{"a", 1 << 8, std::string(65'535, 'v')}};
  EXPECT_EQ(Build(narrow).size(), 65'535u + 1 + 1 + 8 + 16) << "65,535 still fits 2 bytes";
  ExpectSame(Bytewise(), Build(narrow), narrow);
}

TEST(Block, StoresSequencesOfOneValueInOneByte) {
  const std::string raw = Build({{"a", 1, ""}, {"b", 1, ""}, {"c", 0, ""}});
  EXPECT_EQ(raw.size(), 3u /* keys */ + 3 /* tags */ + 2 * 4 * 2 /* offsets */ + kBlockTailBytes);
}

TEST(Block, TakesOneEmptyKeyAndValue) {
  const std::vector<Row> rows = {{"", 0, ""}};
  ExpectSame(Bytewise(), Build(rows), rows);
}

// Reads all of a block that passes CheckBlock. The sanitizers detect an access out of bounds.
void ReadAll(const std::string& raw) {
  if (!CheckBlock(raw).ok()) return;
  const Block block(raw);
  BlockCursor cursor(Bytewise());
  cursor.Open(block);
  uint64_t sum = 0;
  for (uint32_t i = 0; i < block.count(); ++i) {
    kv::Entry entry;
    cursor.Show(i, &entry);
    sum += std::hash<std::string_view>()(entry.key) + std::hash<std::string_view>()(entry.value) + entry.tag;
    EXPECT_LE(block.Seek(Bytewise(), entry.key, entry.tag), block.count());
  }
  EXPECT_NE(sum, 1u);
}

TEST(Block, IsSafeOnEveryTruncation) {
  base::Random random(4);
  const std::string raw = Build(RandomRows(&random, Bytewise(), 12, 9));
  for (size_t bytes = 0; bytes <= raw.size(); ++bytes) {
    ReadAll(raw.substr(0, bytes));
    ReadAll(raw.substr(bytes));
  }
}

TEST(Block, IsSafeOnEveryChangedByte) {
  base::Random random(5);
  const std::string raw = Build(RandomRows(&random, Bytewise(), 6, 9));
  for (size_t at = 0; at < raw.size(); ++at) {
    for (const int change : {0x01, 0x80, 0xff, 0x10}) {
      std::string damaged = raw;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      ReadAll(damaged);
    }
  }
}

// CheckBlock compares many offsets at a time. It must detect damage at every place, also at the borders between
// these groups.
TEST(Block, NoticesADescendingOffsetOrAnUnknownKindAtEveryPlace) {
  constexpr uint32_t kRows = 150;
  for (const size_t value_bytes : {8, 600}) {      // offsets of 2 and of 4 bytes
    for (const kv::Sequence newest : {0, 1000}) {  // tags of 1 byte and of more
      std::vector<Row> rows;
      for (uint32_t i = 0; i < kRows; ++i) {
        rows.push_back({.key = "key" + std::to_string(100 + i),
                        .tag = kv::MakeTag(newest == 0 ? 0 : newest - i, kv::Kind::kPut),
                        .value = std::string(value_bytes, 'v')});
      }
      const std::string raw = Build(rows);
      ASSERT_TRUE(CheckBlock(raw).ok());
      const size_t width = value_bytes == 8 ? 2 : 4;
      const size_t tag_width = newest == 0 ? 1 : 2;
      ASSERT_EQ(static_cast<uint8_t>(raw.back()), tag_width << 4 | width);
      const size_t column = (kRows + 1) * width;
      const size_t value_offsets = raw.size() - kBlockTailBytes - column;
      for (const size_t offsets : {value_offsets, value_offsets - column}) {
        // All but the last offset, which is the size of the region.
        for (uint32_t i = 0; i < kRows; ++i) {
          std::string bad = raw;
          std::memset(bad.data() + offsets + i * width, 0xff, width);
          const Status status = CheckBlock(bad);
          ASSERT_TRUE(status.IsCorruption()) << i;
          ASSERT_NE(status.ToString().find("descend"), std::string::npos) << i << ": " << status.ToString();
        }
      }
      const size_t tags = value_offsets - column - kRows * tag_width;
      for (uint32_t i = 0; i < kRows; ++i) {
        std::string bad = raw;
        bad[tags + i * tag_width] = static_cast<char>(static_cast<uint8_t>(kv::kKindMax) + 1);
        ASSERT_TRUE(CheckBlock(bad).IsCorruption()) << i;
      }
    }
  }
}

TEST(Block, IsSafeOnRandomBytes) {
  base::Random random(6);
  for (int round = 0; round < 2000; ++round) {
    std::string raw(random.Uniform(80), '\0');
    for (char& byte : raw)
      byte = random.OneIn(2) ? static_cast<char>(random.Uniform(4)) : static_cast<char>(random.Next());
    if (raw.size() > 16) raw.back() = 0x12;
    ReadAll(raw);
  }
}

}  // namespace
}  // namespace mergedb::format
