// A program's own merge operator: a way to change a value without reading it. Most programs need none, since
// include/mergedb/merge.h has counters, extremes, lists, bits and JSON.
//
//     class Median final : public mergedb::MergeOperator { ... };
//     options.merge_operators = {std::make_shared<Median>()};
//     db->Merge({}, "latency", merge::Named("example.median", sample));
//
// The name of the operator is stored with each operand. A database opens also without the operator. Then
// reads of keys that need it return NotSupported with its name, and compactions keep its operands as they
// are. The bytes that the operator returns are a value like the value of a Put.
//
// THREADS: readers and compactions call the operator from many threads at the same time, with no lock of the
// database held and never while a write commits. It must not call into its database.
// ERRORS: if the operator throws, fails, or returns more than 1 GiB, the error concerns this one key. Its
// reads return MergeFailed, with key and operator in the message, until the key is put or deleted. Other
// keys, the database and compactions continue. A slow operator slows the readers of its keys and the
// compactions that meet them, nothing else.
// PURE: the same arguments must give the same result, at any time. The database may group the operands of a
// key in any way. The result must not depend on the grouping.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "mergedb/export.h"
#include "mergedb/span.h"
#include "mergedb/status.h"

namespace mergedb {

class MERGEDB_EXPORT MergeOperator {
 public:
  virtual ~MergeOperator();

  // 1 to 255 bytes. Change the name when the meaning of the operands changes. Reserved names: "uint64add",
  // "stringappend", "max", "put", "bytesxor".
  virtual std::string_view Name() const = 0;

  // Applies the operands, oldest first, to `base` and stores the value in *result. There is at least one
  // operand. Without a `base` the key has no value. *result is empty before the call. After a failed Status,
  // reads of the key fail.
  virtual Status Apply(std::string_view key, std::optional<std::string_view> base,
                       Span<const std::string_view> operands, std::string* result) const = 0;

  // Combines two operands: *operand gets one operand that has the effect of `older` and then `newer`, on any
  // base. Returns false if no such operand exists; the default does so always. Operands that cannot be
  // combined are kept until a compaction finds them together with their base, and each read of the key visits all of
  // them. If a key collects more than a million such operands, or more than 1 GiB of them, compactions keep them, too,
  // until it is put or deleted; a read then calls Apply once for each million.
  virtual bool Combine(std::string_view key, std::string_view older, std::string_view newer,
                       std::string* operand) const;
};

// For operators whose operands are values: result = Join(Join(base, first), second)... Join must be associative.
class MERGEDB_EXPORT AssociativeMergeOperator : public MergeOperator {
 public:
  // *joined is empty before the call. Without a base, the first operand is the base.
  virtual Status Join(std::string_view key, std::string_view older, std::string_view newer,
                      std::string* joined) const = 0;

  Status Apply(std::string_view key, std::optional<std::string_view> base, Span<const std::string_view> operands,
               std::string* result) const final;
  bool Combine(std::string_view key, std::string_view older, std::string_view newer, std::string* operand) const final;
};

}  // namespace mergedb
