// Goal: an entry or a range tombstone is obsolete exactly if a younger table's compacted range took it as input: by
// key, by sequence, and except in the keys that the table has lost. Method: tables without files, with keys and
// sequences on both sides of each bound. rebuild_test.cc checks whole histories.
#include "repair/compacted_inputs.h"

#include <gtest/gtest.h>

namespace mergedb::repair {
namespace {

const kv::Order kOrder(BytewiseComparator());

struct Shape {
  std::string smallest = "a", largest = "z";
  kv::Sequence smallest_sequence = 1, largest_sequence = 100;
};

LooseTable Table(uint64_t number, std::vector<format::CompactedRange> compacted_ranges = {}, const Shape& shape = {}) {
  format::FileMeta meta;
  meta.number = kv::FileNumber{number};
  meta.smallest = shape.smallest;
  meta.largest = shape.largest;
  meta.smallest_sequence = shape.smallest_sequence;
  meta.largest_sequence = shape.largest_sequence;
  return {.meta = std::make_shared<const format::FileMeta>(meta), .compacted_ranges = std::move(compacted_ranges)};
}

format::CompactedRange From(kv::Sequence from, kv::Sequence sequence, format::Bounds bounds = {}) {
  return {.from = from, .sequence = sequence, .bounds = std::move(bounds)};
}

// Tables, and what they say of entries of the first one.
class Beside {
 public:
  explicit Beside(std::vector<LooseTable> tables)
      : tables_(std::move(tables)), inputs_(kOrder, tables_), on_(inputs_.Against(tables_.front())) {}

  bool empty() const { return on_.empty(); }
  bool IsObsolete(std::string_view key, kv::Sequence sequence) const { return on_.IsObsolete(key, sequence); }
  std::string Live(std::string_view begin, std::string_view end, kv::Sequence sequence) const {
    std::vector<kv::RangeTombstone> alive;
    on_.AppendLive({.begin = begin, .end = end, .sequence = sequence}, &alive);
    std::string shown;
    for (const kv::RangeTombstone& piece : alive)
      shown +=
          "[" + std::string(piece.begin) + "," + std::string(piece.end) + ")" + std::to_string(piece.sequence) + " ";
    return shown;
  }

