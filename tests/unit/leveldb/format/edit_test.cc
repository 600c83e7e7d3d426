// Goal: an edit of LevelDB's MANIFEST gives back its facts; unknown tags, impossible levels and cut keys are
// Corruption; the tags of RocksDB are known, and no others; a state lacks no fact that an open needs. Method: edits at
// their limits; then random edits, cut at each byte.
#include "leveldb/format/edit.h"

#include <gtest/gtest.h>

#include "base/coding.h"
#include "base/random.h"
#include "testing/status_matchers.h"

namespace mergedb::leveldb_format {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

std::string KeyOf(std::string_view user_key, kv::Kind kind = kv::Kind::kPut) {
  std::string key;
  AppendInternalKey(&key, user_key, kv::MakeTag(7, kind));
  return key;
}

File FileOf(uint64_t number) {
  return {.number = kv::FileNumber{number}, .bytes = 10 * number, .smallest = KeyOf("a"), .largest = KeyOf("z")};
}

std::string Tagged(uint32_t tag) {
  std::string bytes;
  base::AppendVarint32(&bytes, tag);
  return bytes;
}

TEST(LevelDbVersionEdit, TheLastOfTwoEqualFactsWins) {
  VersionEdit first, second;
  first.comparator = "one";
  first.log = kv::FileNumber{1};
  first.last_sequence = 5;
  second.comparator = "two";
  second.last_sequence = 4;
  ASSERT_OK_AND_ASSIGN(const VersionEdit both, DecodeVersionEdit(EncodeVersionEdit(first) + EncodeVersionEdit(second)));
  EXPECT_EQ(both.comparator, "two");
  EXPECT_EQ(both.log, kv::FileNumber{1});
  EXPECT_EQ(both.last_sequence, 4u);
}

TEST(LevelDbVersionEdit, AnEmptyOneSaysNothing) {
  ASSERT_OK_AND_ASSIGN(const VersionEdit edit, DecodeVersionEdit(""));
  EXPECT_EQ(edit, VersionEdit());
  EXPECT_EQ(EncodeVersionEdit(edit), "");
}

TEST(LevelDbVersionEdit, HasNoLevelBeyondTheLast) {
  for (const uint32_t level : {0u, kLevelsMax - 1, kLevelsMax, UINT32_MAX}) {
    VersionEdit pointers, removed, added;
    pointers.pointers.emplace_back(level, KeyOf("k"));
    removed.removed.emplace(level, kv::FileNumber{3});
    added.added.emplace_back(level, FileOf(3));
    for (const VersionEdit& edit : {pointers, removed, added}) {
      const auto decoded = DecodeVersionEdit(EncodeVersionEdit(edit));
      ASSERT_EQ(decoded.has_value(), level < kLevelsMax) << level;
      if (decoded) { EXPECT_EQ(*decoded, edit); }
    }
  }
}

TEST(LevelDbVersionEdit, BoundsAreInternalKeys) {
  for (std::string File::*const bound : {&File::smallest, &File::largest}) {
    VersionEdit edit;
    edit.added.emplace_back(0, FileOf(3));
    edit.added.front().second.*bound = KeyOf("");
    EXPECT_OK(DecodeVersionEdit(EncodeVersionEdit(edit)));
    edit.added.front().second.*bound = KeyOf("").substr(1);
    EXPECT_THAT(DecodeVersionEdit(EncodeVersionEdit(edit)), StatusIs(Code::kCorruption));
    edit.added.front().second.*bound = KeyOf("k", kv::Kind::kMerge);
    EXPECT_THAT(DecodeVersionEdit(EncodeVersionEdit(edit)), StatusIs(Code::kCorruption));
  }
}

TEST(LevelDbVersionEdit, AnErrorSaysWhereTheFactBegins) {
  VersionEdit edit;
  edit.log = kv::FileNumber{5};  // 2 bytes
  EXPECT_THAT(DecodeVersionEdit(EncodeVersionEdit(edit) + Tagged(8) + "x"),
              StatusIs(Code::kCorruption, HasSubstr("offset 2: expected a fact, found tag 8 and 1 bytes")));
}

TEST(LevelDbInternalKey, NeedsATagOfLevelDb) {
  std::string_view key;
  kv::Tag tag = 0;
  ASSERT_TRUE(SplitInternalKey(KeyOf("key", kv::Kind::kDelete), &key, &tag));
  EXPECT_EQ(tag, kv::MakeTag(7, kv::Kind::kDelete));
  const std::string shortest = KeyOf("");
  ASSERT_TRUE(SplitInternalKey(shortest, &key, &tag));
  EXPECT_EQ(key, "");
  EXPECT_FALSE(SplitInternalKey(shortest.substr(1), &key, &tag));
  EXPECT_FALSE(SplitInternalKey("", &key, &tag));
  EXPECT_FALSE(SplitInternalKey(KeyOf("key", kv::Kind::kMerge), &key, &tag));
  EXPECT_FALSE(SplitInternalKey(std::string(8, '\xff'), &key, &tag));
}

TEST(RocksDbTags, AreThoseThatLevelDbNeverWrites) {
  constexpr std::pair<uint32_t, uint32_t> kRanges[] = {{10, 13},   {100, 103}, {200, 203},
                                                       {300, 300}, {400, 410}, {8192, 8300}};
  for (const auto& [first, last] : kRanges) {
    EXPECT_FALSE(HasRocksDbTag(Tagged(first - 1))) << first;
    EXPECT_TRUE(HasRocksDbTag(Tagged(first))) << first;
    EXPECT_TRUE(HasRocksDbTag(Tagged(last))) << last;
    EXPECT_FALSE(HasRocksDbTag(Tagged(last + 1))) << last;
  }
}

TEST(RocksDbTags, OnlyTheFirstUnknownTagCounts) {
  VersionEdit known;
  known.comparator = std::string(kBytewiseName);
  known.added.emplace_back(0, FileOf(3));
  const std::string facts = EncodeVersionEdit(known);
  EXPECT_FALSE(HasRocksDbTag(""));
  EXPECT_FALSE(HasRocksDbTag(facts));
  EXPECT_TRUE(HasRocksDbTag(facts + Tagged(100)));
  EXPECT_FALSE(HasRocksDbTag(facts + Tagged(8) + Tagged(100)));
  EXPECT_FALSE(HasRocksDbTag(facts.substr(0, facts.size() - 1)));
}

TEST(LevelDbState, AnEditChangesOnlyWhatItNames) {
  State state;
  VersionEdit edit;
  edit.comparator = "c";
  edit.log = kv::FileNumber{1};
  edit.previous_log = kv::FileNumber{2};
  edit.next_file = kv::FileNumber{9};
  edit.last_sequence = 4;
  edit.added.emplace_back(0, FileOf(3));
  edit.added.emplace_back(1, FileOf(3));
  state.Apply(edit);
  VersionEdit next;
  next.log = kv::FileNumber{8};
  next.removed.emplace(1, kv::FileNumber{3});
  state.Apply(next);
  EXPECT_EQ(state.comparator, "c");
  EXPECT_EQ(state.log, kv::FileNumber{8});
  EXPECT_EQ(state.previous_log, kv::FileNumber{2});
  EXPECT_EQ(state.next_file, kv::FileNumber{9});
  EXPECT_EQ(state.last_sequence, 4u);
  EXPECT_EQ(state.levels[0].at(kv::FileNumber{3}), FileOf(3));
  EXPECT_TRUE(state.levels[1].empty());
}

TEST(LevelDbState, TellsWhichFactIsMissing) {
  State whole;
  whole.next_file = kv::FileNumber{9};
  whole.log = kv::FileNumber{1};
  whole.last_sequence = kv::kSequenceMax;
  EXPECT_OK(whole.Check()) << "no comparator and no previous log are needed";
  State state = whole;
  state.next_file.reset();
  EXPECT_THAT(state.Check(), StatusIs(Code::kCorruption, HasSubstr("no next file number")));
  state = whole;
  state.log.reset();
  EXPECT_THAT(state.Check(), StatusIs(Code::kCorruption, HasSubstr("no log number")));
  state = whole;
  state.last_sequence.reset();
  EXPECT_THAT(state.Check(), StatusIs(Code::kCorruption, HasSubstr("no last sequence")));
  state.last_sequence = kv::kSequenceMax + 1;
  EXPECT_THAT(state.Check(), StatusIs(Code::kCorruption, HasSubstr("beyond the largest")));
}

TEST(LevelDbVersionEdit, ComesBackAsItWasAndIsNeverMoreThanItsBytes) {
  constexpr uint64_t kSeed = 12;
  base::Random random(kSeed);
  for (int round = 0; round < 30; ++round) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", round " + std::to_string(round));
    VersionEdit edit;
    if (random.OneIn(2)) edit.comparator = std::string(random.Uniform(200), 'c');
    if (random.OneIn(2)) edit.log = kv::FileNumber{random.Next()};
    if (random.OneIn(2)) edit.previous_log = kv::FileNumber{random.Uniform(3)};
    if (random.OneIn(2)) edit.next_file = kv::FileNumber{random.Next()};
    if (random.OneIn(2)) edit.last_sequence = random.Next();
    for (uint64_t left = random.Uniform(3); left > 0; --left) {
      const auto level = static_cast<uint32_t>(random.Uniform(kLevelsMax));
      edit.pointers.emplace_back(level, KeyOf("pointer"));
      edit.removed.emplace(level, kv::FileNumber{random.Next()});
      edit.added.emplace_back(level, FileOf(random.Uniform(1000)));
    }
    const std::string bytes = EncodeVersionEdit(edit);
    ASSERT_EQ(DecodeVersionEdit(bytes).value(), edit);
    for (size_t size = 0; size < bytes.size(); ++size) {
      const auto cut = DecodeVersionEdit(std::string_view(bytes).substr(0, size));
      if (cut) {
        EXPECT_EQ(EncodeVersionEdit(*cut), bytes.substr(0, size));
      } else {
        EXPECT_THAT(cut, StatusIs(Code::kCorruption)) << size;
      }
    }
  }
}

}  // namespace
}  // namespace mergedb::leveldb_format
