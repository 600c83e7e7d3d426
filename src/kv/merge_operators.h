// The built-in merge types. Each is one row of the table in src/kv/merge_operators.cc. The functions of this header,
// include/mergedb/merge.h, the C interface and the command find there what they need to know about a type. Chains,
// versions and the operators of programs are in kv/fold.h.
//
//   nothing ──any operand──► its family          bytes ──add, max, min of numbers, if 8 bytes──► that number
//   bytes ──max, min, and, or, xor, append──► bytes                          ──first──► bytes (as the oldest)
//   bytes ──JSON patch, if they are JSON──► JSON                             ──last──► stamped
//   i64 ──add i64──► saturating or failing sum    any sum ──max, min i64──► the same sum
//   anything ──put──► bytes                       a family ──operand of this family──► the same family
//   all else: a clash
//
// A new type needs a row, vectors in tests/unit/kv/merge_vectors.h, and its public names: a function in
// include/mergedb/merge.h, a constant in include/mergedb/c.h and a method in Merge.java.
// Tests: tests/unit/kv/merge_types_test.cc checks each row. tests/unit/kv/merge_operators_test.cc proves for each type
// that operands grouped in any way give the same result.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "kv/key.h"
#include "kv/merge_value.h"
#include "kv/operand.h"
#include "mergedb/merge.h"
#include "mergedb/status.h"

namespace mergedb::kv {

// How the operands of a type are made, checked and printed. Several types share a body. `operand` is the whole operand.
struct Body {
  merge::Argument argument;
  std::string_view expected;  // what a valid operand has after its type, for messages
  bool (*is_valid)(std::string_view operand);
  void (*append)(const merge::Arguments& given, std::string* operand);
  std::string (*print)(std::string_view operand);
  // A check that costs more than is_valid, for new operands only. InvalidArgument: the operand cannot be applied.
  Status (*check_new)(std::string_view operand) = nullptr;
};

using Run = std::span<const std::string_view>;  // operands of one type, oldest first; at least one

struct MergeType {
  uint8_t id;  // FORMAT: the first byte of an operand; it never changes. MERGEDB_ADD_U64, ... have these values
  std::string_view name;  // "add-u64"
  const Body& body;
  Status (*apply)(Run run, Value* value);  // REQUIRES: the operands are valid
  // Makes one operand with the effect of the run. False: there is no such operand.
  bool (*combine)(Run run, std::string* combined);
  // RocksDB's name of the type, and the bytes that precede RocksDB's operand in the body.
  std::string_view rocksdb_name = {};
  std::string_view rocksdb_head = {};
};

std::span<const MergeType> MergeTypes();
// The type that RocksDB gives this name, or null.
const MergeType* FindRocksDbType(std::string_view name);

// "add-u64"; "operand type 27" if this version does not know the type.
std::string OperandName(std::string_view operand);
Status Clash(std::string_view operand, Family family);  // MergeFailed: the operand met a value of this family

// OK if this version can apply `operand`. NotSupported: a newer version has this type. InvalidArgument: the
// operand breaks the format. CheckOperand does not parse JSON; CheckNewOperand does.
Status CheckOperand(std::string_view operand);
Status CheckNewOperand(std::string_view operand);

// Applies operands of one type to *value. REQUIRES: not of kProgram. After a failure *value is unusable.
// MergeFailed: a clash, a wrong size or too large a result. NotSupported: this version does not know the type.
Status ApplyRun(Run operands, Value* value);

// If one operand has the effect of all `operands`: true, and *combined is this operand. Operands of several types
// cannot be combined.
bool CombineRun(Run operands, std::string* combined);

// A fast path for the most common operand, a counter. `operand` is an add-u64; *made is its sum with the
// operand or value `below`. `operand` may be a view of *made. In all other cases AddToCounter returns false
// and leaves *made unchanged; the caller then uses the general functions.
// MEASURED: db_bench mergerandom of 4 M into 1 M counters, eleven alternating runs, CPU of the wait for
// compactions: 0.35 s, 0.41 s if the compaction iterator does not use it.
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