 private:
  const std::vector<LooseTable> tables_;
  const CompactedInputs inputs_;
  const CompactedInputs::On on_;
};

TEST(CompactedInputs, AnEntryInTheRangeOfAYoungerTableIsObsolete) {
  const Beside on({Table(9), Table(14, {From(4, 8, {"g", "p"})})});
  EXPECT_FALSE(on.IsObsolete("f", 5));
  EXPECT_TRUE(on.IsObsolete("g", 5));
  EXPECT_TRUE(on.IsObsolete("ozz", 5));
  EXPECT_FALSE(on.IsObsolete("p", 5));
  EXPECT_FALSE(on.IsObsolete("k", 3));
  EXPECT_TRUE(on.IsObsolete("k", 4));
  EXPECT_TRUE(on.IsObsolete("k", 8));
  EXPECT_FALSE(on.IsObsolete("k", 9));
}

TEST(CompactedInputs, OnlyYoungerTablesCount) {
  EXPECT_TRUE(Beside({Table(14), Table(9, {From(1, 8)})}).empty());
  EXPECT_TRUE(Beside({Table(9, {From(1, 8)})}).empty()) << "its own range";
  EXPECT_FALSE(Beside({Table(9), Table(10, {From(1, 8)})}).empty());
  LooseTable copy = Table(20);
  copy.made_as = kv::FileNumber{9};
  EXPECT_FALSE(Beside({copy, Table(10, {From(1, 8)})}).empty());
  copy.made_as = kv::FileNumber{10};
  EXPECT_TRUE(Beside({copy, Table(10, {From(1, 8)})}).empty());
}

TEST(CompactedInputs, ARangeThatSharesNoSequenceWithTheTableIsLeftOut) {
  const auto is_left_out = [](kv::Sequence from, kv::Sequence sequence) {
    const Shape shape{.smallest_sequence = 10, .largest_sequence = 20};
    return Beside({Table(9, {}, shape), Table(14, {From(from, sequence)})}).empty();
  };
  EXPECT_TRUE(is_left_out(1, 9));
  EXPECT_FALSE(is_left_out(1, 10));
  EXPECT_FALSE(is_left_out(20, 30));
  EXPECT_TRUE(is_left_out(21, 30));
}

TEST(CompactedInputs, ARangeThatSharesNoKeyWithTheTableIsLeftOut) {
  const auto is_left_out = [](format::Bounds bounds, const Shape& shape) {
    return Beside({Table(9, {}, shape), Table(14, {From(1, 100, std::move(bounds))})}).empty();
  };
  const Shape shape{.smallest = "g", .largest = "p"};
  EXPECT_FALSE(is_left_out({"p", {}}, shape));
  EXPECT_TRUE(is_left_out({"pp", {}}, shape));
  EXPECT_TRUE(is_left_out({{}, "g"}, shape)) << "the upper bound is exclusive";
  EXPECT_FALSE(is_left_out({{}, "gg"}, shape));
  EXPECT_FALSE(is_left_out({"x", "y"}, {.smallest = "", .largest = ""})) << "a table without bounds has any keys";
}

TEST(CompactedInputs, WhereTheYoungerTableHasLostEntriesTheInputsStay) {
  LooseTable younger = Table(14, {From(4, 8)});
  younger.lost_ranges = {{"g", "k"}, {"x", {}}};
  const Beside on({Table(9), younger});
  EXPECT_TRUE(on.IsObsolete("f", 5));
  EXPECT_FALSE(on.IsObsolete("g", 5));
  EXPECT_FALSE(on.IsObsolete("k", 5));
  EXPECT_TRUE(on.IsObsolete("kk", 5));
  EXPECT_FALSE(on.IsObsolete("z", 5));
}

TEST(CompactedInputs, AVersionWithoutSequenceIsNoInputOfARangeAboveTheOldestRun) {
  EXPECT_FALSE(Beside({Table(9), Table(14, {From(1, 8)})}).IsObsolete("k", 0));
  EXPECT_TRUE(Beside({Table(9), Table(14, {From(0, 8)})}).IsObsolete("k", 0));
}

// A version without sequence had at most the sequence of the range in which it lost it.
TEST(CompactedInputs, AVersionThatLostItsSequenceWasNoYoungerThanItsOwnRange) {
  for (const kv::Sequence lost_at : {8, 9}) {
    const Beside on({Table(9, {From(5, lost_at, {"g", "p"})}), Table(14, {From(0, 8)})});
    EXPECT_EQ(on.IsObsolete("k", 0), lost_at <= 8) << lost_at;
    EXPECT_TRUE(on.IsObsolete("x", 0)) << "outside of its own range";
  }
}

TEST(CompactedInputs, ATableOfTheOldestRunIsAnInputAsAWhole) {
  const Shape newer{.smallest_sequence = 10, .largest_sequence = 20};
  const Beside bottom({Table(9, {From(0, 20)}, newer), Table(14, {From(0, 8)})});
  EXPECT_TRUE(bottom.IsObsolete("k", 15));
  const Beside upper({Table(9, {From(10, 20)}, newer), Table(14, {From(0, 8)})});
  EXPECT_TRUE(upper.empty());
}

TEST(CompactedInputs, CutTheTakenPartOutOfATombstone) {
  const Beside on({Table(9), Table(14, {From(4, 8, {"g", "p"})})});
  EXPECT_EQ(on.Live("b", "y", 5), "[b,g)5 [p,y)5 ");
  EXPECT_EQ(on.Live("b", "g", 5), "[b,g)5 ");
  EXPECT_EQ(on.Live("p", "y", 5), "[p,y)5 ");
  EXPECT_EQ(on.Live("g", "p", 5), "");
  EXPECT_EQ(on.Live("h", "i", 5), "");
  EXPECT_EQ(on.Live("b", "y", 3), "[b,y)3 ");
  EXPECT_EQ(on.Live("b", "y", 4), "[b,g)4 [p,y)4 ");
  EXPECT_EQ(on.Live("b", "y", 8), "[b,g)8 [p,y)8 ");
  EXPECT_EQ(on.Live("b", "y", 9), "[b,y)9 ");
}

TEST(CompactedInputs, CutTombstonesByEachRange) {
  const Beside on(
      {Table(9), Table(14, {From(4, 8, {"g", "i"}), From(4, 8, {"m", {}})}), Table(15, {From(1, 9, {{}, "c"})})});
  EXPECT_EQ(on.Live("a", "z", 5), "[c,g)5 [i,m)5 ");
  EXPECT_EQ(Beside({Table(9), Table(14, {From(4, 8)})}).Live("a", "z", 5), "") << "a range of all keys";
}

TEST(CompactedInputs, ATombstoneStaysWhereTheYoungerTableHasLostEntries) {
  LooseTable younger = Table(14, {From(4, 8, {"g", "p"})});
  younger.lost_ranges = {{"i", "k"}, {{}, "h"}, {"o", {}}, {"q", "r"}};
  const Beside on({Table(9), younger});
  EXPECT_EQ(on.Live("b", "y", 5), "[b,g)5 [p,y)5 [i,k)5 [g,h)5 [o,p)5 ");
  EXPECT_EQ(on.Live("j", "jj", 5), "[j,jj)5 ");
}

TEST(CompactedInputs, ATombstoneOfTheOldestRunIsAnInputAsAWhole) {
  const Beside on({Table(9, {From(0, 20)}), Table(14, {From(0, 8, {"g", "p"})})});
  EXPECT_EQ(on.Live("b", "y", 15), "[b,g)15 [p,y)15 ");
}

}  // namespace
}  // namespace mergedb::repair
