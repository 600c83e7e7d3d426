// Goal: a batch of LevelDB shows its operations with their sequences; one that is cut, counts wrongly or has foreign
// bytes is Corruption, after the operations in front of the damage. Method: batches at their limits; then random
// batches, cut at each byte.
#include "leveldb/format/batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/coding.h"
#include "base/random.h"
#include "testing/status_matchers.h"

namespace mergedb::leveldb_format {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

struct Operation {
  kv::Sequence sequence = 0;
  kv::Kind kind = kv::Kind::kPut;
  std::string key, value;
  friend bool operator==(const Operation&, const Operation&) = default;
};

std::string Header(kv::Sequence first, uint32_t count) {
  std::string batch;
  AppendBatchHeader(&batch, first, count);
  return batch;
}

Status Read(std::string_view batch, std::vector<Operation>* shown) {
  BatchReader reader(batch);
  while (reader.Next())
    shown->push_back({reader.sequence(), reader.kind(), std::string(reader.key()), std::string(reader.value())});
  EXPECT_FALSE(reader.Next()) << "goes on behind its end";
  return reader.status();
}

Status StatusOf(std::string_view batch) {
  std::vector<Operation> shown;
  return Read(batch, &shown);
}

TEST(LevelDbBatchReader, NumbersOperationsFromTheFirstSequence) {
  std::string batch = Header(41, 3);
  AppendOperation(&batch, kv::Kind::kPut, "a", "1");
  AppendOperation(&batch, kv::Kind::kDelete, "b", "");
  AppendOperation(&batch, kv::Kind::kPut, "", "");
  std::vector<Operation> shown;
  ASSERT_OK(Read(batch, &shown));
  EXPECT_EQ(shown,
            (std::vector<Operation>{
                {41, kv::Kind::kPut, "a", "1"}, {42, kv::Kind::kDelete, "b", ""}, {43, kv::Kind::kPut, "", ""}}));
}

TEST(LevelDbBatchReader, NeedsAWholeHeaderAndNoMore) {
  EXPECT_OK(StatusOf(Header(1, 0)));
  EXPECT_THAT(StatusOf(Header(1, 0).substr(0, kBatchHeaderBytes - 1)), StatusIs(Code::kCorruption, HasSubstr("11")));
  EXPECT_THAT(StatusOf(""), StatusIs(Code::kCorruption));
}

TEST(LevelDbBatchReader, TheSequenceBehindItsOperationsIsWithinTheLimit) {
  std::string operation;
  AppendOperation(&operation, kv::Kind::kDelete, "k", "");
  EXPECT_OK(StatusOf(Header(kv::kSequenceMax, 0)));
  EXPECT_OK(StatusOf(Header(kv::kSequenceMax - 1, 1) + operation));
  EXPECT_THAT(StatusOf(Header(kv::kSequenceMax, 1) + operation), StatusIs(Code::kCorruption, HasSubstr("beyond")));
  EXPECT_THAT(StatusOf(Header(kv::kSequenceMax + 1, 0)), StatusIs(Code::kCorruption, HasSubstr("beyond")));
  EXPECT_THAT(StatusOf(Header(UINT64_MAX, UINT32_MAX)), StatusIs(Code::kCorruption, HasSubstr("beyond")));
}

TEST(LevelDbBatchReader, CountsExactly) {
  std::string operations;
  for (int i = 0; i < 3; ++i) AppendOperation(&operations, kv::Kind::kPut, "k", "v");
  EXPECT_THAT(StatusOf(Header(1, 2) + operations),
              StatusIs(Code::kCorruption, HasSubstr("more operations than the 2")));
  EXPECT_OK(StatusOf(Header(1, 3) + operations));
  EXPECT_THAT(StatusOf(Header(1, 4) + operations), StatusIs(Code::kCorruption, HasSubstr("says that it has 4")));
}

TEST(LevelDbBatchReader, RefusesKindsThatLevelDbDoesNotHave) {
  for (int kind = 2; kind < 256; ++kind) {
    const std::string batch = Header(1, 1) + static_cast<char>(kind) + "\1k\1v";
    EXPECT_THAT(StatusOf(batch), StatusIs(Code::kCorruption, HasSubstr("kind " + std::to_string(kind)))) << kind;
  }
}

TEST(LevelDbBatchReader, RefusesLengthsBeyondItsBytes) {
  const auto put = [](std::string_view lengths_and_bytes) {
    return Header(1, 1) + '\1' + std::string(lengths_and_bytes);
  };
  EXPECT_OK(StatusOf(put("\2kk\2vv")));
  EXPECT_THAT(StatusOf(put("\2kk\3vv")), StatusIs(Code::kCorruption, HasSubstr("cut short")));
  EXPECT_THAT(StatusOf(put("\3kk")), StatusIs(Code::kCorruption, HasSubstr("cut short")));
  EXPECT_THAT(StatusOf(put("\2kk")), StatusIs(Code::kCorruption, HasSubstr("cut short")));
  EXPECT_THAT(StatusOf(put("\xff\xff\xff\xff\xffkk")), StatusIs(Code::kCorruption, HasSubstr("cut short")));
  EXPECT_THAT(StatusOf(put("\xff\xff\xff\xff\x0fkk")), StatusIs(Code::kCorruption, HasSubstr("cut short")));
}

TEST(LevelDbBatchReader, ACutBatchShowsItsWholeOperations) {
  constexpr uint64_t kSeed = 11;
  base::Random random(kSeed);
  for (int round = 0; round < 10; ++round) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", round " + std::to_string(round));
    std::vector<Operation> written(random.Uniform(4));
    std::string batch = Header(random.Uniform(1000), static_cast<uint32_t>(written.size()));
    std::vector<size_t> ends;
    kv::Sequence sequence = base::LoadFixed64(batch.data());
    for (Operation& each : written) {
      each = {sequence++, kv::Kind::kDelete, std::string(random.Uniform(140), 'k'), ""};
      if (random.OneIn(2)) each = {each.sequence, kv::Kind::kPut, each.key, std::string(random.Uniform(140), 'v')};
      AppendOperation(&batch, each.kind, each.key, each.value);
      ends.push_back(batch.size());
    }
    for (size_t size = 0; size <= batch.size(); ++size) {
      std::vector<Operation> shown;
      ASSERT_EQ(Read(std::string_view(batch).substr(0, size), &shown).ok(), size == batch.size()) << size;
      const auto whole = static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), size) - ends.begin());
      ASSERT_EQ(shown, std::vector<Operation>(written.begin(), written.begin() + static_cast<long>(whole))) << size;
    }
  }
}

}  // namespace
}  // namespace mergedb::leveldb_format
