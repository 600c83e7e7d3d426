// Cuts the power, or kills the process, at every call of a workload and during the recoveries that follow.
//
//     workload   op op op op op            before each operation that changes a file, and after each call that returns,
//                 |  |  |  |  |            take the images of all modes and models (of a kill, only one image);
//               recover and check each     cut some of the recoveries in the same way, down to depth 3
//
// Images with equal files are recovered once. Their content is compared with the oracle each time, because more
// commits are promised at each point. All that was durable before a cut must be there after it, whatever cuts follow:
// a nested image holds exactly the state that the recovery of its parent showed. TakeNested has the exceptions: a
// power cut after a kill, and a disk that lied.
//
// A failure gives a line that replays it, and a directory with the files of the image:
//     MERGEDB_CUT="seed=7 style=lazy staging=mapped steps=psf point=31 cut=block-mix/strict nested=12:min/journaled"
// THREADS: one, except the threads of the workload's groups.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "testing/crash_oracle.h"
#include "testing/cut_check.h"
#include "testing/cut_workload.h"

namespace mergedb::testing {

// One crash at a point. The points, counted from 1, are before each file operation and after each call that returns.
struct Cut {
  uint64_t point = 0;
  CrashMode mode = CrashMode::kMin;
  CrashModel model = CrashModel::kStrict;
};

// Which crashes of a workload are checked.
struct CutPlan {
  // No crash is checked before this step (a shorter workload covers it) or before the sync that has to fail.
  size_t first_step = 0;
  uint64_t point_one_in = 1;
  uint64_t nest_one_in = 24;  // one in so many images has its recovery cut too
  int depth_max = 3;
};

struct CutCounts {
  bool has_faulted = false;  // the sync that had to fail has failed
  uint64_t points = 0;
  uint64_t states = 0;     // checked crash states
  uint64_t recovered = 0;  // images that were recovered: no earlier image had the same files
  uint64_t nested = 0;     // states after cuts of recoveries
  uint64_t corrupt = 0;    // states in which the database noticed a lost sync
};

// The recovered content of images, by fingerprint. Workloads with the same seed and options share it, because they
// begin with the same steps.
class SeenImages {
 public:
  const Recovered* Find(uint64_t look) const;
  const Recovered* Keep(uint64_t look, Recovered recovered);

 private:
  std::unordered_map<uint64_t, Recovered> seen_;
};

class PowerCuts {
 public:
  PowerCuts(const CutSetup& setup, const CutPlan& plan, SeenImages* seen);

  // Returns the first failure with the line that replays it; empty if the database kept every promise.
  std::string Run();
  // Replays one cut, and the cuts of the recoveries that follow it.
  std::string Replay(const std::vector<Cut>& cuts);
  const CutCounts& counts() const { return counts_; }

 private:
  struct Image {
    std::unique_ptr<FaultFileSystem> files;
    std::vector<Cut> cuts;  // the cuts that led to this image
    CrashOracle::Owed owed;
    std::optional<CrashOracle::State> exact = {};  // if set, the image must hold exactly this state
    // false: the image may hold unsynced bytes, which the next power cut may drop
    bool is_durable = true;
    bool has_lied = false;  // an earlier cut lost a sync (kLostSync)
  };

  std::string RunSteps();
  void AtPoint();
  uint64_t SeedOf(const std::vector<Cut>& cuts) const;
  Image Take(const Cut& cut) const;
  Image TakeNested(const Image& image, const FaultFileSystem& files, const Cut& cut,
                   const CrashOracle::State& held) const;
  std::string CheckImage(Image image);
  std::string CutRecovery(const Image& image, const CrashOracle::State& held);
  std::string Blame(const Image& image, const std::string& problem) const;
  RecoveryCheck CheckFor(const Image& image) const;

  const CutSetup setup_;
  const CutPlan plan_;
  SeenImages* const seen_;
  SimulatedEnv sim_;
  CutBooks books_;
  CutWorkload workload_;
  CutCounts counts_;
  bool is_armed_ = false;
  std::vector<Cut> replay_;  // empty: run all cuts
  std::string problem_;
};

// Prints "seed=7 style=lazy ...", and parses it.
std::string PrintCuts(const CutSetup& setup, const std::vector<Cut>& cuts);
bool ParseCuts(const std::string& text, CutSetup* setup, std::vector<Cut>* cuts);

}  // namespace mergedb::testing
