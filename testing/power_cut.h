// Power cuts and kills at every call of a workload, and of the recoveries that they lead to.
//
//     workload   op op op op op            before each operation that changes a file, and after each call that returned, take
//                 |  |  |  |  |            the images of all modes and models;
//               recover and check each     cut the recoveries of some of them in the same way, down to depth 3
//
// Images that look alike are recovered once; what they hold is judged each time, since what was promised grows. What was durable
// before a cut must be there after it, whatever cuts follow: a nested image holds exactly what its parent's recovery showed.
//
// A failure is one line that replays it, and a directory with the image's files:
//     MERGEDB_CUT="seed=7 style=lazy staging=mapped steps=psf point=31 cut=block-mix/strict nested=12:min/journaled"
// THREADS: one, but for the workload's own groups.
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

// One crash: before the operation or at the moment `point`, counted from 1.
struct Cut {
  uint64_t point = 0;
  CrashMode mode = CrashMode::kMin;
  CrashModel model = CrashModel::kStrict;
};

// Which crashes of a workload are checked.
struct CutPlan {
  size_t first_step = 0;  // none before it: a shorter workload had them; nor before a sync that is to fail did
  uint64_t point_one_in = 1;
  uint64_t nest_one_in = 24;  // images whose recovery is cut as well
  int depth_max = 3;
};

struct CutCounts {
  bool has_faulted = false;  // the sync that was to fail came
  uint64_t points = 0;
  uint64_t states = 0;     // crash states judged
  uint64_t recovered = 0;  // of them, images that were recovered: no other looked the same
  uint64_t nested = 0;     // of them, cuts of recoveries
  uint64_t corrupt = 0;    // lies of the disk that the database noticed
};

// What images hold, by their looks. Shared by workloads of one seed and one set of options, whose beginnings are the same.
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

  // The first failure, with the line that replays it; empty if every promise was kept.
  std::string Run();
  // One cut, and cuts of the recoveries that follow it.
  std::string Replay(const std::vector<Cut>& cuts);
  const CutCounts& counts() const { return counts_; }

 private:
  struct Image {
    std::unique_ptr<FaultFileSystem> files;
    std::vector<Cut> cuts;  // how it came to be
    CrashOracle::Owed owed;
    std::optional<CrashOracle::State> exact = {};  // what it must hold
    bool is_durable = true;                        // nothing of it is at the mercy of the next power cut
    bool has_lied = false;                         // a sync was lost on the way
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
  World world_;
  CutBooks books_;
  CutWorkload workload_;
  CutCounts counts_;
  bool is_armed_ = false;
  std::vector<Cut> replay_;  // empty: all
  std::string problem_;
};

// "seed=7 style=lazy ...", and back.
std::string PrintCuts(const CutSetup& setup, const std::vector<Cut>& cuts);
bool ParseCuts(const std::string& text, CutSetup* setup, std::vector<Cut>* cuts);

}  // namespace mergedb::testing
