// The names of the programs' merge operators that operands of this database have ever asked for. The MANIFEST keeps them, so
// that a person who opens the database without one can be told (property "mergedb.merge_operators").
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
  // If `operand` is a program's.
  void AddOf(std::string_view operand) {
    kv::ProgramParts parts;
    if (operand.empty() || kv::TypeOf(operand) != kv::OperandType::kProgram) [[likely]]
      return;
    if (kv::ParseProgram(operand, &parts)) Add(parts.name);
  }
  // In order.
  std::vector<std::string> List() const {
    base::Lock lock(mutex_);
    return {names_.begin(), names_.end()};
  }

 private:
  mutable base::Mutex mutex_;
  std::set<std::string, std::less<>> names_ GUARDED_BY(mutex_);
};

}  // namespace mergedb::db
