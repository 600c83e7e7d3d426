// The operators that a program registered, by name, and the one place that calls them: whatever they throw, return or
// produce ends here as that key's Status (facts: rows H1 to H4).
//
// THREADS: constant after construction. The operators are called from any thread, under no lock.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kv/key_map.h"
#include "kv/operand.h"
#include "mergedb/merge_operator.h"
#include "mergedb/status.h"

namespace mergedb::kv {

class ProgramOperators {
 public:
  using Pointers = std::vector<std::shared_ptr<const MergeOperator>>;
  ProgramOperators() = default;
  // The keys given to Apply and Combine are the tree's; operators are told the program's. `key_map` as it is at each call, if it
  // is not null; it must outlive this.
  explicit ProgramOperators(Pointers operators, size_t value_bytes_max = kMergedValueBytesMax,
                            const std::atomic<const KeyMap*>* key_map = nullptr)
      : operators_(std::move(operators)), value_bytes_max_(value_bytes_max), key_map_(key_map) {}

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
  std::string_view KeyOf(std::string_view tree_key) const;

  Pointers operators_;
  size_t value_bytes_max_ = kMergedValueBytesMax;
  const std::atomic<const KeyMap*>* key_map_ = nullptr;
};

}  // namespace mergedb::kv
