// Goal: each operator type obeys the laws that folding depends on. For operands that combine: (a b) c = a (b c),
// and their combination has the effect of both, one after the other, on any value. Identity operands change
// nothing. Vectors: fold_test.cc.
#include "kv/merge_operators.h"

#include <gtest/gtest.h>

#include <limits>

#include "testing/seed.h"
#include "tests/unit/kv/merge_histories.h"

namespace mergedb::kv {
namespace {

using testing::RandomOperand;

// The value that a reader sees after `operands` are applied to `base`, or the code of the error.
std::string Result(const Base& base, const std::vector<std::string>& operands) {
  Value value;
  if (!DecodeBase(base, &value).ok()) return "bad base";
  for (const std::string& operand : operands) {
    const std::string_view view = operand;
    if (const Status status = ApplyRun({&view, 1}, &value); !status.ok()) return std::string(CodeName(status.code()));
  }
  std::string stored, scratch;
  std::string_view shown;
  const Kind kind = EncodeValue(value, &stored);
  const Status status = ShowValue({kind, stored}, &scratch, &shown);
  return status.ok() ? "=" + stored + "/" + std::string(shown) : std::string(CodeName(status.code()));
}

bool Combine(const std::string& a, const std::string& b, std::string* combined) {
  const std::string_view both[] = {a, b};
  return CombineRun(both, combined);
}

TEST(MergeOperators, CombiningIsAssociativeAndDoesWhatBothDo) {
  const uint64_t seed = testing::SeedOr(1);
  for (int shape = 0; shape < testing::kOperandShapes - 1; ++shape) {
    base::Random random(seed + static_cast<uint64_t>(shape));
    for (int round = 0; round < 400; ++round) {
      SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed) + " shape " + std::to_string(shape) + " round " +
                   std::to_string(round));
      const std::string a = RandomOperand(random, shape), b = RandomOperand(random, shape),
                        c = RandomOperand(random, shape);
      std::string ab, bc, left, right;
      ASSERT_TRUE(Combine(a, b, &ab) && Combine(b, c, &bc));
      ASSERT_TRUE(CheckOperand(ab).ok());
      ASSERT_TRUE(Combine(ab, c, &left) && Combine(a, bc, &right));
      ASSERT_EQ(left, right);
      std::string bytes = testing::RandomBaseBytes(random);
      if (shape == 3 && bytes.size() == 8) bytes = merge::FromF64(2.5);  // sums need no rounding
      for (const Base& base : {Base{}, Base{Kind::kPut, bytes}}) {
        const std::string one_by_one = Result(base, {a, b, c});
        ASSERT_EQ(Result(base, {left}), one_by_one);
        ASSERT_EQ(Result(base, {ab, c}), one_by_one);
        ASSERT_EQ(Result(base, {a, bc}), one_by_one);
      }
    }
  }
}

TEST(MergeOperators, IdentitiesChangeNothing) {
  base::Random random(1);
  const std::pair<int, std::string> identities[] = {
      {0, merge::AddU64(0)},
      {1, merge::AddI64(0)},
      {2, merge::AddI64(0, merge::Overflow::kFail)},
      {3, merge::AddF64(-0.0)},
      {4, merge::MaxU64(0)},
      {5, merge::MaxI64(INT64_MIN)},
      {7, merge::MaxBytes("")},
      {8, merge::MinU64(UINT64_MAX)},
      {9, merge::MinI64(INT64_MAX)},
      {12, merge::And("")},
      {13, merge::Or("")},
      {14, merge::Xor("")},
      {15, merge::Append("")},
      {17, merge::Last(0, "")},
      {18, merge::JsonPatch("{}")},
  };
  for (const auto& [shape, identity] : identities) {
    for (int round = 0; round < 100; ++round) {
      std::string a = RandomOperand(random, shape);
      if (shape == 17) a = merge::Last(1 + random.Uniform(5), "x");  // the identity is older than any other
      if (shape == 18) a = merge::JsonPatch("{\"a\":{\"b\":1}}");    // the identity patches an object
      EXPECT_EQ(Result({}, {identity, a}), Result({}, {a})) << merge::Print(identity) << " and " << merge::Print(a);
      if (shape == 17) continue;  // as the newer operand it is a version of its own
      EXPECT_EQ(Result({}, {a, identity}), Result({}, {a})) << merge::Print(a) << " and " << merge::Print(identity);
    }
  }
}

