// FORMAT: merge operands and the typed values that they make (docs/formats/merge.md). The value of a MERGE is
// an operand; the value of a MERGED is a typed value:
//
//   operand := type u8 | body                     typed value := family u8 | state
//
//   add u64       u64                             u64              u64
//   add i64       i64, or i128 if needed          i64              i64
//   add f64       f64                             saturating sum   i64, or i128 if needed
//   max, min      u64 | i64 | f64 | bytes         failing sum      the same
//   and, or, xor  bytes                           f64              f64
//   append        cap, delimiter, bytes           JSON             text
//   first, last   timestamp u64 | bytes           stamped          timestamp u64 | bytes
//   JSON patch    form u8 | text
//   put           bytes
//   program       name | the program's operand
//
// The effect of an operand on nothing is its own body (of append: its bytes; not for JSON and programs). So
// operands of one type, applied to nothing, give an operand of this type again.
// CheckOperand (kv/merge_operators.h) checks bytes from disk before they are used. Tests:
// tests/unit/kv/operand_test.cc, and the vectors in tests/golden/merge/, which other languages can use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mergedb::kv {

// FORMAT: the first byte of an operand: the id of its row in the table of src/kv/merge_operators.cc. These are the ids
// that other code names. Ids from 32 on are refused, so that a text does not pass for an operand.
enum class OperandType : uint8_t {
  kAddU64 = 1,
  kJsonPatch = 19,
  kPut = 20,
  kProgram = 30,  // 21-29 are reserved for sets and sketches
};

// The type of the value that an operator meets. The first two are never stored.
enum class Family : uint8_t {
  kNothing = 0,
  kBytes = 0x80,
  kU64 = 1,
  kI64 = 2,
  kI64Saturating = 3,
  kI64Failing = 4,
  kF64 = 5,
  kJson = 6,
  kStamped = 7,
};

inline constexpr size_t kMergedValueBytesMax = size_t{1} << 30;
inline constexpr size_t kOperatorNameBytesMax = 255;

std::string_view FamilyName(Family family);  // "u64", "bytes", ...

// The parts of an operand. REQUIRES: it is not empty. False: it breaks the format.
inline OperandType TypeOf(std::string_view operand) { return static_cast<OperandType>(operand[0]); }

struct AppendParts {
  enum class Cap : uint8_t { kNone = 0, kKeepNewest = 1, kKeepOldest = 2 };
  Cap cap = Cap::kNone;
  uint64_t cap_bytes = 0;
  std::string_view delimiter;
  std::string_view bytes;
  size_t head_bytes = 0;  // bytes of the operand before `bytes`
};
[[nodiscard]] bool ParseAppend(std::string_view operand, AppendParts* parts);

struct ProgramParts {
  std::string_view name;
  std::string_view operand;
};
[[nodiscard]] bool ParseProgram(std::string_view operand, ProgramParts* parts);

// Puts the timestamp into *timestamp and the rest into *bytes. `stamped` is an operand's body or a state.
[[nodiscard]] bool ParseStamped(std::string_view stamped, uint64_t* timestamp, std::string_view* bytes);

// 8 bytes, or 16 if the number does not fit 8; and back. False: another size.
using Wide = __int128;
void AppendWide(std::string* out, Wide number);
[[nodiscard]] bool ParseWide(std::string_view bytes, Wide* number);

}  // namespace mergedb::kv
