// Goal: operands have the bytes of docs/formats/merge.md, and all other bytes are refused.
#include "kv/operand.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/random.h"
#include "mergedb/merge.h"

namespace mergedb::kv {
namespace {

std::string Hex(const std::string& operand) { return base::ToHex(operand); }

TEST(Operand, HasTheBytesThatTheFormatSays) {
  EXPECT_EQ(Hex(merge::AddU64(258)), "010201000000000000");
  EXPECT_EQ(Hex(merge::AddI64(-2)), "02feffffffffffffff");
  EXPECT_EQ(Hex(merge::AddI64(-2, merge::Overflow::kFail)), "03feffffffffffffff");
  EXPECT_EQ(Hex(merge::AddF64(1.5)), "04000000000000f83f");
  EXPECT_EQ(Hex(merge::MaxU64(1)), "050100000000000000");
  EXPECT_EQ(Hex(merge::MaxI64(-1)), "06ffffffffffffffff");
  EXPECT_EQ(Hex(merge::MaxF64(-0.0)), "070000000000000080");
  EXPECT_EQ(Hex(merge::MaxBytes("ab")), "086162");
  EXPECT_EQ(Hex(merge::MinU64(1)), "090100000000000000");
  EXPECT_EQ(Hex(merge::MinI64(1)), "0a0100000000000000");
  EXPECT_EQ(Hex(merge::MinF64(1)), "0b000000000000f03f");
  EXPECT_EQ(Hex(merge::MinBytes("")), "0c");
  EXPECT_EQ(Hex(merge::And("\x0f")), "0d0f");
  EXPECT_EQ(Hex(merge::Or("\x0f")), "0e0f");
  EXPECT_EQ(Hex(merge::Xor("\x0f")), "0f0f");
  EXPECT_EQ(Hex(merge::Append("ab")), "1000006162");
  EXPECT_EQ(Hex(merge::Append("a", {.delimiter = ", ", .cap_bytes = 300})), "1001ac02022c2061");
  EXPECT_EQ(Hex(merge::Append("a", {.cap_bytes = 1, .keep = merge::Keep::kOldest})), "1002010061");
  EXPECT_EQ(Hex(merge::First(1, "x")), "11010000000000000078");
  EXPECT_EQ(Hex(merge::Last(1, "x")), "12010000000000000078");
  EXPECT_EQ(Hex(merge::JsonPatch("{}")), "13007b7d");
  EXPECT_EQ(Hex(merge::Put("x")), "1478");
  EXPECT_EQ(Hex(merge::Named("my", "x")), "1e026d7978");
}

TEST(Operand, HasTheSameBytesUnderTheNamesOfRocksDb) {
  EXPECT_EQ(merge::Named("uint64add", merge::FromU64(7)), merge::AddU64(7));
  EXPECT_EQ(merge::Named("stringappend", "x"), merge::Append("x", {.delimiter = ","}));
  EXPECT_EQ(merge::Named("max", "x"), merge::MaxBytes("x"));
  EXPECT_EQ(merge::Named("put", "x"), merge::Put("x"));
  EXPECT_EQ(merge::Named("bytesxor", "x"), merge::Xor("x"));
  EXPECT_EQ(CheckOperand(merge::Named("uint64add", "1234567")).ToString(),
            "InvalidArgument: add-u64: expected 8 bytes, found 7 bytes");
}

TEST(Operand, ThatBreaksTheFormatIsRefused) {
  for (const std::string_view hex : {"", "00", "01", "0101", "01000000000000000000", "0200000000000000000000", "10",
                                     "1003", "100001", "100100", "10010000", "1002ffffffffffffffffffff0100",
                                     "10000561626364", "1101020304050607", "13", "1302", "1e", "1e00", "1e0261"}) {
    std::string operand;
    ASSERT_TRUE(base::FromHex(hex, &operand));
    EXPECT_EQ(CheckOperand(operand).code(),
              operand == std::string(1, '\0') ? Code::kNotSupported : Code::kInvalidArgument)
        << hex;
  }
  EXPECT_TRUE(CheckOperand("\x1b").IsNotSupported());
  EXPECT_TRUE(CheckOperand("some text").IsNotSupported());
  EXPECT_FALSE(CheckOperand(merge::Named("", "x")).ok());
  EXPECT_FALSE(CheckOperand(merge::Named(std::string(256, 'n'), "x")).ok());
  EXPECT_TRUE(CheckOperand(merge::Named(std::string(255, 'n'), "x")).ok());
}

TEST(Operand, OfAnyBytesIsNoTrouble) {
  base::Random random(1);
  for (int i = 0; i < 200'000; ++i) {
    std::string operand(random.Uniform(40), '\0');
    for (char& byte : operand) byte = static_cast<char>(random.Uniform(256));
    if (!operand.empty() && random.OneIn(2)) operand[0] = static_cast<char>(random.Uniform(32));
    (void)CheckOperand(operand);
    (void)merge::Print(operand);
  }
}

TEST(Operand, IsPrintedForPeople) {
  EXPECT_EQ(merge::Print(merge::AddU64(5)), "add-u64 5");
  EXPECT_EQ(merge::Print(merge::AddI64(-5, merge::Overflow::kFail)), "add-i64-failing -5");
  EXPECT_EQ(merge::Print(merge::AddF64(0.1)), "add-f64 0.1");
  EXPECT_EQ(merge::Print(merge::Append("x\n", {.delimiter = ",", .cap_bytes = 9})),
            "append \"x\\x0a\" delimiter \",\" newest 9");
  EXPECT_EQ(merge::Print(merge::Last(7, "x")), "last at 7 \"x\"");
  EXPECT_EQ(merge::Print(merge::Named("mine", "x")), "operator \"mine\" \"x\"");
  EXPECT_EQ(merge::Print("text"), "no operand: 74657874");
}

TEST(Operand, WideNumbersSurviveTheirEncoding) {
  const Wide large = static_cast<Wide>(1) << 100;
  for (const Wide number :
       {Wide{0}, Wide{-1}, Wide{INT64_MAX}, Wide{INT64_MAX} + 1, Wide{INT64_MIN}, Wide{INT64_MIN} - 1, large, -large}) {
    std::string bytes;
    AppendWide(&bytes, number);
    Wide back = 7;
    ASSERT_TRUE(ParseWide(bytes, &back));
    EXPECT_TRUE(back == number);
    EXPECT_EQ(bytes.size(), number >= INT64_MIN && number <= INT64_MAX ? 8u : 16u);
  }
}

TEST(Operand, NumbersOfValuesComeAndGo) {
  EXPECT_EQ(merge::ToU64(merge::FromU64(1'000'000'007)), 1'000'000'007u);
  EXPECT_EQ(merge::ToI64(merge::FromI64(-3)), -3);
  EXPECT_EQ(merge::ToF64(merge::FromF64(-0.5)), -0.5);
  EXPECT_EQ(merge::ToU64("1234567"), std::nullopt);
}

}  // namespace
}  // namespace mergedb::kv
