// Makes operands for DB::Merge and WriteBatch::Merge. An operand contains its own operation. So a reader, a
// compaction, a tool or another program can apply it without the program that wrote it.
//
//     db->Merge({}, "visits", merge::AddU64(1));
//     db->Merge({}, "events", merge::Append("login", {.delimiter = ",", .cap_bytes = 1000}));
//
//     std::string value;
//     db->Get({}, "visits", &value);                 // 8 bytes, little-endian
//     uint64_t visits = merge::ToU64(value).value();
//
// The value of a key is its newest Put (or no value, after a Delete or before any write) with each later
// operand applied to it, oldest first. The result is the same whether a read or a compaction applies the
// operands; only sums of f64 may differ by rounding.
// A value that was put suits the first operand if it has the right size. Numbers, JSON texts and timestamped
// values that operands made belong to a family, and an operand of another family on such a value is a clash.
// A clash, a wrong size, or an overflow with Overflow::kFail is an error of the reads of that key
// (MergeFailed) until the key is put or deleted.
//
// ERRORS: the functions of this header do not fail. Encodings, families and test vectors:
// docs/formats/merge.md. THREADS: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mergedb/export.h"

namespace mergedb::merge {

// ---- numbers. The value is 8 bytes, little-endian: two's complement, or IEEE 754. Without a value, the
// first operand becomes the value.

MERGEDB_EXPORT std::string AddU64(uint64_t delta);  // sum modulo 2^64

// The database keeps the exact sum, also beyond 64 bits. A read checks whether the sum fits: kSaturate shows
// the nearest int64_t, kFail returns MergeFailed. So the result does not depend on the order of the operands.
// Use one policy for a key.
enum class Overflow : uint8_t { kSaturate, kFail };
MERGEDB_EXPORT std::string AddI64(int64_t delta, Overflow overflow = Overflow::kSaturate);

MERGEDB_EXPORT std::string AddF64(double delta);  // the last bits may vary with the grouping of the operands

MERGEDB_EXPORT std::string MaxU64(uint64_t value);
MERGEDB_EXPORT std::string MaxI64(int64_t value);
MERGEDB_EXPORT std::string MaxF64(double value);  // IEEE 754 totalOrder: -NaN < -inf < ... < -0 < +0 < ... < +inf < NaN
MERGEDB_EXPORT std::string MinU64(uint64_t value);
MERGEDB_EXPORT std::string MinI64(int64_t value);
MERGEDB_EXPORT std::string MinF64(double value);

// ---- bytes. The value is a byte string, like the value of a Put.

MERGEDB_EXPORT std::string MaxBytes(std::string_view value);  // memcmp order; a prefix is smaller
MERGEDB_EXPORT std::string MinBytes(std::string_view value);
// Byte by byte. If the lengths differ, the tail of the longer string stays unchanged.
MERGEDB_EXPORT std::string And(std::string_view mask);
MERGEDB_EXPORT std::string Or(std::string_view mask);
MERGEDB_EXPORT std::string Xor(std::string_view mask);

enum class Keep : uint8_t {
  kNewest,  // cuts bytes at the front
  kOldest,  // cuts bytes at the end
};
struct AppendOptions {
  std::string_view delimiter = {};  // stands between the old value, also an empty one, and the appended bytes
  uint64_t cap_bytes = 0;           // the value is cut to this many bytes, delimiters included; 0: no limit
  Keep keep = Keep::kNewest;        // which bytes stay when the value is cut
};
MERGEDB_EXPORT std::string Append(std::string_view bytes, const AppendOptions& options = {});

MERGEDB_EXPORT std::string Put(std::string_view value);  // replaces any value, also after a clash

// ---- the bytes with the smallest or the largest timestamp. A value that was put is older than all
// timestamps. Of equal timestamps First keeps the one merged first, and Last keeps the one merged last.

MERGEDB_EXPORT std::string First(uint64_t timestamp, std::string_view value);
MERGEDB_EXPORT std::string Last(uint64_t timestamp, std::string_view value);

// ---- a JSON merge patch (RFC 7396). The value is a JSON text without spaces, names in bytewise order. A
// text of more than 16 MiB, or nested deeper than 100 levels, is an error of the key.

MERGEDB_EXPORT std::string JsonPatch(std::string_view patch);

// ---- operators by name: RocksDB's operators with RocksDB's names and encodings ("uint64add": 8 bytes,
// little-endian; "stringappend": with a comma; "max"; "put"; "bytesxor"), else the program's own operator of
// that name (include/mergedb/merge_operator.h). The name has 1 to 255 bytes; Merge refuses any other length.

MERGEDB_EXPORT std::string Named(std::string_view name, std::string_view operand);

// ---- numbers as Get returns them. Without a value if `value` does not have 8 bytes.

MERGEDB_EXPORT std::optional<uint64_t> ToU64(std::string_view value);
MERGEDB_EXPORT std::optional<int64_t> ToI64(std::string_view value);
MERGEDB_EXPORT std::optional<double> ToF64(std::string_view value);
// The reverse, for Put.
MERGEDB_EXPORT std::string FromU64(uint64_t number);
MERGEDB_EXPORT std::string FromI64(int64_t number);
MERGEDB_EXPORT std::string FromF64(double number);

// ---- the built-in types as values, for programs that take the type from a user or from another language.

enum class Argument : uint8_t { kBytes, kU64, kI64, kF64 };
struct Type {
  int id;                 // MERGEDB_ADD_U64, ... of include/mergedb/c.h; the first byte of an operand
  std::string_view name;  // "add-u64", ..., as in the text of Print; the text is static
  Argument argument;      // the member of Arguments that has the bytes or the number
};
MERGEDB_EXPORT std::vector<Type> Types();  // by ascending id

struct Arguments {
  uint64_t u64 = 0;  // also the timestamp of first and last
  int64_t i64 = 0;
  double f64 = 0;
  std::string_view bytes = {};
  AppendOptions append = {};
};
// The operand of a type. Make uses the arguments that the type's function above has. Without a value if no
// built-in type has this id.
MERGEDB_EXPORT std::optional<std::string> Make(int type, const Arguments& arguments);

// "add-u64 5", "append \"x\" ...": a text for people. Never fails; bytes that are not an operand give a text
// that says so.
MERGEDB_EXPORT std::string Print(std::string_view operand);

}  // namespace mergedb::merge
