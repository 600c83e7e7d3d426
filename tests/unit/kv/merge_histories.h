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

inline constexpr int kOperandShapes = 24;  // the shapes of RandomOperand

// `shape` chooses the type of the operand and the parameters that two operands must share to be combined.
inline std::string RandomOperand(base::Random& random, int shape) {
  const int64_t number = RandomNumber(random);
  const auto real = static_cast<double>(static_cast<int64_t>(random.Uniform(2000)) - 1000);  // their sums are exact
  const std::string bytes = RandomBytes(random, 9);
  switch (shape) {
    case 0: return merge::AddU64(static_cast<uint64_t>(number));
    case 1: return merge::AddI64(number);
    case 2: return merge::AddI64(number, merge::Overflow::kFail);
    case 3: return merge::AddF64(real);
    case 4: return merge::MaxU64(static_cast<uint64_t>(number));
    case 5: return merge::MaxI64(number);
    case 6: return merge::MaxF64(random.OneIn(9) ? -0.0 : real);
    case 7: return merge::MaxBytes(bytes);
    case 8: return merge::MinU64(static_cast<uint64_t>(number));
    case 9: return merge::MinI64(number);
    case 10: return merge::MinF64(random.OneIn(9) ? 0.0 : real);
    case 11: return merge::MinBytes(bytes);
    case 12: return merge::And(bytes);
    case 13: return merge::Or(bytes);
    case 14: return merge::Xor(bytes);
    case 15: return merge::Append(bytes);
    case 16: return merge::Append(bytes, {.delimiter = ","});
    case 17: return merge::Append(bytes, {.delimiter = "--", .cap_bytes = 11});
    case 18: return merge::Append(bytes, {.delimiter = ";", .cap_bytes = 7, .keep = merge::Keep::kOldest});
    case 19: return merge::First(random.Uniform(6), bytes);
    case 20: return merge::Last(random.Uniform(6), bytes);
    case 21: return merge::JsonPatch(RandomJson(random, 3));
    case 22: return merge::Put(bytes);
    default: return merge::Named("test.absent", bytes);
  }
}

// Operands for one key: mostly of one shape or of shapes for the same kind of value, sometimes of any shape.
inline std::vector<std::string> RandomOperands(base::Random& random, size_t count) {
  static const std::vector<std::vector<int>> families = {
      {0, 4, 8}, {1, 5, 9}, {2, 5, 9}, {3, 6, 10}, {7, 11, 12, 13, 14}, {15, 16, 17, 18}, {19, 20}, {21}, {22, 15, 7}};
  const std::vector<int>& family = families[random.Uniform(families.size())];
  const bool is_pure = random.OneIn(2);
  const int chosen = family[random.Uniform(family.size())];
  std::vector<std::string> operands;
  for (size_t i = 0; i < count; ++i) {
    int shape = is_pure ? chosen : family[random.Uniform(family.size())];
    if (random.OneIn(40)) shape = static_cast<int>(random.Uniform(kOperandShapes));
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
