// A checkpoint beside writes, flushes and commits holds a prefix of the writes. A Close beside all other
// calls loses no acknowledged write and leaves no thread waiting. Method: schedules of testing/explore.h, in
// which time may pass at any moment.
#include <gtest/gtest.h>

#include "mergedb/checkpoint.h"
#include "testing/explore.h"
#include "testing/scheduled_env.h"
#include "testing/seed.h"

namespace mergedb::testing::lifecycle_schedule_test {
namespace {

constexpr int kWrites = 12;
constexpr size_t kValueBytes = 4 << 10;  // eight writes fill a memtable

std::string Left(int i) { return "a" + std::to_string(1000 + i); }
std::string Right(int i) { return "b" + std::to_string(1000 + i); }

void Check(const std::string& name, uint64_t systematic_runs, uint64_t random_runs,
           const std::function<void(Scheduler&)>& program) {
  const Explored explored = Explore({.name = name,
                                     .scheduler = {.explores_time = true},
                                     .deviations_max = 2,
                                     .systematic_runs_max = Sized(systematic_runs / 4, 10 * systematic_runs),
                                     .random_runs = Sized(random_runs / 4, 10 * random_runs),
                                     .seed = SeedOr(1)},
                                    program);
  EXPECT_TRUE(explored.finding.empty()) << explored.finding;
}

// Writes pairs in order, and counts the begun and the acknowledged ones.
struct Writer {
  ScheduledEnv& sim;
  DB& db;
  int begun = 0;
  int acknowledged = 0;

  // Returns false if the database is closed.
  bool WriteOne() {
    WriteBatch batch;
    batch.Put(Left(begun), std::string(kValueBytes / 2, 'v'));
    batch.Put(Right(begun), std::string(kValueBytes / 2, 'v'));
    ++begun;
    const Status status = db.Write({}, batch);
    if (status.IsShuttingDown()) return false;
    sim.Expect(status, "write");
    ++acknowledged;
    return true;
  }
};

// The number of writes that are there; they must be a prefix, with both keys of each.
int CountPrefix(ScheduledEnv& sim, DB& db, const std::string& where) {
  int count = 0;
  std::string value;
  for (int i = 0; i < kWrites; ++i) {
    const Status left = db.Get({}, Left(i), &value), right = db.Get({}, Right(i), &value);
    if (left.ok() != right.ok()) sim.scheduler.Fail(where + " holds a half of write " + std::to_string(i));
    if (!left.ok() && !left.IsNotFound()) sim.scheduler.Fail(where + ": " + left.ToString());
    if (left.ok() && count < i) sim.scheduler.Fail(where + " lacks the write before " + std::to_string(i));
    if (left.ok()) count = i + 1;
  }
  return count;
}

void CheckpointBesideWrites(Scheduler& scheduler) {
  ScheduledEnv sim(scheduler);
  const auto db = sim.Open();
  if (db == nullptr) return;
  Writer writer{.sim = sim, .db = *db};
  for (int i = 0; i < 3; ++i) (void)writer.WriteOne();
  int acknowledged_before = 0, begun_after = 0;
  scheduler.Spawn("checkpoint", [&] {
    acknowledged_before = writer.acknowledged;
    sim.Expect(Checkpoint(*db, "/copy", {.may_link = true}).status(), "checkpoint");
    begun_after = writer.begun;
  });
  scheduler.Spawn("writer", [&] {
    while (writer.begun < kWrites) (void)writer.WriteOne();
  });
  scheduler.Spawn("flush", [&] { sim.Expect(db->Flush(), "flush"); });
  scheduler.JoinAll();
  if (scheduler.has_failed()) return;

  const auto copy = sim.Open(sim.SmallOptions(), "/copy");
  if (copy == nullptr) return;
  const int count = CountPrefix(sim, *copy, "the copy");
  if (count < acknowledged_before || count > begun_after) {
    scheduler.Fail("the copy holds " + std::to_string(count) + " writes; acknowledged before it " +
                   std::to_string(acknowledged_before) + ", begun before its end " + std::to_string(begun_after));
  }
  sim.Expect(copy->CheckIntegrity(), "check the copy");
}

TEST(LifecycleSchedule, ACheckpointBesideWritesHoldsAPrefix) {
  Check("CheckpointBesideWrites", 400, 500, CheckpointBesideWrites);
}

void CloseBesideEverything(Scheduler& scheduler) {
  ScheduledEnv sim(scheduler);
  auto db = sim.Open();
  if (db == nullptr) return;
  Writer writer{.sim = sim, .db = *db};
  for (int i = 0; i < 3; ++i) (void)writer.WriteOne();
  const auto expect_open_or_closed = [&](const Status& status, const std::string& what) {
    if (!status.IsShuttingDown()) sim.Expect(status, what);
  };
  scheduler.Spawn("writer", [&] {
    while (writer.begun < kWrites && writer.WriteOne()) {}
  });
  scheduler.Spawn("reader", [&] {
    std::string value;
    expect_open_or_closed(db->Get({}, Left(0), &value), "get");
    const auto it = db->NewIterator();
    int seen = 0;
    for (it->SeekToFirst(); it->Valid(); it->Next()) ++seen;
    expect_open_or_closed(it->status(), "iterate");
    if (it->status().ok() && seen % 2 != 0) scheduler.Fail("an iterator saw a half of a write");
  });
  scheduler.Spawn("compact", [&] {
    expect_open_or_closed(db->Flush(), "flush");
    expect_open_or_closed(db->CompactRange(nullptr, nullptr), "compact");
  });
  scheduler.Spawn("close", [&] { sim.Expect(db->Close(), "close"); });
  scheduler.JoinAll();
  if (scheduler.has_failed()) return;
  db = nullptr;

  db = sim.Open();
  if (db == nullptr) return;
  const int count = CountPrefix(sim, *db, "the database");
  if (count < writer.acknowledged || count > writer.begun) {
    scheduler.Fail("after Close there are " + std::to_string(count) + " writes of " +
                   std::to_string(writer.acknowledged));
  }
  sim.Expect(db->CheckIntegrity(), "check");
}

TEST(LifecycleSchedule, ACloseBesideEverythingLosesNothing) {
  Check("CloseBesideEverything", 400, 1500, CloseBesideEverything);
}

}  // namespace
}  // namespace mergedb::testing::lifecycle_schedule_test
