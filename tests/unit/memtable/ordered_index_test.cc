// Goal: the skip list of a memtable shows records in the order of its comparator, versions newest first, and finds the
// record at, after and before any position. Method: an arena filled by hand, nodes of every height; then random records
// compared with a sorted set.
#include "memtable/ordered_index.h"

#include <gtest/gtest.h>

#include <set>

#include "testing/reverse_comparator.h"

namespace mergedb::memtable {
namespace {

const testing::ReverseComparator kReverseComparator;
const kv::Order kReverse(&kReverseComparator);

kv::Tag TagOf(kv::Sequence sequence) { return kv::MakeTag(sequence, kv::Kind::kPut); }

// An arena with an index over its records.
class Indexed {
 public:
  explicit Indexed(const kv::Order& order = kReverse) : index_(order, bytes_.data(), 1) {}

  void Add(const std::string& key, kv::Sequence sequence, uint32_t height) {
    const auto record = static_cast<uint32_t>(used_ / kUnitBytes);
    WriteRecord(bytes_.data() + used_, key, TagOf(sequence), "value of " + key);
    used_ += Record(bytes_.data(), record).bytes();
    const auto node = static_cast<uint32_t>(used_ / kUnitBytes);
    used_ += OrderedIndex::NodeBytes(height);
    index_.Insert(record, node, height);
    for (size_t i = used_; i < used_ + kUnitBytes; ++i) ASSERT_EQ(bytes_[i], kUnused) << "written behind the node";
  }
  void Add(const std::string& key, kv::Sequence sequence) { Add(key, sequence, index_.NextHeight()); }

  std::string At(uint32_t node) const {
    if (node == 0) return "none";
    const Record record = index_.RecordAt(node);
    return std::string(record.key()) + "#" + std::to_string(kv::SequenceOf(record.tag()));
  }
  std::string All() const {
    std::string shown;
    for (uint32_t node = index_.First(); node != 0; node = index_.Next(node)) shown += At(node) + " ";
    return shown;
  }
  OrderedIndex& index() { return index_; }

 private:
  static constexpr char kUnused = '\x5a';

