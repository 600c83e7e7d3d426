// Says what limits a database, as a pure function of the state that it published (format/live_state.h). The rules use
// counters of the window (the last ten seconds) and present values, and no history.
//
// A finding has the figures that led to it and the option or the change that would help. The most urgent one is first.
// A database that works well has no finding.
//
// Tests: tests/db/diagnosis_test.cc stages each cause.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "format/live_state.h"

namespace mergedb::db {

enum class Cause {
  kFullDisk,      // writes or background work fail for lack of space
  kFailedDisk,    // they fail for another reason
  kUnreadable,    // compactions cannot read a file, and leave it alone
  kSyncs,         // writers wait for a sync of each write
  kSlowDisk,      // flushes and compactions wait for the device, and writers for them
  kCompactions,   // flushes and compactions are behind, and the device is not the reason
  kSmallCache,    // readers find few blocks in the block cache, which is full
  kTombstones,    // scans pass over deleted keys
  kHeldSnapshot,  // a snapshot keeps old versions
  kBlobGarbage,   // most bytes of blob files are garbage
  kHotKey,        // most records of the memtables are versions of one key
};
std::string_view CauseName(Cause cause);  // for programs: "full_disk"

struct Figure {
  std::string name;  // of a metric, or of a value that is computed from metrics
  std::string value;
};

struct Finding {
  Cause cause;
  int rank = 0;        // 0 to 100
  std::string text;    // what limits the database now, one or two sentences
  std::string advice;  // what would change it
  std::vector<Figure> figures;
};

// Ordered by rank. Empty: nothing limits the database.
std::vector<Finding> Diagnose(const format::LiveState& state);

}  // namespace mergedb::db
