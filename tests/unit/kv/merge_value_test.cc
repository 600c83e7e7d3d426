// Goal: a stored value comes back as it was, in the smallest form; a state of a wrong size is Corruption; a reader sees
// sums within an int64. Method: one value of each family, and states and sums around each limit.
#include "kv/merge_value.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace mergedb::kv {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();

struct Stored {
  Kind kind;
  std::string bytes;
};

Stored Store(const Value& value) {
  Stored stored;
  stored.kind = EncodeValue(value, &stored.bytes);
  return stored;
}

Value Back(const Stored& stored) {
  Value value;
  const Status status = DecodeBase({stored.kind, stored.bytes}, &value);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return value;
}

Value Number(Family family, Wide number) { return {.family = family, .number = number}; }

TEST(MergeValue, NothingAndBytesAreOrdinaryVersions) {
  EXPECT_EQ(Store({}).kind, Kind::kDelete);
  const Stored bytes = Store({.family = Family::kBytes, .bytes = "abc"});
  EXPECT_EQ(bytes.kind, Kind::kPut);
  EXPECT_EQ(bytes.bytes, "abc");
  EXPECT_EQ(Back(bytes).bytes, "abc");
  EXPECT_EQ(Back(bytes).family, Family::kBytes);
  EXPECT_EQ(Back({Kind::kDelete, ""}).family, Family::kNothing);
}

TEST(MergeValue, NumbersComeBackUpToTheirLimits) {
  for (const uint64_t number : {uint64_t{0}, uint64_t{1} << 63, std::numeric_limits<uint64_t>::max()}) {
    EXPECT_TRUE(Back(Store(Number(Family::kU64, number))).number == static_cast<Wide>(number)) << number;
  }
  for (const int64_t number : {int64_t{0}, int64_t{-1}, kLeast, kMost}) {
    EXPECT_TRUE(Back(Store(Number(Family::kI64, number))).number == static_cast<Wide>(number)) << number;
  }
  EXPECT_EQ(Back(Store({.family = Family::kF64, .real = -0.5})).real, -0.5);
}

TEST(MergeValue, SumsTakeEightBytesWhileTheyFit) {
  for (const Family family : {Family::kI64Saturating, Family::kI64Failing}) {
    const auto bytes = [&](Wide sum) {
      const Stored stored = Store(Number(family, sum));
      EXPECT_TRUE(Back(stored).number == sum);
      return stored.bytes.size() - 1;
    };
    EXPECT_EQ(bytes(kMost), 8u);
    EXPECT_EQ(bytes(Wide{kMost} + 1), 16u);
    EXPECT_EQ(bytes(kLeast), 8u);
    EXPECT_EQ(bytes(Wide{kLeast} - 1), 16u);
  }
}

TEST(MergeValue, StampedBytesComeBackWithTheirTime) {
  const Value value = Back(Store({.family = Family::kStamped, .timestamp = UINT64_MAX - 1, .bytes = "abc"}));
  EXPECT_EQ(value.timestamp, UINT64_MAX - 1);
  EXPECT_EQ(value.bytes, "abc");
  EXPECT_EQ(Back(Store({.family = Family::kStamped, .timestamp = 3})).bytes, "") << "no bytes at all";
}

// The value that a reader sees, or the code of the error.
std::string Shown(const Stored& stored) {
  std::string scratch;
  std::string_view shown;
  const Status status = ShowValue({stored.kind, stored.bytes}, &scratch, &shown);
  return status.ok() ? std::string(shown) : std::string(CodeName(status.code()));
}

std::string ShownSum(Family family, Wide sum) {
  const std::string shown = Shown(Store(Number(family, sum)));
  if (shown.size() != 8) return shown;
  return std::to_string(static_cast<int64_t>(Back({Kind::kMerged, static_cast<char>(Family::kI64) + shown}).number));
}

TEST(MergeValue, AReaderSeesTheNearestInt64OfASaturatingSumOrAnError) {
  for (const Wide inside : {Wide{kLeast}, Wide{-1}, Wide{0}, Wide{kMost}}) {
    const std::string text = std::to_string(static_cast<int64_t>(inside));
    EXPECT_EQ(ShownSum(Family::kI64Saturating, inside), text);
    EXPECT_EQ(ShownSum(Family::kI64Failing, inside), text);
  }
  EXPECT_EQ(ShownSum(Family::kI64Saturating, Wide{kMost} + 1), std::to_string(kMost));
  EXPECT_EQ(ShownSum(Family::kI64Saturating, Wide{kLeast} - 1), std::to_string(kLeast));
  EXPECT_EQ(ShownSum(Family::kI64Failing, Wide{kMost} + 1), CodeName(Code::kMergeFailed));
  EXPECT_EQ(ShownSum(Family::kI64Failing, Wide{kLeast} - 1), CodeName(Code::kMergeFailed));
}

TEST(MergeValue, AReaderSeesNeitherFamilyNorTime) {
  EXPECT_EQ(Shown({Kind::kPut, "abc"}), "abc");
  EXPECT_EQ(Shown(Store({.family = Family::kJson, .bytes = "[1]"})), "[1]");
  EXPECT_EQ(Shown(Store({.family = Family::kStamped, .timestamp = 9, .bytes = "abc"})), "abc");
  EXPECT_EQ(Shown(Store(Number(Family::kU64, 0x41))), std::string("A\0\0\0\0\0\0\0", 8));
}

// Decoding and showing refuse the same states.
TEST(MergeValue, AStateOfAWrongSizeIsCorruption) {
  const auto code = [](int family, size_t state_bytes) {
    const std::string bytes = std::string(1, static_cast<char>(family)) + std::string(state_bytes, '\0');
    std::string scratch;
    std::string_view shown;
    Value value;
    const Status decoded = DecodeBase({Kind::kMerged, bytes}, &value);
    EXPECT_EQ(ShowValue({Kind::kMerged, bytes}, &scratch, &shown).code(), decoded.code())
        << family << " " << state_bytes;
    return decoded.code();
  };
  for (const Family family : {Family::kU64, Family::kI64, Family::kF64}) {
    for (const size_t bytes : {0, 7, 9, 16})
      EXPECT_EQ(code(static_cast<int>(family), bytes), Code::kCorruption) << bytes;
    EXPECT_EQ(code(static_cast<int>(family), 8), Code::kOk);
  }
  for (const Family family : {Family::kI64Saturating, Family::kI64Failing}) {
    for (const size_t bytes : {0, 7, 9, 15, 17}) EXPECT_EQ(code(static_cast<int>(family), bytes), Code::kCorruption);
    EXPECT_EQ(code(static_cast<int>(family), 8), Code::kOk);
  }
  EXPECT_EQ(code(static_cast<int>(Family::kStamped), 7), Code::kCorruption);
  EXPECT_EQ(code(static_cast<int>(Family::kStamped), 8), Code::kOk);
  EXPECT_EQ(code(static_cast<int>(Family::kJson), 0), Code::kOk);
  EXPECT_EQ(code(0, 8), Code::kNotSupported) << "nothing and bytes are never stored as a family";
  EXPECT_EQ(code(0x80, 8), Code::kNotSupported);
  EXPECT_EQ(code(8, 8), Code::kNotSupported) << "of a newer version";
  std::string scratch;
  std::string_view shown;
  Value value;
  EXPECT_EQ(DecodeBase({Kind::kMerged, ""}, &value).code(), Code::kCorruption);
  EXPECT_EQ(ShowValue({Kind::kMerged, ""}, &scratch, &shown).code(), Code::kCorruption);
}

}  // namespace
}  // namespace mergedb::kv
