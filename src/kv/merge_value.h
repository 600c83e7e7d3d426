// The value of a key while operands are applied to it. A value belongs to a family (kv/operand.h), which decides
// which operands can be applied.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kv/key.h"
#include "kv/operand.h"
#include "mergedb/status.h"

namespace mergedb::kv {

// The newest version of a key that is no operand: kDelete is nothing, kPut is bytes, kMerged is a typed value.
struct Base {
  Kind kind = Kind::kDelete;
  std::string_view bytes = {};
};

// A decoded value. Its family decides which members have a meaning.
struct Value {
  Family family = Family::kNothing;
  Wide number = 0;         // u64, i64 and its sums
  double real = 0;         // f64
  uint64_t timestamp = 0;  // stamped
  std::string bytes = {};  // bytes, JSON, stamped
};

// Makes *value the number of `family` that has these 64 bits.
void SetNumber(Family family, uint64_t bits, Value* value);

// Corruption: a typed value breaks the format. NotSupported: this version does not know its family.
Status DecodeBase(const Base& base, Value* value);
// Encodes the value as it is stored: *bytes, and the kind of the version.
Kind EncodeValue(const Value& value, std::string* bytes);
// Appends the value without its family.
void AppendState(const Value& value, std::string* out);

// The value as a reader sees it. *shown may be a view of *scratch. MergeFailed: a failing sum does not fit an int64.
Status ShowValue(const Base& base, std::string* scratch, std::string_view* shown);

}  // namespace mergedb::kv
