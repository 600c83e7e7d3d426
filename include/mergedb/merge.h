// Operands: what DB::Merge and WriteBatch::Merge take. An operand says what it does, so whoever meets it, a reader, a
// background merge, a tool, another program, can apply it without knowing the one that wrote it.
//
//     db->Merge({}, "visits", merge::AddU64(1));
//     db->Merge({}, "events", merge::Append("login", {.delimiter = ",", .cap_bytes = 1000}));
//
//     std::string value;
//     db->Get({}, "visits", &value);                 // 8 bytes, little-endian
//     uint64_t visits = merge::ToU64(value).value();
//
// What a key's value is: its newest Put (or nothing, after a Delete or before any write), and then each later operand
// applied to it, oldest first. When that happens, at a read or in the background, makes no difference (sums of f64: but
// for rounding). A value that was put counts as whatever the first operand needs, if it has the right size; what numbers,
// JSON and stamped operands made has their family, and an operand of another family on it is a clash. A clash, a wrong
// size or an overflow that shall fail is an error of that key's reads (MergeFailed), until it is put or deleted.
//
// Encodings, families and test vectors: docs/formats/merge.md. THREADS: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mergedb/export.h"

namespace mergedb::merge {

// ---- numbers. The value is 8 bytes, little-endian: two's complement, or IEEE 754. Nothing counts as the first operand.

MERGEDB_EXPORT std::string AddU64(uint64_t delta);  // modulo 2^64

// The sum is kept exactly, beyond 64 bits too; only a read looks at whether it fits: it then shows the nearest int64_t,
// or fails. So neither depends on the order in which a sum left the range and came back. One key, one policy.
enum class Overflow : uint8_t { kSaturate, kFail };
MERGEDB_EXPORT std::string AddI64(int64_t delta, Overflow overflow = Overflow::kSaturate);

MERGEDB_EXPORT std::string AddF64(double delta);  // the grouping, and so the last bits, may vary

MERGEDB_EXPORT std::string MaxU64(uint64_t value);
MERGEDB_EXPORT std::string MaxI64(int64_t value);
MERGEDB_EXPORT std::string MaxF64(double value);  // IEEE 754 totalOrder: -NaN < -inf < ... < -0 < +0 < ... < +inf < NaN
MERGEDB_EXPORT std::string MinU64(uint64_t value);
MERGEDB_EXPORT std::string MinI64(int64_t value);
MERGEDB_EXPORT std::string MinF64(double value);

// ---- bytes. The value is bytes, as if it had been put.

MERGEDB_EXPORT std::string MaxBytes(std::string_view value);  // memcmp order, shorter first
MERGEDB_EXPORT std::string MinBytes(std::string_view value);
// Byte by byte; of two lengths the longer one's tail stays as it is.
MERGEDB_EXPORT std::string And(std::string_view mask);
MERGEDB_EXPORT std::string Or(std::string_view mask);
MERGEDB_EXPORT std::string Xor(std::string_view mask);

enum class Keep : uint8_t {
  kNewest,  // bytes go at the front
  kOldest,  // bytes go at the end
};
struct AppendOptions {
  std::string_view delimiter = {};  // goes between what is there, be it empty, and what is appended
  uint64_t cap_bytes = 0;           // the value is cut to this many bytes, delimiters included; 0: no cap
  Keep keep = Keep::kNewest;        // which of them stay
};
MERGEDB_EXPORT std::string Append(std::string_view bytes, const AppendOptions& options = {});

MERGEDB_EXPORT std::string Put(std::string_view value);  // whatever was there, a clash included, gives way

// ---- the bytes with the smallest or largest timestamp. A value that was put is older than all; of equal timestamps the
// one merged first is First, the one merged last is Last.

MERGEDB_EXPORT std::string First(uint64_t timestamp, std::string_view value);
MERGEDB_EXPORT std::string Last(uint64_t timestamp, std::string_view value);

// ---- a JSON merge patch (RFC 7396). The value is a JSON text: no spaces, names in bytewise order. Texts of more than 16
// MiB or nested deeper than 100 are errors of the key.

MERGEDB_EXPORT std::string JsonPatch(std::string_view patch);

// ---- operators by name: those of RocksDB's under their names, with its encodings ("uint64add": 8 bytes, little-endian;
// "stringappend": with a comma; "max"; "put"; "bytesxor"), else the program's own of that name
// (include/mergedb/merge_operator.h). The name has 1 to 255 bytes; another is refused by Merge.

MERGEDB_EXPORT std::string Named(std::string_view name, std::string_view operand);

// ---- values of numbers, as Get gives them; none if `value` does not have 8 bytes.

MERGEDB_EXPORT std::optional<uint64_t> ToU64(std::string_view value);
MERGEDB_EXPORT std::optional<int64_t> ToI64(std::string_view value);
MERGEDB_EXPORT std::optional<double> ToF64(std::string_view value);
// And back, for Put.
MERGEDB_EXPORT std::string FromU64(uint64_t number);
MERGEDB_EXPORT std::string FromI64(int64_t number);
MERGEDB_EXPORT std::string FromF64(double number);

// "add-u64 5", "append \"x\" ...": for people. Never fails: bytes that are no operand are said to be none.
MERGEDB_EXPORT std::string Print(std::string_view operand);

}  // namespace mergedb::merge
