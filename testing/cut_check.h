// Is what a crash left a database that keeps its promises? Open it, read everything every way, compare with the oracle, write
// again, stop again (cleanly, by a kill or by another power cut, as the seed says), open again, compare again.
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
  // A disk that lied: the database may say Corruption, but never anything wrong.
  bool may_be_corrupt = false;
  // Kills alone, and no sync that failed: nothing is lost, and nothing may be reported as lost.
  bool is_plain_kill = false;
  uint64_t seed = 0;
};

struct Recovered {
  std::string problem = {};       // empty: every promise was kept
  CrashOracle::State state = {};  // what the database held
  bool is_corrupt = false;        // it said so, and that was allowed
};

// `image` is written to.
Recovered CheckRecovery(std::unique_ptr<FaultFileSystem> image, const RecoveryCheck& check);
// The judgement alone, on a state that was read before.
std::string JudgeState(const CrashOracle::State& state, const RecoveryCheck& check);

}  // namespace mergedb::testing
