// What iterators pass over instead of ending there: the errors of reads that failed, for a reader that asked for it.
//
//   block 6 | block 7: checksum wrong | block 8        a walk: ... entries of 6, entries of 8 ...        first() is block 7's error
//
// LevelDB's interface asks for it (docs/api/leveldb-differences.md): its iterators go on behind a block that they cannot read and say so in
// status(). An older version of a key may show in place of one that could not be read, so a reader that asks must tell first() to its caller.
// A reader that does not ask ends at the error, as rule R6 of kv/iterator.h says.
// THREADS: none of it is for two threads at once.
#pragma once

#include "base/zoo.h"
#include "mergedb/status.h"

namespace mergedb::kv {

class SkippedErrors {
 public:
  void Add(const Status& error) {
    if (first_.ok() && !ZOO(kSkippedErrorForgotten)) first_ = error;
  }
  // OK: nothing was passed over.
  const Status& first() const { return first_; }

 private:
  Status first_;
};

}  // namespace mergedb::kv
