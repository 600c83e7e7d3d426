#include "kv/program_operators.h"

#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "kv/merge_operators.h"

namespace mergedb {

MergeOperator::~MergeOperator() = default;

bool MergeOperator::Combine(std::string_view, std::string_view, std::string_view, std::string*) const { return false; }

namespace {

// Up to this many operands are joined one after the other.
constexpr size_t kJoinedInOrderMax = 8;

// Joins neighbours, then the results, and so on. WHY not one after the other: each join copies what it joins, so values
// that grow would cost the square of their number. False: two of them cannot be joined.
bool JoinInPairs(const AssociativeMergeOperator& joins, std::string_view key, Span<const std::string_view> operands,
                 std::string* result) {
  std::vector<std::optional<std::string>> levels;  // level i joins 2^i operands; newer operands are in lower levels
  std::string joined;
  const auto join = [&](const std::string& older, std::string* newer) {
    joined.clear();
    if (!joins.Join(key, older, *newer, &joined).ok()) return false;
    newer->swap(joined);
    return true;
  };
  for (const std::string_view operand : operands) {
    std::string carried(operand);
    size_t level = 0;
    for (; level < levels.size() && levels[level]; ++level) {
      if (!join(*levels[level], &carried)) return false;
      levels[level].reset();
    }
    if (level == levels.size()) levels.emplace_back();
    levels[level] = std::move(carried);
  }
  std::optional<std::string> all;
  for (std::optional<std::string>& older : levels) {
    if (!older) continue;
    if (!all) {
      all = std::move(older);
    } else if (!join(*older, &*all)) {
      return false;
    }
  }
  *result = std::move(*all);
  return true;
}

}  // namespace

Status AssociativeMergeOperator::Apply(std::string_view key, std::optional<std::string_view> base,
                                       Span<const std::string_view> operands, std::string* result) const {
  std::string all;
  if (operands.size() > kJoinedInOrderMax && JoinInPairs(*this, key, operands, &all)) {
    if (!base) {
      *result = std::move(all);
      return {};
    }
    if (Join(key, *base, all, result).ok()) return {};
  }
  // Also for operands of which some can be joined with what is below them only.
  result->assign(base ? *base : operands[0]);
  std::string joined;
  for (const std::string_view operand : operands.subspan(base ? 0 : 1)) {
    joined.clear();
    RETURN_IF_ERROR(Join(key, *result, operand, &joined));
    result->swap(joined);
  }
  return {};
}

bool AssociativeMergeOperator::Combine(std::string_view key, std::string_view older, std::string_view newer,
                                       std::string* operand) const {
  return Join(key, older, newer, operand).ok();
}

namespace kv {
namespace {

std::string Title(std::string_view name) { return "operator \"" + base::Escape(name) + "\""; }

// Runs `call` and turns an exception into a Status.
template <typename Call>
Status Guard(std::string_view name, Call call) {
  try {
    const Status status = call();
    return status.ok() ? status : Status::MergeFailed(Title(name) + " failed: " + status.ToString());
  } catch (const std::exception& exception) {
    return Status::MergeFailed(Title(name) + " threw: " + exception.what());
  } catch (...) { return Status::MergeFailed(Title(name) + " threw an exception that is not a std::exception"); }
}

}  // namespace

Status ProgramOperators::Check(const Pointers& operators) {
  for (size_t i = 0; i < operators.size(); ++i) {
    const std::string field = "options.merge_operators[" + std::to_string(i) + "]";
    if (operators[i] == nullptr) return Status::InvalidArgument(field + " is null");
    const std::string_view name = operators[i]->Name();
    if (name.empty() || name.size() > kOperatorNameBytesMax) {
      return Status::InvalidArgument(field + " has a name of " + std::to_string(name.size()) +
                                     " bytes; 1 to 255 are allowed");
    }
    if (FindRocksDbType(name) != nullptr) {
      return Status::InvalidArgument(field + " has the name \"" + std::string(name) +
                                     "\", the name of a built-in operator");
    }
    for (size_t j = 0; j < i; ++j) {
      if (operators[j]->Name() == name) {
        return Status::InvalidArgument(field + " has the name \"" + base::Escape(name) + "\" of another operator");
      }
    }
  }
  return {};
}

const MergeOperator* ProgramOperators::Find(std::string_view name) const {
  for (const auto& each : operators_) {
    if (each->Name() == name) return each.get();
  }
  return nullptr;
}

std::string_view ProgramOperators::KeyOf(std::string_view tree_key) const {
  const KeyMap* const map = key_map_ == nullptr ? nullptr : key_map_->load(std::memory_order_acquire);
  return map == nullptr ? tree_key : map->KeyOf(tree_key);
}

Status ProgramOperators::Apply(std::string_view name, std::string_view key, std::optional<std::string_view> base,
                               std::span<const std::string_view> operands, std::string* result) const {
  const MergeOperator* const found = Find(name);
  if (found == nullptr) { return Status::NotSupported(Title(name) + " is not among options.merge_operators"); }
  result->clear();
  RETURN_IF_ERROR(Guard(name, [&] { return found->Apply(KeyOf(key), base, operands, result); }));
  if (result->size() <= value_bytes_max_) return {};
  return Status::MergeFailed(Title(name) + " returned a value of " + std::to_string(result->size()) +
                             " bytes; the maximum is " + std::to_string(value_bytes_max_));
}

bool ProgramOperators::Combine(std::string_view name, std::string_view key, std::string_view older,
                               std::string_view newer, std::string* operand) const {
  const MergeOperator* const found = Find(name);
  if (found == nullptr) return false;
  operand->clear();
  bool is_combined = false;
  const Status status = Guard(name, [&] {
    is_combined = found->Combine(KeyOf(key), older, newer, operand);
    return Status();
  });
  return status.ok() && is_combined && operand->size() <= value_bytes_max_;
}

}  // namespace kv
}  // namespace mergedb
