// The effect of each built-in operand on a value. Chains, versions and the operators of programs are in kv/fold.h.
//
//   nothing ──any operand──► its family          bytes ──add, max, min of numbers, if 8 bytes──► that number
//   bytes ──max, min, and, or, xor, append──► bytes                          ──first──► bytes (as the oldest)
//   bytes ──JSON patch, if they are JSON──► JSON                             ──last──► stamped
//   i64 ──add i64──► saturating or failing sum    any sum ──max, min i64──► the same sum
//   anything ──put──► bytes                       a family ──operand of this family──► the same family
//   all else: a clash
//
// Tests: tests/unit/kv/merge_operators_test.cc proves for each type that operands grouped in any way give the
// same result.
#pragma once

#include <span>
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

// Corruption: a typed value breaks the format. NotSupported: this version does not know its family.
Status DecodeBase(const Base& base, Value* value);
// Encodes the value as it is stored: *bytes, and the kind of the version.
Kind EncodeValue(const Value& value, std::string* bytes);

// The value as a reader sees it. *shown may be a view of *scratch. MergeFailed: a failing sum does not fit an int64.
Status ShowValue(const Base& base, std::string* scratch, std::string_view* shown);

// Applies operands of one type, oldest first, to *value. REQUIRES: not of kProgram. After a failure *value is
// unusable.
// MergeFailed: a clash, a wrong size or too large a result. NotSupported: this version does not know the type.
Status ApplyRun(std::span<const std::string_view> operands, Value* value);

// If one operand has the effect of all `operands`, which have one type: true, and *combined is this operand.
bool CombineRun(std::span<const std::string_view> operands, std::string* combined);

// A fast path for the most common operand, a counter. `operand` is an add-u64; *made is its sum with the
// operand or value `below`. `operand` may be a view of *made. In all other cases AddToCounter returns false
// and leaves *made unchanged; the caller then uses the general functions.
struct Counter {
  Kind kind = Kind::kDelete;
  char bytes[9] = {};
  std::string_view view() const { return {bytes, sizeof bytes}; }
  // Becomes a copy of the operand. False if it is no add-u64.
  bool Take(std::string_view operand);
};
bool AddToCounter(const Base& below, std::string_view operand, Counter* made);

// True if operands of this type keep their size, however many are combined. Then they are combined as soon as
// they meet.
bool StaysSmall(OperandType type);

}  // namespace mergedb::kv
