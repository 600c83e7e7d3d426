// The errors of reads that an iterator skipped, for a reader that asked for this.
//
//   block 6 | block 7: wrong checksum | block 8      a scan shows block 6, then block 8; first() is block 7's error
//
// The LevelDB interface asks for this (docs/api/leveldb-differences.md): its iterators go on behind a block
// that they cannot read, and report the error in status(). An older version of a key may appear in place of a
// version that could not be read, so the reader must report first() to its caller. For a reader that does not
// ask, an iterator ends at the error, as rule R6 of kv/iterator.h says.
// THREADS: one thread at a time.
#pragma once

#include "mergedb/status.h"

namespace mergedb::kv {

class SkippedErrors {
 public:
  void Add(const Status& error) {
    if (first_.ok()) first_ = error;
  }
  // OK: nothing was skipped.
  const Status& first() const { return first_; }

 private:
  Status first_;
};

}  // namespace mergedb::kv
