// A state of the database that someone still needs to read. Hold it by the shared pointer that GetSnapshot gave;
// the last holder lets go of it. While it lives, what it can see stays on disk: property "mergedb.snapshots" lists
// the oldest one. It may outlive the database: reading through it is then an error, releasing it is nothing.
#pragma once

#include <cstdint>

#include "mergedb/export.h"

namespace mergedb {

class MERGEDB_EXPORT Snapshot {
 public:
  virtual ~Snapshot();
  // Writes with a sequence number up to this one are visible.
  virtual uint64_t sequence() const = 0;
};

}  // namespace mergedb
