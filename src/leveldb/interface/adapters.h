// Converts LevelDB's types to mergedb's and back: statuses, views, comparators, loggers.
//
// THREADS: an adapter has no state that changes. It is as thread-safe as the object that it wraps.
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

inline std::string_view ToStringView(const Slice& slice) { return {slice.data(), slice.size()}; }
inline Slice ToSlice(std::string_view view) { return {view.data(), view.size()}; }

// Codes that LevelDB lacks become IOError, except kMergeFailed, which becomes Corruption. An unknown outcome is
// noted in the message. NotFound for an absent key has no message.
Status ErrorFromCore(const mergedb::Status& status);  // REQUIRES: !status.ok()
inline Status FromCore(const mergedb::Status& status) { return status.ok() ? Status() : ErrorFromCore(status); }

// Converts errors of a program's own Env for the engine. All codes except NotFound and NotSupported become
// IOError: if an Env returns Corruption or InvalidArgument for a file, that says nothing about the database.
mergedb::Status ToCore(const Status& status);

// LevelDB's message for a failed lock of `fname`.
Status LockError(const std::string& fname, const mergedb::Status& status);

// Returns the result of `act`. An exception becomes an error, since no exception may leave LevelDB's interface.
template <typename Act>
Status Guarded(Act act) noexcept {
  try {
    return act();
  } catch (...) {
    return Status::IOError("out of memory");  // the engine throws nothing else
  }
}

// Translates between "leveldb.BytewiseComparator" and "mergedb.bytewise". Other names stay as they are.
std::string_view CoreNameOf(std::string_view leveldb_name);
std::string_view LevelDbNameOf(std::string_view core_name);

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

}  // namespace leveldb
