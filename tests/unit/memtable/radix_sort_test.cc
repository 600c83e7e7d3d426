// Goal: the radix sort gives the order of std::sort over (key, newest first). The keys are difficult: long
// shared prefixes, equal ranks, zero bytes at the end, many versions, few bits that vary.
#include "memtable/radix_sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "base/random.h"
#include "memtable/sorted_pieces.h"

namespace mergedb::memtable {
namespace {

class Arena {
 public:
  void Add(const std::string& key) {
    const size_t at = bytes_.size();
    bytes_.resize(at + RecordBytes(key.size(), 0));
    WriteRecord(bytes_.data() + at, key, kv::MakeTag(++sequence_, kv::Kind::kPut), "");
    refs_.push_back({0, static_cast<uint32_t>(at / kUnitBytes)});
  }
  // Sorts by ranks of the bytes after the first `skip` and compares the result with std::sort.
  void Check(size_t skip, bool is_exact = false) {
    const Ranking ranking = {bytes_.data(), skip, is_exact};
    for (Ref& ref : refs_) ref.rank = ranking.RankOf(ranking.KeyOf(ref));
    std::vector<Ref> wanted = refs_;
    std::sort(wanted.begin(), wanted.end(), [&](const Ref& a, const Ref& b) {
      const int order = base::CompareBytes(ranking.KeyOf(a), ranking.KeyOf(b));
      return order != 0 ? order < 0 : a.offset > b.offset;
    });
    std::vector<Ref> sorted = refs_;
    std::vector<Ref> scratch(sorted.size());
    RadixSort(ranking, sorted, scratch);
    for (size_t i = 0; i < sorted.size(); ++i) {
      ASSERT_EQ(sorted[i].offset, wanted[i].offset) << "entry " << i << " of " << sorted.size();
      ASSERT_EQ(sorted[i].rank, wanted[i].rank) << "entry " << i;
    }
  }

 private:
  std::string bytes_ = std::string(kUnitBytes, '\0');
  std::vector<Ref> refs_;
  kv::Sequence sequence_ = 0;
};

std::string Digits(uint64_t number, size_t width) {
  std::string digits = std::to_string(number);
  return std::string(width - std::min(width, digits.size()), '0') + digits;
}

TEST(RadixSort, SortsDigitsBehindASharedBeginning) {
  for (const size_t count : {0, 1, 2, 24, 25, 300, 6000}) {
    base::Random random(count);
    Arena arena;
    for (size_t i = 0; i < count; ++i) arena.Add(Digits(random.Uniform(20'000), 16));
    arena.Check(8, /*is_exact=*/true);
    arena.Check(8);
    arena.Check(0);
  }
}

TEST(RadixSort, SortsRandomBytes) {
  base::Random random(2);
  Arena arena;
  for (int i = 0; i < 5000; ++i) {
    std::string key(random.Uniform(24), '\0');
    for (char& c : key) c = static_cast<char>(random.Next());
    arena.Add(key);
  }
  arena.Check(0);
}

TEST(RadixSort, SortsGroupsThatTieForManyBytes) {
  base::Random random(3);
  Arena arena;
  for (int i = 0; i < 5000; ++i) {
    const std::string beginning(1 + random.Uniform(3), 'a');
    arena.Add(beginning + "/a/long/common/part/of/a/path/" + Digits(random.Uniform(900), 9));
  }
  arena.Check(0);
  arena.Check(1);
}

TEST(RadixSort, SortsKeysThatDifferInZeroBytesOnly) {
  base::Random random(4);
  Arena arena;
  for (int i = 0; i < 500; ++i) arena.Add("key" + std::string(random.Uniform(40), '\0'));
  arena.Check(0);
  arena.Check(3);
}

TEST(RadixSort, SortsKeysThatAreEachOthersBeginnings) {
  Arena arena;
  for (size_t i = 0; i < 1200; ++i) arena.Add(std::string(i * 7919 % 1200, 'a'));
  arena.Check(0);
}

TEST(RadixSort, SortsVersionsOfFewKeysNewestFirst) {
  base::Random random(5);
  Arena arena;
  for (int i = 0; i < 3000; ++i) arena.Add("a counter with a name/" + std::to_string(random.Uniform(3)));
  arena.Check(0);
  arena.Check(14, /*is_exact=*/false);
}

TEST(RadixSort, SortsKeysThatVaryInOneBitOfAByte) {
  base::Random random(6);
  Arena arena;
  for (int i = 0; i < 4000; ++i) {
    std::string key(12, '0');
    for (char& c : key) c = static_cast<char>('0' + random.Uniform(2));
    arena.Add(key);
  }
  arena.Check(0);
}

TEST(SortedPieces, CoverAllRecordsInTenPiecesAtMost) {
  base::Random random(8);
  std::string arena(size_t{4} << 20, '\0');
  SortedPieces pieces(arena.data(), 1);
  size_t end = 1;
  kv::Sequence sequence = 0;
  for (int round = 0; round < 60; ++round) {
    for (uint64_t i = random.Uniform(400); i > 0; --i) {
      // The shared prefix gets shorter from round to round.
      const std::string key = Digits(random.Uniform(1 + sequence * sequence), 16);
      WriteRecord(arena.data() + end * kUnitBytes, key, kv::MakeTag(++sequence, kv::Kind::kPut), "");
      end += RecordBytes(16, 0) / kUnitBytes;
    }
    const std::vector<PiecePtr> cut = pieces.Cut(end);
    EXPECT_LE(cut.size(), 10u);
    size_t refs = 0;
    for (const PiecePtr& piece : cut) {
      refs += piece->refs.size();
      const Ranking ranking = piece->RankingIn(arena.data());
      for (size_t i = 0; i < piece->refs.size(); ++i) {
        const Ref& ref = piece->refs[i];
        ASSERT_EQ(ref.rank, ranking.RankOf(ranking.KeyOf(ref)));
        if (i == 0) continue;
        const Ref& before = piece->refs[i - 1];
        const int order = base::CompareBytes(ranking.KeyOf(before), ranking.KeyOf(ref));
        ASSERT_TRUE(order < 0 || (order == 0 && before.offset > ref.offset));
      }
    }
    ASSERT_EQ(refs, sequence);
  }
  const PiecePtr whole = pieces.Whole(end, sequence);
  EXPECT_EQ(whole->refs.size(), sequence);
  EXPECT_EQ(pieces.Cut(end), std::vector<PiecePtr>{whole});
}

}  // namespace
}  // namespace mergedb::memtable
