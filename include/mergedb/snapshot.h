// A snapshot: a state of the database that stays readable. GetSnapshot returns it as a shared pointer; the
// release of the last pointer releases the snapshot. While it lives, everything that it can see stays on
// disk. Property "mergedb.snapshots" lists the oldest snapshot. A snapshot may outlive the database: then a
// read through it is an error, and its release has no effect.
// THREADS: any.
#pragma once

#include <cstdint>

#include "mergedb/export.h"

namespace mergedb {

class MERGEDB_EXPORT Snapshot {
 public:
  virtual ~Snapshot();
  // The snapshot sees all writes with a sequence number up to this one.
  virtual uint64_t sequence() const = 0;
};

}  // namespace mergedb
