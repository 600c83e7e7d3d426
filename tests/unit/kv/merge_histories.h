// Random operands and lists of operands, for the tests of merge operators.
#pragma once

#include <string>
#include <vector>

#include "base/random.h"
#include "mergedb/merge.h"

namespace mergedb::testing {

inline std::string RandomBytes(base::Random& random, size_t bytes_max) {
  std::string bytes(random.Uniform(bytes_max + 1), '\0');
  for (char& byte : bytes) byte = static_cast<char>('a' + random.Uniform(6));
  return bytes;
}

// Small numbers, and numbers that overflow when added.
inline int64_t RandomNumber(base::Random& random) {
  switch (random.Uniform(6)) {
    case 0: return INT64_MAX - static_cast<int64_t>(random.Uniform(3));
    case 1: return INT64_MIN + static_cast<int64_t>(random.Uniform(3));
    case 2: return static_cast<int64_t>(random.Next());
    default: return static_cast<int64_t>(random.Uniform(20)) - 10;
  }
}

inline std::string RandomJson(base::Random& random, int depth) {
  if (depth == 0 || random.OneIn(3)) {
    const char* const leaves[] = {"null", "1", "-2.5", "\"s\"", "[1,null,{\"a\":null}]", "true", "{}"};
    return leaves[random.Uniform(7)];
  }
  std::string text = "{";
  for (const char* name : {"a", "b", "c"}) {
    if (random.OneIn(2)) continue;
    if (text.size() > 1) text += ",";
    text += std::string("\"") + name + "\":" + RandomJson(random, depth - 1);
  }
  return text + "}";
}

// The shapes of RandomOperand: shape i < kAppendShapes is the type with id i + 1. Three appends with options and an
// operator that no program has follow.
inline const int kAppendShapes = static_cast<int>(merge::Types().size());
inline const int kOperandShapes = kAppendShapes + 4;

// `shape` chooses the type of the operand and the parameters that two operands must share to be combined.
inline std::string RandomOperand(base::Random& random, int shape) {
  const int64_t number = RandomNumber(random);
  const auto real = static_cast<double>(static_cast<int64_t>(random.Uniform(2000)) - 1000);  // their sums are exact
  std::string bytes = RandomBytes(random, 9);
  if (shape == kAppendShapes) return merge::Append(bytes, {.delimiter = ","});
  if (shape == kAppendShapes + 1) return merge::Append(bytes, {.delimiter = "--", .cap_bytes = 11});
  if (shape == kAppendShapes + 2) {
    return merge::Append(bytes, {.delimiter = ";", .cap_bytes = 7, .keep = merge::Keep::kOldest});
  }
  if (shape > kAppendShapes + 2) return merge::Named("test.absent", bytes);
  const merge::Type type = merge::Types()[static_cast<size_t>(shape)];
  if (type.name == "json") bytes = RandomJson(random, 3);
  const bool is_timestamp = type.argument == merge::Argument::kBytes;
  return *merge::Make(type.id, {.u64 = is_timestamp ? random.Uniform(6) : static_cast<uint64_t>(number),
                                .i64 = number,
                                .f64 = random.OneIn(9) ? -0.0 : real,
                                .bytes = bytes});
}

// Operands for one key: mostly of one shape or of shapes for the same kind of value, sometimes of any shape.
inline std::vector<std::string> RandomOperands(base::Random& random, size_t count) {
  static const std::vector<std::vector<int>> families = {
      {0, 4, 8}, {1, 5, 9}, {2, 5, 9}, {3, 6, 10}, {7, 11, 12, 13, 14}, {15, 20, 21, 22}, {16, 17}, {18}, {19, 15, 7}};
  const std::vector<int>& family = families[random.Uniform(families.size())];
  const bool is_pure = random.OneIn(2);
  const int chosen = family[random.Uniform(family.size())];
  std::vector<std::string> operands;
  for (size_t i = 0; i < count; ++i) {
    int shape = is_pure ? chosen : family[random.Uniform(family.size())];
    if (random.OneIn(40)) shape = static_cast<int>(random.Uniform(static_cast<uint64_t>(kOperandShapes)));
    operands.push_back(RandomOperand(random, shape));
  }
  return operands;
}

// A base for such operands: the bytes of a number, a JSON text, or random bytes.
inline std::string RandomBaseBytes(base::Random& random) {
  switch (random.Uniform(4)) {
    case 0: return merge::FromI64(RandomNumber(random));
    case 1: return merge::FromF64(static_cast<double>(random.Uniform(100)));
    case 2: return RandomJson(random, 3);
    default: return RandomBytes(random, 12);
  }
}

}  // namespace mergedb::testing
