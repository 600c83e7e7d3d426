// Checks that the database that a crash left keeps its promises: opens it, reads everything in every way, compares
// with the oracle and writes again. Then it stops the database again (the seed chooses a clean close, a kill or
// another power cut), opens it again and compares again.
#pragma once

#include <optional>
#include <string>

#include "testing/crash_oracle.h"
#include "testing/cut_workload.h"

namespace mergedb::testing {

struct RecoveryCheck {
  const CutSetup& setup;
  const CrashOracle& oracle;
  CrashOracle::Owed owed;
  // True if the disk lied: the database may return Corruption, but never wrong data.
  bool may_be_corrupt = false;
  // True if only kills happened and no sync failed: nothing is lost, and the database must report no loss.
  bool is_plain_kill = false;
  uint64_t seed = 0;
};

struct Recovered {
  std::string problem = {};       // empty: the database kept every promise
  CrashOracle::State state = {};  // what the database held
  bool is_corrupt = false;        // the database reported Corruption, and that was allowed
};

// Changes `image`.
Recovered CheckRecovery(std::unique_ptr<FaultFileSystem> image, const RecoveryCheck& check);
// Only the comparison with the oracle, for a state that was read before.
std::string JudgeState(const CrashOracle::State& state, const RecoveryCheck& check);

}  // namespace mergedb::testing
