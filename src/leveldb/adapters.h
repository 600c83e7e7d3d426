// LevelDB's types -> mergedb's, and back: statuses, views, comparators, loggers.
//
// THREADS: the adapters add no state that changes; they are as safe as what they wrap.
#pragma once

#include <string>
#include <string_view>

#include "leveldb/comparator.h"
#include "leveldb/env.h"
#include "leveldb/slice.h"
#include "leveldb/status.h"
#include "mergedb/comparator.h"
#include "mergedb/env.h"
#include "mergedb/status.h"

namespace leveldb {

inline std::string_view View(const Slice& slice) { return {slice.data(), slice.size()}; }
inline Slice ToSlice(std::string_view view) { return {view.data(), view.size()}; }

// The kinds that LevelDB has no name for are IOErrors, but a merge that fails is Corruption. A key that is not found has no message.
Status ErrorFromCore(const mergedb::Status& status);  // REQUIRES: !status.ok()
inline Status FromCore(const mergedb::Status& status) { return status.ok() ? Status() : ErrorFromCore(status); }

// Errors of a program's own Env, as the engine sees them. Everything but NotFound and NotSupported is IOError: what a program calls
// Corruption or InvalidArgument while it handles a file says nothing about the database.
mergedb::Status ToCore(const Status& status);

// Why `fname` could not be locked, in LevelDB's words.
Status LockError(const std::string& fname, const mergedb::Status& status);

// What `act` returns; an exception becomes an error: none crosses LevelDB's face.
template <typename Act>
Status Guarded(Act act) noexcept {
  try {
    return act();
  } catch (...) {
    return Status::IOError("out of memory");  // nothing else is thrown
  }
}

// LevelDB's name of the order that mergedb calls "mergedb.bytewise", and the same for all others.
std::string_view CoreNameOf(std::string_view leveldb_name);
std::string_view LevelDbNameOf(std::string_view core_name);

// A program's own order.
class ComparatorAdapter final : public mergedb::Comparator {
 public:
  explicit ComparatorAdapter(const leveldb::Comparator* target) : target_(target), name_(CoreNameOf(target->Name())) {}
  int Compare(std::string_view a, std::string_view b) const override {
    return target_->Compare(ToSlice(a), ToSlice(b));
  }
  std::string_view Name() const override { return name_; }

 private:
  const leveldb::Comparator* const target_;
  const std::string name_;
};

class LoggerAdapter final : public mergedb::Logger {
 public:
  explicit LoggerAdapter(leveldb::Logger* target) : target_(target) {}
  void Log(std::string_view line) override {
    leveldb::Log(target_, "%.*s", static_cast<int>(line.size()), line.data());
  }

 private:
  leveldb::Logger* const target_;
};

}  // namespace leveldb
