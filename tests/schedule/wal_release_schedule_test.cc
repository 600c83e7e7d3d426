// A commit of the MANIFEST beside the WAL writer: a kill -9 after the removal of a WAL segment leaves a
// database that opens and holds all acknowledged writes. Method: schedules of testing/explore.h; an image of
// the files after each removal of a segment.
#include <gtest/gtest.h>

#include <vector>

#include "testing/explore.h"
#include "testing/scheduled_env.h"
#include "testing/seed.h"

namespace mergedb::testing::wal_release_schedule_test {
namespace {

std::string Key(int i) { return "key" + std::to_string(1000 + i); }

// Writes, and takes an image of the files as a kill after the removal of a segment would leave them.
class Killed {
 public:
  explicit Killed(ScheduledEnv& sim) : sim_(sim) {
    sim.files->SetOpHook([this](uint64_t, const char* what, const std::string& path) {
      // The hook runs before each operation: when it runs for the next operation, the segment is gone.
      if (was_removed_ && images_.size() < kImagesMax) Take();
      was_removed_ = std::string(what) == "remove" && path.ends_with(".seg");
    });
  }
  ~Killed() { sim_.files->SetOpHook({}); }

  void Put(DB& db, int i, size_t bytes) {
    const Status status = db.Put({}, Key(i), std::string(bytes, 'v'));
    if (status.ok()) acknowledged_.push_back(i);
    if (!status.IsIOError()) sim_.Expect(status, "put " + Key(i));  // of the fault
  }
  void CheckImages() {
    sim_.files->SetOpHook({});
    Take();
    for (Image& image : images_) {
      ScheduledEnv after(sim_.scheduler, std::move(image.files));
      const auto db = after.Open();
      if (db == nullptr) return;
      std::string value;
      for (const int i : image.acknowledged) sim_.Expect(db->Get({}, Key(i), &value), "after a kill, get " + Key(i));
    }
  }

 private:
  void Take() { images_.push_back({sim_.files->Crash(CrashMode::kKill, CrashModel::kStrict, 1), acknowledged_}); }

  static constexpr size_t kImagesMax = 4;
  struct Image {
    std::unique_ptr<FaultFileSystem> files;
    std::vector<int> acknowledged;
  };

  ScheduledEnv& sim_;
  std::vector<int> acknowledged_;
  std::vector<Image> images_;
  bool was_removed_ = false;
};

// A write of the WAL writer fails once: the database ends that segment and never uses it again. The writing
// thread then copies the WAL buffer itself.
void CommitBesideFailedWalWrite(Scheduler& scheduler) {
  ScheduledEnv sim(scheduler);
  const auto db = sim.Open();
  if (db == nullptr) return;
  Killed killed(sim);
  killed.Put(*db, 0, 6000);
  sim.Expect(db->Flush(), "flush");
  sim.files->AddFault({.op = FileOp::kWrite, .path_contains = ".seg", .nth = 1});
  scheduler.Spawn("flush", [&] {
    killed.Put(*db, 1, 6000);  // enough for the WAL writer to start, less than the WAL buffer
    sim.Expect(db->Flush(), "flush");
    killed.Put(*db, 2, 100);
    sim.Expect(db->Flush(), "flush");
  });
  scheduler.Spawn("writer", [&] { killed.Put(*db, 3, 100); });
  scheduler.JoinAll();
  killed.CheckImages();
}

TEST(WalReleaseSchedule, AKillAfterAFailedWalWriteLeavesWhatTheManifestLists) {
  const Explored explored = Explore({.name = "CommitBesideFailedWalWrite",
                                     .deviations_max = 2,
                                     .systematic_runs_max = Sized(200, 8'000),
                                     .random_runs = Sized(500, 20'000),
                                     .seed = SeedOr(1)},
                                    CommitBesideFailedWalWrite);
  EXPECT_TRUE(explored.finding.empty()) << explored.finding;
}

}  // namespace
}  // namespace mergedb::testing::wal_release_schedule_test
