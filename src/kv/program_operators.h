// The merge operators that the program registered, by name. Only this class calls them: an exception, an
// error or too large a result becomes the Status of that key.
//
// THREADS: constant after construction. Any thread calls the operators, and holds no lock.
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
  // Apply and Combine take keys of the tree; the operators get the program's keys. They use the KeyMap that
  // *key_map holds at the time of the call. `key_map` may be null; it must outlive this object.
  explicit ProgramOperators(Pointers operators, size_t value_bytes_max = kMergedValueBytesMax,
                            const std::atomic<const KeyMap*>* key_map = nullptr)
      : operators_(std::move(operators)), value_bytes_max_(value_bytes_max), key_map_(key_map) {}

  // InvalidArgument: a null pointer, a name that is empty, too long or built in, or two operators with one name.
  static Status Check(const Pointers& operators);

  // *result = `operands` applied to `base`. NotSupported: no operator has this name. MergeFailed: the operator failed.
  Status Apply(std::string_view name, std::string_view key, std::optional<std::string_view> base,
               std::span<const std::string_view> operands, std::string* result) const;
  // False if the operator is not registered, cannot combine these operands, or fails.
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
