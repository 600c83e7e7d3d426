// Goal: the pieces of an arena have each record once, sorted; when a tail becomes a piece and when two pieces become
// one is decided at the stated sizes; a seek finds its place in a piece. Method: arenas with as many records as the
// limits say, one less, one more; then random keys compared with a sorted vector. radix_sort_test.cc checks many
// pieces.
#include "memtable/sorted_pieces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/random.h"

namespace mergedb::memtable::sorted_pieces_test {
namespace {

constexpr size_t kLimit = SortedPieces::kPieceRefs;

class Arena {
 public:
  void Add(const std::string& key, kv::Kind kind = kv::Kind::kPut) {
    WriteRecord(bytes_.data() + end_ * kUnitBytes, key, kv::MakeTag(++sequence_, kind), "");
    end_ += RecordBytes(key.size(), 0) / kUnitBytes;
  }
  // Adds `count` keys behind all earlier ones.
  void AddMany(size_t count, const std::string& beginning = "key") {
    for (size_t i = 0; i < count; ++i) Add(beginning + std::to_string(1'000'000 + sequence_));
  }
  std::vector<PiecePtr> Cut() { return pieces_.Cut(end_); }
  PiecePtr Whole() { return pieces_.Whole(end_, sequence_); }
  std::vector<size_t> Sizes() {
    std::vector<size_t> sizes;
    for (const PiecePtr& piece : Cut()) sizes.push_back(piece->refs.size());
    return sizes;
  }
  std::vector<std::string> KeysOf(const PiecePtr& piece) {
    std::vector<std::string> keys;
    const auto it = NewPieceIterator(bytes_.data(), piece);
    for (it->SeekToFirst(); it->Valid(); it->Next()) keys.push_back(kv::PrintKey(it->entry().key, it->entry().tag));
    return keys;
  }
  std::unique_ptr<kv::Iterator> Iterate(const PiecePtr& piece) { return NewPieceIterator(bytes_.data(), piece); }

