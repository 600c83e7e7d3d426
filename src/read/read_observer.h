// What iterators tell the database that made them, for its choice of compactions.
#pragma once

#include <cstdint>

#include "iterator/tombstone_scan.h"

namespace mergedb::read {

// THREADS: called on the threads of the readers, maybe after Close.
class ReadObserver {
 public:
  virtual ~ReadObserver() = default;
  // A move passed over very many deleted keys.
  virtual void NoteTombstoneScan(iterator::TombstoneScan scan) = 0;
  // Bytes of blob values that were read one by one (blob/scanner.h).
  virtual void NoteScatteredValues(uint64_t bytes) = 0;
  // Seeks visited `visits` sorted runs beside the first one.
  virtual void NoteRunVisits(uint64_t visits) = 0;
};

}  // namespace mergedb::read
