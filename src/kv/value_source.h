// Reads the value of a blob index. Large values are in blob files (docs/decisions/0011); the table has only a
// blob index (kind PUT_REF). Code that needs the value, to show it or to fold operands onto it, calls Resolve.
//
//     std::string_view value;
//     RETURN_IF_ERROR(values->Resolve(entry, &value));      // entry: a blob index; value: that of the put
//
// WHY an interface in this layer: iterators must not know files. src/read/ and src/compaction/ implement it.
#pragma once

#include <string_view>

#include "kv/iterator.h"
#include "mergedb/status.h"

namespace mergedb::kv {

// THREADS: one thread at a time.
class ValueSource {
 public:
  virtual ~ValueSource() = default;
  // REQUIRES: `entry` is a blob index. *value lives until the next call. Corruption: the blob index does not
  // lead to a value of this key.
  virtual Status Resolve(const Entry& entry, std::string_view* value) = 0;
  // True if these bytes, which an entry or Resolve has just shown, outlive the iterator's moves: then no copy is
  // needed.
  virtual bool Lasts(std::string_view) { return false; }
};

}  // namespace mergedb::kv