 private:
  std::string bytes_ = std::string(size_t{256} << 10, '\0');
  uint64_t end_ = 1;
  kv::Sequence sequence_ = 0;
  SortedPieces pieces_{bytes_.data(), 1};
};

using Sizes = std::vector<size_t>;

TEST(SortedPiecesCut, HasTheRecordsSinceTheLastPieceFirst) {
  Arena arena;
  arena.AddMany(kLimit);
  EXPECT_EQ(arena.Sizes(), Sizes{kLimit});
  arena.Add("b");
  arena.Add("a");
  const auto cut = arena.Cut();
  ASSERT_EQ(cut.size(), 2u);
  EXPECT_EQ(arena.KeysOf(cut[0]), (std::vector<std::string>{"a#258,PUT", "b#257,PUT"}));
}

TEST(SortedPiecesCut, OfNothingHasNoPiece) {
  Arena arena;
  EXPECT_EQ(arena.Sizes(), Sizes{});
  arena.Add("only");
  EXPECT_EQ(arena.Sizes(), Sizes{1});
  EXPECT_EQ(arena.Cut(), arena.Cut()) << "a cut at the same end is not made again";
}

TEST(SortedPiecesCut, ATailBecomesAPieceAtItsLimit) {
  for (const size_t count : {kLimit - 1, kLimit, kLimit + 1}) {
    Arena arena;
    arena.AddMany(count);
    EXPECT_EQ(arena.Sizes(), Sizes{count});
    arena.AddMany(1);
    EXPECT_EQ(arena.Sizes(), count < kLimit ? Sizes{count + 1} : (Sizes{1, count})) << count;
  }
}

TEST(SortedPiecesCut, APieceStaysIfItIsTwiceAsLongAsTheNext) {
  for (const size_t elder : {2 * kLimit - 1, 2 * kLimit, 2 * kLimit + 1}) {
    Arena arena;
    arena.AddMany(elder);
    const auto before = arena.Cut();
    arena.AddMany(kLimit);
    EXPECT_EQ(arena.Sizes(), elder < 2 * kLimit ? Sizes{elder + kLimit} : (Sizes{kLimit, elder})) << elder;
    EXPECT_EQ(before.front()->refs.size(), elder) << "pieces of earlier cuts do not change";
  }
}

TEST(SortedPiecesCut, RangeDeletesHaveNoPlaceButCount) {
  for (const size_t deletes : {kLimit - 2, kLimit - 1}) {
    Arena arena;
    for (size_t i = 1; i < deletes; ++i) arena.Add("d", kv::Kind::kRangeDelete);
    arena.AddMany(1);
    arena.Add("d", kv::Kind::kRangeDelete);
    EXPECT_EQ(arena.Sizes(), Sizes{1});
    arena.AddMany(1);
    EXPECT_EQ(arena.Sizes(), deletes + 1 < kLimit ? Sizes{2} : (Sizes{1, 1})) << deletes;
  }
}

TEST(SortedPiecesCut, RangeDeletesAloneMakeNoPiece) {
  Arena arena;
  arena.Add("d", kv::Kind::kRangeDelete);
  EXPECT_EQ(arena.Sizes(), Sizes{});
  arena.Add("a");
  EXPECT_EQ(arena.Sizes(), Sizes{1});
}

TEST(SortedPiecesCut, KeysWithAShorterSharedBeginningAreMergedInOrder) {
  Arena arena;
  arena.AddMany(kLimit, "a long shared beginning/and more/");
  EXPECT_GT(arena.Cut().front()->skip, 30u);
  arena.AddMany(kLimit, "a long other beginning/");
  const auto cut = arena.Cut();
  ASSERT_EQ(cut.size(), 1u);
  EXPECT_EQ(cut.front()->skip, 7u);
  const std::vector<std::string> keys = arena.KeysOf(cut.front());
  EXPECT_EQ(keys.size(), 2 * kLimit);
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
}

TEST(SortedPiecesWhole, IsOnePieceUntilThereIsMore) {
  Arena arena;
  arena.AddMany(2 * kLimit);
  (void)arena.Cut();
  arena.AddMany(kLimit);
  ASSERT_EQ(arena.Cut().size(), 2u);
  const PiecePtr whole = arena.Whole();
  EXPECT_EQ(whole->refs.size(), 3 * kLimit);
  EXPECT_EQ(arena.Whole(), whole);
  EXPECT_EQ(arena.Cut(), std::vector<PiecePtr>{whole});
  arena.AddMany(1);
  EXPECT_EQ(arena.Whole()->refs.size(), 3 * kLimit + 1);
}

TEST(PieceIterator, AnEmptyPieceHasNoEntry) {
  Arena arena;
  arena.Add("d", kv::Kind::kRangeDelete);
  const auto it = arena.Iterate(arena.Whole());
  it->SeekToFirst();
  EXPECT_FALSE(it->Valid());
  it->SeekToLast();
  EXPECT_FALSE(it->Valid());
  it->Seek("d", kv::kTagMax);
  EXPECT_FALSE(it->Valid());
}

TEST(PieceIterator, SeeksBelowWithinAndAboveTheSharedBeginning) {
  Arena arena;
  for (const char* key : {"shared/beginning/0001", "shared/beginning/0003", "shared/beginning/0003"}) arena.Add(key);
  const PiecePtr piece = arena.Whole();
  ASSERT_GT(piece->skip, 10u);
  const auto it = arena.Iterate(piece);
  const auto found = [&](std::string_view key, kv::Sequence sequence) {
    it->Seek(key, kv::SeekTag(sequence));
    return it->Valid() ? kv::PrintKey(it->entry().key, it->entry().tag) : "none";
  };
  EXPECT_EQ(found("", 9), "shared/beginning/0001#1,PUT");
  EXPECT_EQ(found("shared", 9), "shared/beginning/0001#1,PUT");
  EXPECT_EQ(found("shared/a", 9), "shared/beginning/0001#1,PUT");
  EXPECT_EQ(found("shared/z", 9), "none");
  EXPECT_EQ(found("shared/beginning/0001", 0), "shared/beginning/0003#3,PUT");
  EXPECT_EQ(found("shared/beginning/0002", 9), "shared/beginning/0003#3,PUT");
  EXPECT_EQ(found("shared/beginning/0003", 2), "shared/beginning/0003#2,PUT");
  EXPECT_EQ(found("shared/beginning/0003", 1), "none");
  EXPECT_EQ(found("shared/beginning/00030", 9), "none");
}

TEST(PieceIterator, EndsAtBothEnds) {
  Arena arena;
  arena.AddMany(30);
  const auto it = arena.Iterate(arena.Whole());
  size_t forward = 0, backward = 0;
  for (it->SeekToFirst(); it->Valid(); it->Next()) ++forward;
  for (it->SeekToLast(); it->Valid(); it->Prev()) ++backward;
  EXPECT_EQ(forward, 30u);
  EXPECT_EQ(backward, 30u);
}

TEST(PieceIterator, SeeksAsASortedVectorWould) {
  constexpr uint64_t kSeed = 15;
  base::Random random(kSeed);
  for (int round = 0; round < 20; ++round) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", round " + std::to_string(round));
    const std::string shared(random.Uniform(12), 's');
    const auto random_key = [&] {
      std::string key = shared;
      for (uint64_t left = random.Uniform(11); left > 0; --left) key += "\0a\xff"[random.Uniform(3)];
      return key;
    };
    Arena arena;
    std::set<std::string> keys;
    for (uint64_t left = 1 + random.Uniform(300); left > 0; --left) arena.Add(*keys.insert(random_key()).first);
    const auto it = arena.Iterate(arena.Whole());
    for (int i = 0; i < 50; ++i) {
      std::string key = random_key();
      if (random.OneIn(4)) key.resize(key.size() / 2);
      const auto wanted = keys.lower_bound(key);
      it->Seek(key, kv::kTagMax);
      ASSERT_EQ(it->Valid(), wanted != keys.end());
      if (it->Valid()) { ASSERT_EQ(it->entry().key, *wanted); }
    }
  }
}

}  // namespace
}  // namespace mergedb::memtable::sorted_pieces_test
