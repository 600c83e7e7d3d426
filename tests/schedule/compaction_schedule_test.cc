// Compactions that run beside each other: each CompactRange has done its range when it returns OK, and a deleted key stays
// deleted whatever a pick and a job that ends do to each other. Method: schedules of testing/explore.h.
#include <gtest/gtest.h>

#include "testing/explore.h"
#include "testing/scheduled_world.h"
#include "testing/seed.h"

namespace mergedb::testing {
namespace {

std::string Key(char prefix, int i) { return prefix + std::to_string(1000 + i); }

struct Range {
  std::string lower, upper;
  explicit Range(char prefix) : lower(1, prefix), upper(1, static_cast<char>(prefix + 1)) {}
};

Status Compact(DB& db, const Range& range) {
  const std::string_view lower = range.lower, upper = range.upper;
  return db.CompactRange(&lower, &upper);
}

// Tables hold keys of three ranges, newer ones delete them all. A compaction of a range leaves nothing of it.
void CompactTwoRanges(Scheduler& scheduler) {
  ScheduledWorld world(scheduler);
  const auto db = world.Open();
  if (db == nullptr) return;
  for (const char prefix : {'a', 'm', 'z'}) {
    for (int i = 0; i < 8; ++i) world.Expect(db->Put({}, Key(prefix, i), std::string(400, 'v')), "put");
  }
  world.Expect(db->Flush(), "flush");
  for (const char prefix : {'a', 'm'}) {
    for (int i = 0; i < 8; ++i) world.Expect(db->Delete({}, Key(prefix, i)), "delete");
  }
  world.Expect(db->Flush(), "flush");

  for (const char prefix : {'a', 'm'}) {
    scheduler.Spawn(std::string("compact ") + prefix, [&, prefix] {
      const Range range(prefix);
      world.Expect(Compact(*db, range), "compact");
      const uint64_t left = db->ApproximateSizes({{.lower = range.lower, .upper = range.upper}})[0];
      if (left > 0) scheduler.Fail("CompactRange returned OK and left " + std::to_string(left) + " bytes of its range: " + range.lower);
    });
  }
  scheduler.JoinAll();
}

TEST(CompactionSchedule, EachOfTwoCompactRangesHasDoneItsRange) {
  const Explored explored = Explore({.name = "CompactTwoRanges",
                                     .deviations_max = 2,
                                     .systematic_runs_max = Sized(1500, 15'000),
                                     .random_runs = Sized(800, 8'000),
                                     .seed = SeedOr(1)},
                                    CompactTwoRanges);
  EXPECT_TRUE(explored.finding.empty()) << explored.finding;
}

// cascade: four flushed runs are merged while a part of the oldest of them is on its way below them.
//
//   flushed   d           deletes a*                        the pick: merge these four; is anything older below them?
//   flushed   q q         hold b* alone
//   flushed   p           holds a* and b*                   CompactRange of a*, begun before d: p's a* go into the oldest run
//   oldest    z           holds z* alone
//
// A pick that looks at the View before that job installs, and at the running jobs after it ended, sees nothing below.
void PickBesideInstall(Scheduler& scheduler) {
  ScheduledWorld world(scheduler);
  Options options = world.SmallOptions();
  options.style = Style::kCascade;
  const auto db = world.Open(options);
  if (db == nullptr) return;
  for (int i = 0; i < 70; ++i) world.Expect(db->Put({}, Key('z', i), std::string(4000, 'z')), "put");
  world.Expect(db->CompactRange(nullptr, nullptr), "compact");
  world.Expect(db->Put({}, Key('a', 0), "deleted"), "put");
  for (int i = 0; i < 3; ++i) {
    world.Expect(db->Put({}, Key('b', i), "stays"), "put");
    world.Expect(db->Flush(), "flush");
  }

  // The second range holds nothing: a pick that it leads to looks for other work.
  scheduler.Spawn("compact x", [&] { world.Expect(Compact(*db, Range('x')), "compact"); });
  scheduler.Spawn("compact a", [&] { world.Expect(Compact(*db, Range('a')), "compact"); });
  scheduler.Spawn("delete", [&] {
    world.Expect(db->Delete({}, Key('a', 0)), "delete");
    world.Expect(db->Flush(), "flush");
  });
  scheduler.JoinAll();
  world.Expect(db->WaitForCompaction(), "wait");
  std::string value;
  if (!db->Get({}, Key('a', 0), &value).IsNotFound()) scheduler.Fail("a deleted key is there again: " + value);
}

TEST(CompactionSchedule, ADeletedKeyStaysDeletedWhateverAPickMissed) {
  const Explored explored = Explore({.name = "PickBesideInstall",
                                     .deviations_max = 3,
                                     .systematic_runs_max = Sized(3'000, 30'000),
                                     .random_runs = Sized(200, 2'000),
                                     .only_at = {"install a version", "pick between two looks", "begin a manual compaction"},
                                     .seed = SeedOr(1)},
                                    PickBesideInstall);
  EXPECT_TRUE(explored.finding.empty()) << explored.finding;
}

}  // namespace
}  // namespace mergedb::testing
