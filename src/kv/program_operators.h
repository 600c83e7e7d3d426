// The operators that a program registered, by name, and the one place that calls them: whatever they throw, return or
// produce ends here as that key's Status (facts: rows H1 to H4).
//
// THREADS: constant after construction. The operators are called from any thread, under no lock.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kv/operand.h"
#include "mergedb/merge_operator.h"
#include "mergedb/status.h"

namespace mergedb::kv {

class ProgramOperators {
 public:
  using Pointers = std::vector<std::shared_ptr<const MergeOperator>>;
  ProgramOperators() = default;
  explicit ProgramOperators(Pointers operators, size_t value_bytes_max = kMergedValueBytesMax)
      : operators_(std::move(operators)), value_bytes_max_(value_bytes_max) {}

  // InvalidArgument: null, a name that is empty, too long, ours, or there twice.
  static Status Check(const Pointers& operators);

  // *result = operands applied to `base`. NotSupported: nobody registered `name`. MergeFailed: the operator did not do it.
  Status Apply(std::string_view name, std::string_view key, std::optional<std::string_view> base,
               std::span<const std::string_view> operands, std::string* result) const;
  // False: not registered, or it cannot, or it failed to.
  bool Combine(std::string_view name, std::string_view key, std::string_view older, std::string_view newer,
               std::string* operand) const;

 private:
  const MergeOperator* Find(std::string_view name) const;

  Pointers operators_;
  size_t value_bytes_max_ = kMergedValueBytesMax;
};

}  // namespace mergedb::kv
