// The names of all program-defined merge operators that operands of this database have used. The MANIFEST
// keeps them, so that property "mergedb.merge_operators" can name an operator that the program did not
// supply.
//
// THREADS: any.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/sync.h"
#include "kv/operand.h"

namespace mergedb::db {

class OperatorNames {
 public:
  void Add(std::string_view name) {
    base::Lock lock(mutex_);
    if (!names_.contains(name)) names_.emplace(name);
  }
  // Adds the operator's name if `operand` is for a program-defined operator.
  void AddOf(std::string_view operand) {
    kv::ProgramParts parts;
    if (operand.empty() || kv::TypeOf(operand) != kv::OperandType::kProgram) [[likely]]
      return;
    if (kv::ParseProgram(operand, &parts)) Add(parts.name);
  }
  // In ascending order.
  std::vector<std::string> List() const {
    base::Lock lock(mutex_);
    return {names_.begin(), names_.end()};
  }

 private:
  mutable base::Mutex mutex_;
  std::set<std::string, std::less<>> names_ GUARDED_BY(mutex_);
};

}  // namespace mergedb::db
