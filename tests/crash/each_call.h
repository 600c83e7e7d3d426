// Repeats an operation on the same files; in each repetition another call of the file system fails, once:
//
//     ForEachFailingCall(*image, [&](SimulatedEnv& sim, const Fault& fault) {
//       sim.files->AddFault(fault);        // here, or after calls that must not fail
//       const auto report = Verify(...);
//       const bool was_hit = EndFault(sim);
//       ... judge, then repeat without a fault ...
//       return was_hit;                      // false: the operation makes fewer such calls
//     });
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "mergedb/repair.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"

namespace mergedb::testing {

inline constexpr FileOp kFailingCalls[] = {FileOp::kOpen,
                                           FileOp::kCreate,
                                           FileOp::kRead,
                                           FileOp::kWrite,
                                           FileOp::kTruncate,
                                           FileOp::kSync,
                                           FileOp::kClose,
                                           FileOp::kSizeOf,
                                           FileOp::kList,
                                           FileOp::kLock,
                                           FileOp::kMap,
                                           FileOp::kRemove,
                                           FileOp::kRename,
                                           FileOp::kLink,
                                           FileOp::kCreateDirectory,
                                           FileOp::kRemoveDirectory,
                                           FileOp::kSyncDirectory};

inline bool EndFault(SimulatedEnv& sim) {
  const bool was_hit = sim.files->faults_hit() > 0;
  sim.files->ClearFaults();
  return was_hit;
}

inline std::unique_ptr<SimulatedEnv> CopyOf(const FaultFileSystem& image) {
  return std::make_unique<SimulatedEnv>(SimulatedEnv::Options{.seed = 9},
                                        image.Crash(CrashMode::kKill, CrashModel::kStrict, 1));
}

// The first calls of a kind one by one; later calls, which are much alike, in growing steps.
inline void ForEachFailingCall(const FaultFileSystem& before,
                               const std::function<bool(SimulatedEnv&, const Fault&)>& act) {
  uint64_t failed = 0;
  for (const FileOp op : kFailingCalls) {
    for (uint64_t nth = 1; !::testing::Test::HasFailure(); nth += 1 + nth / 24) {
      SCOPED_TRACE(std::string(OpName(op)) + " " + std::to_string(nth));
      const auto sim = CopyOf(before);
      const bool goes_on = act(*sim, {.op = op, .nth = nth});
      EXPECT_EQ(sim->files->sync_after_failed_sync(), 0u);
      if (!goes_on) break;
      ++failed;
    }
  }
  EXPECT_GE(failed, 3u) << "nothing was made to fail";
}

// The same with a progress callback that asks to stop at its n-th call.
inline void ForEachGivingUp(const FaultFileSystem& before,
                            const std::function<bool(SimulatedEnv&, const Progress&)>& act) {
  for (uint64_t nth = 1; !::testing::Test::HasFailure(); ++nth) {
    SCOPED_TRACE("progress " + std::to_string(nth));
    const auto sim = CopyOf(before);
    uint64_t calls = 0;
    const bool goes_on = act(*sim, [&](uint64_t, uint64_t) { return ++calls < nth; });
    if (goes_on) continue;
    EXPECT_GT(nth, 1u) << "it never asks";
    return;
  }
}

}  // namespace mergedb::testing
