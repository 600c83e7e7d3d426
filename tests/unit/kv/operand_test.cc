// Goal: operands without a row of their own (of programs, under RocksDB's names, of any bytes) are made, checked and
// printed as docs/formats/merge.md says. Operands of built-in types: merge_types_test.cc.
#include "kv/operand.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "kv/merge_operators.h"
#include "mergedb/merge.h"

namespace mergedb::kv {
namespace {

TEST(Operand, HasTheSameBytesUnderTheNamesOfRocksDb) {
  EXPECT_EQ(merge::Named("uint64add", merge::FromU64(7)), merge::AddU64(7));
  EXPECT_EQ(merge::Named("stringappend", "x"), merge::Append("x", {.delimiter = ","}));
  EXPECT_EQ(merge::Named("max", "x"), merge::MaxBytes("x"));
  EXPECT_EQ(merge::Named("put", "x"), merge::Put("x"));
  EXPECT_EQ(merge::Named("bytesxor", "x"), merge::Xor("x"));
  EXPECT_EQ(CheckOperand(merge::Named("uint64add", "1234567")).ToString(),
            "InvalidArgument: add-u64: expected 8 bytes, found 7 bytes");
}

TEST(Operand, OfAnUnknownTypeOrWithABadNameIsRefused) {
  EXPECT_EQ(CheckOperand("").code(), Code::kInvalidArgument);
  for (const std::string_view operand :
       {std::string_view("\0", 1), std::string_view("\x1b"), std::string_view("text")}) {
    EXPECT_EQ(CheckOperand(operand).code(), Code::kNotSupported);
  }
  for (const std::string_view operand :
       {std::string_view("\x1e"), std::string_view("\x1e\0", 2), std::string_view("\x1e\2a")}) {
    EXPECT_EQ(CheckOperand(operand).code(), Code::kInvalidArgument);
  }
  EXPECT_FALSE(CheckOperand(merge::Named("", "x")).ok());
  EXPECT_FALSE(CheckOperand(merge::Named(std::string(256, 'n'), "x")).ok());
  EXPECT_TRUE(CheckOperand(merge::Named(std::string(255, 'n'), "x")).ok());
  EXPECT_EQ(merge::Named("my", "x"), "\x1e\x02myx");
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

TEST(Operand, OfAProgramAndOtherBytesArePrintedToo) {
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