TEST(MergeOperators, ExtremesAndBitsDoNotMindTheOrder) {
  base::Random random(1);
  for (const int shape : {0, 1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}) {
    for (int round = 0; round < 100; ++round) {
      const std::string a = RandomOperand(random, shape), b = RandomOperand(random, shape);
      EXPECT_EQ(Result({}, {a, b}), Result({}, {b, a}));
    }
  }
}

TEST(MergeOperators, SumsOfI64AreExactWhateverTheyPassThrough) {
  const std::string most = merge::FromI64(INT64_MAX);
  for (const auto overflow : {merge::Overflow::kSaturate, merge::Overflow::kFail}) {
    const std::string up = merge::AddI64(INT64_MAX, overflow), down = merge::AddI64(INT64_MIN, overflow);
    std::string up_up, all;
    ASSERT_TRUE(Combine(up, up, &up_up) && Combine(up_up, down, &all));
    EXPECT_EQ(Result({Kind::kPut, most}, {up, up, down, down}), Result({Kind::kPut, most}, {all, down}));
    EXPECT_EQ(Result({Kind::kPut, most}, {up, up, down, down}).substr(11), merge::FromI64(INT64_MAX - 2));
  }
  EXPECT_EQ(Result({Kind::kPut, most}, {merge::AddI64(1, merge::Overflow::kFail)}), "MergeFailed");
}

TEST(MergeOperators, ASumBeyond128BitsIsAnErrorAndNotCombined) {
  std::string huge = merge::AddI64(0).substr(0, 1);
  AppendWide(&huge, std::numeric_limits<Wide>::max());
  std::string combined;
  EXPECT_FALSE(Combine(huge, merge::AddI64(1), &combined));
  EXPECT_EQ(Result({}, {huge, merge::AddI64(1)}), "MergeFailed");
}

TEST(MergeOperators, ClashesSayWhichTypesMet) {
  const std::string_view operand = "\x08x";
  Value value;
  const std::string counter = "\x01" + merge::FromU64(1);
  ASSERT_TRUE(DecodeBase({Kind::kMerged, counter}, &value).ok());
  EXPECT_EQ(ApplyRun({&operand, 1}, &value).ToString(), "MergeFailed: max meets u64: a clash of types");
}

TEST(MergeOperators, TypesThatAreNotTypedOnesAreNotApplied) {
  const std::string program = merge::Named("n", "x");
  const std::string_view operand = program;
  Value value;
  EXPECT_EQ(ApplyRun({&operand, 1}, &value).code(), Code::kNotSupported);
}

TEST(MergeOperators, TypedValuesOfAnyBytesAreNoTrouble) {
  base::Random random(2);
  for (int i = 0; i < 100'000; ++i) {
    std::string bytes(random.Uniform(24), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random.Uniform(256));
    if (!bytes.empty()) bytes[0] = static_cast<char>(random.Uniform(10));
    std::string scratch;
    std::string_view shown;
    Value value;
    const Status decoded = DecodeBase({Kind::kMerged, bytes}, &value);
    const Status status = ShowValue({Kind::kMerged, bytes}, &scratch, &shown);
    EXPECT_EQ(decoded.ok(), status.ok() || status.IsMergeFailed());
    EXPECT_TRUE(status.ok() || status.IsMergeFailed() || status.IsCorruption() || status.IsNotSupported());
  }
}

}  // namespace
}  // namespace mergedb::kv
