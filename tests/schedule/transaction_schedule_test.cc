// Optimistic transactions beside group commits: for every formation of groups, a transaction that read a key
// which was written and acknowledged since then is a conflict, and sums are kept. Buffers are the smallest,
// so the window of recent writes (16 KiB) is smaller than a group. Method: schedules of testing/explore.h.
#include <gtest/gtest.h>

#include "mergedb/transaction.h"
#include "testing/explore.h"
#include "testing/scheduled_env.h"
#include "testing/seed.h"

namespace mergedb::testing::transaction_schedule_test {
namespace {

constexpr size_t kWindowBytes = 16 << 10;  // of SmallOptions

void Check(const std::string& name, uint64_t systematic_runs, uint64_t random_runs,
           const std::function<void(Scheduler&)>& program) {
  const Explored explored = Explore({.name = name,
                                     .deviations_max = 2,
                                     .systematic_runs_max = Sized(systematic_runs / 4, 10 * systematic_runs),
                                     .random_runs = Sized(random_runs / 4, 10 * random_runs),
                                     .seed = SeedOr(1)},
                                    program);
  EXPECT_TRUE(explored.finding.empty()) << explored.finding;
}

// Three writers meet, so that two of them may form one group; one of the writes is larger than the window.
void CommitAfterGroups(Scheduler& scheduler) {
  ScheduledEnv sim(scheduler);
  const auto db = sim.Open();
  if (db == nullptr) return;
  sim.Expect(db->Put({}, "read", "old"), "put");
  auto begun = Transaction::Begin(*db, {.kind = TransactionKind::kOptimistic});
  sim.Expect(begun.status(), "begin");
  if (!begun) return;
  std::string value;
  sim.Expect((*begun)->Get("read", &value), "get");

  scheduler.Spawn("first", [&] { sim.Expect(db->Put({}, "other1", "1"), "put"); });
  scheduler.Spawn("large", [&] {
    WriteBatch batch;
    batch.Put("read", "new");
    batch.Put("large", std::string(kWindowBytes + 1000, 'v'));
    sim.Expect(db->Write({}, batch), "write");
  });
  scheduler.Spawn("last", [&] { sim.Expect(db->Put({}, "other2", "2"), "put"); });
  scheduler.JoinAll();

  sim.Expect((*begun)->Put("written", value), "put in the transaction");
  const Status status = (*begun)->Commit();
  if (!status.IsConflict()) scheduler.Fail("a transaction whose read was overwritten committed: " + status.ToString());
}

TEST(TransactionSchedule, AReadThatWasOverwrittenIsAConflictWhateverGroupWroteIt) {
  Check("CommitAfterGroups", 1500, 300, CommitAfterGroups);
}

// Each thread adds one to the same counter in a transaction, and retries after a conflict; batches larger
// than the window run beside them.
void Increment(Scheduler& scheduler) {
  constexpr int kThreads = 3;
  ScheduledEnv sim(scheduler);
  const auto db = sim.Open();
  if (db == nullptr) return;
  sim.Expect(db->Put({}, "counter", "0"), "put");
  const auto add_one = [&] {
    for (;;) {
      auto transaction = Transaction::Begin(*db, {.kind = TransactionKind::kOptimistic});
      sim.Expect(transaction.status(), "begin");
      if (!transaction) return;
      std::string value;
      sim.Expect((*transaction)->Get("counter", &value), "get");
      sim.Expect((*transaction)->Put("counter", std::to_string(std::atoi(value.c_str()) + 1)), "put");
      sim.Expect((*transaction)->Put("ballast", std::string(kWindowBytes / 2, 'v')), "put");
      const Status status = (*transaction)->Commit();
      if (status.ok()) return;
      if (!status.IsConflict()) return scheduler.Fail("commit: " + status.ToString());
    }
  };
  for (int i = 0; i < kThreads; ++i) scheduler.Spawn("add" + std::to_string(i), add_one);
  scheduler.Spawn("other", [&] {
    WriteBatch batch;
    batch.Put("other", std::string(kWindowBytes, 'v'));
    sim.Expect(db->Write({}, batch), "write");
  });
  scheduler.JoinAll();
  std::string value;
  sim.Expect(db->Get({}, "counter", &value), "get");
  if (value != std::to_string(kThreads)) scheduler.Fail("increments were lost: " + value);
}

TEST(TransactionSchedule, IncrementsAreNotLost) { Check("Increment", 1000, 1000, Increment); }

}  // namespace
}  // namespace mergedb::testing::transaction_schedule_test
