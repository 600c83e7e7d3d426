// A program's own way to change a value without reading it. Most programs need none: include/mergedb/merge.h has
// counters, extremes, lists, bits and JSON.
//
//     class Median final : public mergedb::MergeOperator { ... };
//     options.merge_operators = {std::make_shared<Median>()};
//     db->Merge({}, "latency", merge::Named("example.median", sample));
//
// The name is stored with each operand. A database opens without the operator: then reads of keys that need it answer
// NotSupported, naming it, and the background leaves its operands as they are. The bytes that the operator makes are a
// value as if it had been put.
//
// THREADS: called from many threads at once, those of readers and of background merges, under no lock of the database
// and never while a write commits. Must not call into the database that it is of.
// EXCEPTIONS, failures, results of more than 1 GiB: an error of that one key (MergeFailed, naming key and operator) until
// it is put or deleted; other keys, the database and the background go on. A slow operator slows its key's readers and
// the background merge that met it, nobody else.
// PURE: the same arguments give the same result, whenever and however often the database asks. It may group a key's
// operands as it likes: the result must not depend on it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mergedb/export.h"
#include "mergedb/status.h"

namespace mergedb {

class MERGEDB_EXPORT MergeOperator {
 public:
  virtual ~MergeOperator();

  // 1 to 255 bytes. Change it when the meaning of operands changes. Not "uint64add", "stringappend", "max", "put" or
  // "bytesxor": those are ours.
  virtual std::string_view Name() const = 0;

  // *result = operands, of which there is at least one, applied to `base`, oldest first; no base: the key has no value.
  // *result is empty before the call. A failed Status fails the key's reads.
  virtual Status Apply(std::string_view key, std::optional<std::string_view> base,
                       std::span<const std::string_view> operands, std::string* result) const = 0;

  // *operand = one operand that does what `older` and then `newer` do, to any base. False if there is none, as by
  // default: operands are then all kept until they meet their base, and a key of which more than a million have
  // gathered, or more than 1 GiB of them, cannot be read until it is put or deleted.
  virtual bool Combine(std::string_view key, std::string_view older, std::string_view newer,
                       std::string* operand) const;
};

// For operators whose operands are values: result = Join(Join(base, first), second)..., and joining is associative.
class MERGEDB_EXPORT AssociativeMergeOperator : public MergeOperator {
 public:
  // *joined is empty before the call. Where there is no base, the first operand is it.
  virtual Status Join(std::string_view key, std::string_view older, std::string_view newer,
                      std::string* joined) const = 0;

  Status Apply(std::string_view key, std::optional<std::string_view> base, std::span<const std::string_view> operands,
               std::string* result) const final;
  bool Combine(std::string_view key, std::string_view older, std::string_view newer, std::string* operand) const final;
};

}  // namespace mergedb
