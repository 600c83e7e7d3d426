// What each built-in operand does to a value: the arithmetic, and nothing about chains, versions or programs (kv/fold.h).
//
//   nothing ──any operand──► its family          bytes ──add, max, min of numbers, if there are 8──► that number
//   bytes ──max, min, and, or, xor, append──► bytes                          ──first──► bytes (as old as can be)
//   bytes ──JSON patch, if they are JSON──► JSON                             ──last──► stamped
//   i64 ──add i64──► saturating or failing sum    any sum ──max, min i64──► the same sum
//   anything else: a clash
//
// Tests: tests/unit/kv/merge_operators_test.cc proves of each type that operands grouped in any way give the same.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "kv/key.h"
#include "kv/operand.h"
#include "mergedb/status.h"

namespace mergedb::kv {

// What the newest version of a key that is no operand says: kDelete is nothing, kPut bytes, kMerged a typed value.
struct Base {
  Kind kind = Kind::kDelete;
  std::string_view bytes = {};
};

// A value taken apart. Which members mean something depends on the family.
struct Value {
  Family family = Family::kNothing;
  Wide number = 0;         // u64, i64 and its sums
  double real = 0;         // f64
  uint64_t timestamp = 0;  // stamped
  std::string bytes = {};  // bytes, JSON, stamped
};

// Corruption: a typed value that breaks the format. NotSupported: of a family that this version does not know.
Status DecodeBase(const Base& base, Value* value);
// As it is stored: *bytes, and the kind of the version.
Kind EncodeValue(const Value& value, std::string* bytes);

// What a reader sees. `*scratch` may be used, and holds the answer then. MergeFailed: a sum that shall fail does.
Status ShowValue(const Base& base, std::string* scratch, std::string_view* shown);

// Apply operands of one type, oldest first, to *value. REQUIRES: not of kProgram. On failure *value is spoilt.
// MergeFailed: a clash, a wrong size, too large a result. NotSupported: a type that this version does not know.
Status ApplyRun(std::span<const std::string_view> operands, Value* value);

// Is there one operand that does what these two of one type do? Then *combined is it.
bool CombineRun(std::span<const std::string_view> operands, std::string* combined);

// The same for the commonest of all, a counter, without a detour: `operand` is an add u64, and *made is what it makes of the
// operand or value `below`. `operand` may be a view of *made. False: it is anything else, *made is as it was; take the long way.
struct Counter {
  Kind kind = Kind::kDelete;
  char bytes[9] = {};
  std::string_view view() const { return {bytes, sizeof bytes}; }
  // Becomes a copy of this operand. False: it is no add u64.
  bool Take(std::string_view operand);
};
bool AddToCounter(const Base& below, std::string_view operand, Counter* made);

// Do operands of this type take the same room, however many are combined? Then they are combined as soon as they meet.
bool StaysSmall(OperandType type);

}  // namespace mergedb::kv