  std::string bytes_ = std::string(1 << 18, kUnused);
  size_t used_ = kUnitBytes + OrderedIndex::kNodeBytesMax;
  OrderedIndex index_;
};

TEST(OrderedIndex, ShowsKeysInItsOrderAndVersionsNewestFirst) {
  Indexed records;
  records.Add("a", 1);
  records.Add("c", 2);
  records.Add("b", 3);
  records.Add("c", 4);
  EXPECT_EQ(records.All(), "c#4 c#2 b#3 a#1 ");
}

TEST(OrderedIndex, AnEmptyOneHasNoRecord) {
  Indexed records;
  EXPECT_EQ(records.index().First(), 0u);
  EXPECT_EQ(records.index().Last(), 0u);
  EXPECT_EQ(records.index().FindAtOrAfter("", kv::kTagMax), 0u);
  EXPECT_EQ(records.index().FindBefore("", 0), 0u);
  const auto it = NewOrderedIterator(&records.index());
  it->SeekToFirst();
  EXPECT_FALSE(it->Valid());
  it->SeekToLast();
  EXPECT_FALSE(it->Valid());
}

TEST(OrderedIndex, FindsAtOrAfterAndBeforeEachVersion) {
  Indexed records;
  for (const kv::Sequence sequence : {2, 4, 6}) records.Add("k", sequence);
  const auto at_or_after = [&](std::string_view key, kv::Sequence sequence) {
    return records.At(records.index().FindAtOrAfter(key, TagOf(sequence)));
  };
  const auto before = [&](std::string_view key, kv::Sequence sequence) {
    return records.At(records.index().FindBefore(key, TagOf(sequence)));
  };
  EXPECT_EQ(at_or_after("z", 0), "k#6");
  EXPECT_EQ(at_or_after("k", 6), "k#6");
  EXPECT_EQ(at_or_after("k", 5), "k#4");
  EXPECT_EQ(at_or_after("k", 2), "k#2");
  EXPECT_EQ(at_or_after("k", 1), "none");
  EXPECT_EQ(at_or_after("a", 9), "none");
  EXPECT_EQ(before("k", 7), "none");
  EXPECT_EQ(before("k", 6), "none");
  EXPECT_EQ(before("k", 5), "k#6");
  EXPECT_EQ(before("k", 2), "k#4");
  EXPECT_EQ(before("k", 1), "k#2");
  EXPECT_EQ(before("a", 9), "k#2");
}

TEST(OrderedIndex, LinksNodesOfEveryHeightInAnyOrder) {
  for (const bool ascends : {true, false}) {
    Indexed records;
    std::string wanted;
    for (uint32_t i = 0; i < OrderedIndex::kHeightMax; ++i) {
      const uint32_t height = ascends ? i + 1 : OrderedIndex::kHeightMax - i;
      records.Add(std::string(1, static_cast<char>('a' + height)), 1, height);
    }
    for (char c = 'a' + OrderedIndex::kHeightMax; c > 'a'; --c) wanted += std::string(1, c) + "#1 ";
    EXPECT_EQ(records.All(), wanted);
    EXPECT_EQ(records.At(records.index().Last()), "b#1");
  }
}

TEST(OrderedIndex, HeightsAreWithinTheLimitsAndOneInFourIsHigher) {
  Indexed records;
  constexpr int kDraws = 100'000;
  std::vector<int> at_least(OrderedIndex::kHeightMax + 2);
  for (int i = 0; i < kDraws; ++i) {
    const uint32_t height = records.index().NextHeight();
    ASSERT_GE(height, 1u);
    ASSERT_LE(height, OrderedIndex::kHeightMax);
    for (uint32_t h = 1; h <= height; ++h) ++at_least[h];
  }
  EXPECT_NEAR(at_least[2], kDraws / 4, kDraws / 50);
  EXPECT_NEAR(at_least[3], kDraws / 16, kDraws / 50);
}

TEST(OrderedIndex, ANodeHasRoomForItsLinks) {
  EXPECT_EQ(OrderedIndex::NodeBytes(1), 16u);
  EXPECT_EQ(OrderedIndex::NodeBytes(2), 16u);
  EXPECT_EQ(OrderedIndex::NodeBytes(3), 24u);
  EXPECT_EQ(OrderedIndex::NodeBytes(OrderedIndex::kHeightMax), OrderedIndex::kNodeBytesMax);
}

TEST(OrderedIterator, StepsInBothDirectionsAndEndsAtBoth) {
  Indexed records;
  records.Add("a", 1);
  records.Add("b", 2);
  records.Add("b", 3);
  const auto it = NewOrderedIterator(&records.index());
  std::string forward, backward;
  for (it->SeekToFirst(); it->Valid(); it->Next()) forward += kv::PrintKey(it->entry().key, it->entry().tag) + " ";
  for (it->SeekToLast(); it->Valid(); it->Prev()) backward += kv::PrintKey(it->entry().key, it->entry().tag) + " ";
  EXPECT_EQ(forward, "b#3,PUT b#2,PUT a#1,PUT ");
  EXPECT_EQ(backward, "a#1,PUT b#2,PUT b#3,PUT ");
  it->Seek("b", kv::SeekTag(2));
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->entry().value, "value of b");
  EXPECT_EQ(kv::SequenceOf(it->entry().tag), 2u);
}

TEST(OrderedIndex, AgreesWithASortedSet) {
  constexpr uint64_t kSeed = 14;
  base::Random random(kSeed);
  struct Less {
    bool operator()(const std::pair<std::string, uint64_t>& a, const std::pair<std::string, uint64_t>& b) const {
      return a.first != b.first ? a.first > b.first : a.second > b.second;
    }
  };
  std::set<std::pair<std::string, uint64_t>, Less> wanted;
  Indexed records;
  for (kv::Sequence sequence = 1; sequence <= 500; ++sequence) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", record " + std::to_string(sequence));
    const std::string key(random.Uniform(3), static_cast<char>('a' + random.Uniform(9)));
    records.Add(key, sequence);
    wanted.emplace(key, sequence);
    const std::pair<std::string, uint64_t> sought(
        std::string(random.Uniform(3), static_cast<char>('a' + random.Uniform(9))), random.Uniform(sequence + 1));
    const auto place = wanted.lower_bound(sought);
    const auto print = [](const auto& each) { return each.first + "#" + std::to_string(each.second); };
    ASSERT_EQ(records.At(records.index().FindAtOrAfter(sought.first, TagOf(sought.second))),
              place == wanted.end() ? "none" : print(*place));
    ASSERT_EQ(records.At(records.index().FindBefore(sought.first, TagOf(sought.second))),
              place == wanted.begin() ? "none" : print(*std::prev(place)));
    ASSERT_EQ(records.At(records.index().Last()), print(*wanted.rbegin()));
  }
}

}  // namespace
}  // namespace mergedb::memtable
