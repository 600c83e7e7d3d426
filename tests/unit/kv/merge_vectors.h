// Vectors of each built-in merge type: operands that a function of include/mergedb/merge.h makes, their bytes, and
// their text; and operands that CheckOperand refuses. FORMAT: the bytes never change.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mergedb/merge.h"

namespace mergedb::testing {

struct MergeVector {
  std::string operand;
  std::string_view hex;
  std::string_view text;
};

struct MergeTypeVectors {
  std::string_view type;
  std::vector<MergeVector> operands;
  std::vector<std::string_view> refused;  // hex
};

// By ascending id.
inline std::vector<MergeTypeVectors> MergeVectors() {
  using namespace merge;
  return {
      {"add-u64",
       {{AddU64(258), "010201000000000000", "add-u64 258"},
        {AddU64(0), "010000000000000000", "add-u64 0"},
        {AddU64(UINT64_MAX), "01ffffffffffffffff", "add-u64 18446744073709551615"}},
       {"01", "0101", "01000000000000000000"}},
      {"add-i64",
       {{AddI64(-2), "02feffffffffffffff", "add-i64 -2"},
        {AddI64(INT64_MAX), "02ffffffffffffff7f", "add-i64 9223372036854775807"},
        {AddI64(INT64_MIN), "020000000000000080", "add-i64 -9223372036854775808"}},
       {"02", "0200000000000000000000", "020000000000000000000000000000000000"}},
      {"add-i64-failing",
       {{AddI64(-2, Overflow::kFail), "03feffffffffffffff", "add-i64-failing -2"},
        {AddI64(5, Overflow::kFail), "030500000000000000", "add-i64-failing 5"},
        {AddI64(INT64_MAX, Overflow::kFail), "03ffffffffffffff7f", "add-i64-failing 9223372036854775807"}},
       {"03", "0300000000000000000000", "0300000000000000"}},
      {"add-f64",
       {{AddF64(1.5), "04000000000000f83f", "add-f64 1.5"},
        {AddF64(-4), "0400000000000010c0", "add-f64 -4"},
        {AddF64(-0.0), "040000000000000080", "add-f64 -0"}},
       {"04", "0400000000000000", "04000000000000000000"}},
      {"max-u64",
       {{MaxU64(1), "050100000000000000", "max-u64 1"},
        {MaxU64(0), "050000000000000000", "max-u64 0"},
        {MaxU64(UINT64_MAX), "05ffffffffffffffff", "max-u64 18446744073709551615"}},
       {"05", "0500000000000000", "05000000000000000000"}},
      {"max-i64",
       {{MaxI64(-1), "06ffffffffffffffff", "max-i64 -1"}, {MaxI64(7), "060700000000000000", "max-i64 7"}},
       {"06", "0600000000000000", "06000000000000000000"}},
      {"max-f64",
       {{MaxF64(-0.0), "070000000000000080", "max-f64 -0"},
        {MaxF64(0.0), "070000000000000000", "max-f64 0"},
        {MaxF64(0.5), "07000000000000e03f", "max-f64 0.5"}},
       {"07", "0700000000000000", "07000000000000000000"}},
      {"max",
       {{MaxBytes("ab"), "086162", "max \"ab\""},
        {MaxBytes(""), "08", "max \"\""},
        {MaxBytes("b"), "0862", "max \"b\""}},
       {}},
      {"min-u64",
       {{MinU64(1), "090100000000000000", "min-u64 1"},
        {MinU64(UINT64_MAX), "09ffffffffffffffff", "min-u64 18446744073709551615"}},
       {"09", "0900000000000000", "09000000000000000000"}},
      {"min-i64",
       {{MinI64(1), "0a0100000000000000", "min-i64 1"}, {MinI64(-1), "0affffffffffffffff", "min-i64 -1"}},
       {"0a", "0a00000000000000", "0a000000000000000000"}},
      {"min-f64",
       {{MinF64(1), "0b000000000000f03f", "min-f64 1"}, {MinF64(-0.0), "0b0000000000000080", "min-f64 -0"}},
       {"0b", "0b00000000000000", "0b000000000000000000"}},
      {"min", {{MinBytes(""), "0c", "min \"\""}, {MinBytes("ab"), "0c6162", "min \"ab\""}}, {}},
      {"and", {{And("\x0f"), "0d0f", "and \"\\x0f\""}, {And("az"), "0d617a", "and \"az\""}}, {}},
      {"or", {{Or("\x0f"), "0e0f", "or \"\\x0f\""}, {Or("az"), "0e617a", "or \"az\""}}, {}},
      {"xor", {{Xor("\x0f"), "0f0f", "xor \"\\x0f\""}, {Xor("az"), "0f617a", "xor \"az\""}}, {}},
      {"append",
       {{Append("ab"), "1000006162", "append \"ab\""},
        {Append(""), "100000", "append \"\""},
        {Append("a", {.delimiter = ", ", .cap_bytes = 300}), "1001ac02022c2061",
         "append \"a\" delimiter \", \" newest 300"},
        {Append("x\n", {.delimiter = ", ", .cap_bytes = 300}), "1001ac02022c20780a",
         "append \"x\\x0a\" delimiter \", \" newest 300"},
        {Append("a", {.cap_bytes = 1, .keep = Keep::kOldest}), "1002010061", "append \"a\" oldest 1"}},
       {"10", "1003", "100001", "100100", "10010000", "1002ffffffffffffffffffff0100", "10000561626364"}},
      {"first",
       {{First(1, "x"), "11010000000000000078", "first at 1 \"x\""},
        {First(1, "y"), "11010000000000000079", "first at 1 \"y\""},
        {First(0, ""), "110000000000000000", "first at 0 \"\""}},
       {"11", "1101020304050607"}},
      {"last",
       {{Last(1, "x"), "12010000000000000078", "last at 1 \"x\""},
        {Last(1, "y"), "12010000000000000079", "last at 1 \"y\""},
        {Last(7, ""), "120700000000000000", "last at 7 \"\""}},
       {"12", "1201020304050607"}},
      {"json",
       {{JsonPatch("{}"), "13007b7d", "json {}"},
        {JsonPatch("{\"a\":5}"), "13007b2261223a357d", "json {\"a\":5}"},
        {JsonPatch("{\"a\":{}}"), "13007b2261223a7b7d7d", "json {\"a\":{}}"}},
       {"13", "1302"}},
      {"put", {{Put("x"), "1478", "put \"x\""}, {Put(""), "14", "put \"\""}}, {}},
  };
}

}  // namespace mergedb::testing
