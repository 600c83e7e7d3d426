// Where the value of a PUT_REF is to be had. Large values stand in files of their own (docs/decisions/0011); what a table
// holds of them is a reference, and whoever needs the value itself, to show it or to fold something onto it, asks here.
//
//     std::string_view value;
//     RETURN_IF_ERROR(values->Resolve(entry, &value));      // entry: PUT_REF; value: what was put
//
// WHY an interface down here: streams are pure and must not know files; src/read/ and src/compaction/ bring one along.
#pragma once

#include <string_view>

#include "kv/iterator.h"
#include "mergedb/status.h"

namespace mergedb::kv {

// THREADS: not for two threads at once.
class ValueSource {
 public:
  virtual ~ValueSource() = default;
  // REQUIRES: `entry` is a PUT_REF. OK and the value, which lives until the next call; or an error: a reference that does
  // not lead to a value of just this key is Corruption.
  virtual Status Resolve(const Entry& entry, std::string_view* value) = 0;
};

}  // namespace mergedb::kv
