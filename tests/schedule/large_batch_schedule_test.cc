// A batch that fills several memtables, beside every kind of reader: each sees all of it or nothing of it, and a snapshot keeps
// seeing the same. Method: schedules of testing/explore.h.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "mergedb/transaction.h"
#include "testing/explore.h"
#include "testing/scheduled_world.h"
#include "testing/seed.h"

namespace mergedb::testing {
namespace {

constexpr int kKeys = 12;
constexpr size_t kValueBytes = 9 << 10;  // three to a memtable

std::string Key(int i) { return "key" + std::to_string(i); }

// What a reader saw: one letter for each key, the first of its value.
using Seen = std::string;

void Note(Seen* seen, const Status& status, const std::string& value) {
  *seen += status.ok() ? value.substr(0, 1) : status.IsNotFound() ? "-" : status.ToString();
}

void ExpectWhole(Scheduler& scheduler, const std::string& reader, const Seen& seen) {
  const std::set<char> letters(seen.begin(), seen.end());
  if (letters.size() == 1 && seen.size() == kKeys) return;
  scheduler.Fail(reader + " saw a part of a batch: " + seen);
}

Seen ReadAll(DB& db, const ReadOptions& options) {
  std::vector<std::string> keys(kKeys), values;
  for (int i = 0; i < kKeys; ++i) keys[static_cast<size_t>(i)] = Key(i);
  const auto statuses = db.MultiGet(options, {keys.begin(), keys.end()}, &values);
  Seen seen;
  for (size_t i = 0; i < kKeys; ++i) Note(&seen, statuses[i], values[i]);
  return seen;
}

using Reader = std::function<void(ScheduledWorld&, DB&)>;

// All keys are "old", some in a table and some in the memtable that the batch begins in; one writer writes them all anew, those in
// the memtable first.
void RunBesideLargeBatch(Scheduler& scheduler, const Reader& reader, bool is_reader_first) {
  ScheduledWorld world(scheduler);
  const auto db = world.Open();
  if (db == nullptr) return;
  for (int i = 0; i < kKeys; ++i) {
    world.Expect(db->Put({}, Key(i), "old"), "put");
    if (i == kKeys / 2) world.Expect(db->Flush(), "flush");
  }
  // The first one, stopped once, stays where it is while the other goes on.
  if (is_reader_first) scheduler.Spawn("reader", [&] { reader(world, *db); });
  scheduler.Spawn("writer", [&] {
    WriteBatch batch;
    for (int i = kKeys; i-- > 0;) batch.Put(Key(i), std::string(kValueBytes, 'n'));
    world.Expect(db->Write({}, batch), "write");
    world.Expect(db->Flush(), "flush");
  });
  if (!is_reader_first) scheduler.Spawn("reader", [&] { reader(world, *db); });
  scheduler.JoinAll();
}

void Check(const std::string& name, const Reader& reader, bool is_reader_first, uint64_t systematic_runs, uint64_t random_runs) {
  const Explored explored = Explore({.name = name,
                                     .deviations_max = 2,
                                     .systematic_runs_max = Sized(systematic_runs, 50 * systematic_runs),
                                     .random_runs = Sized(random_runs, 50 * random_runs),
                                     .seed = SeedOr(1)},
                                    [&](Scheduler& scheduler) { RunBesideLargeBatch(scheduler, reader, is_reader_first); });
  EXPECT_TRUE(explored.finding.empty()) << explored.finding;
}

TEST(LargeBatchSchedule, MultiGetSeesAllOfItOrNothing) {
  Check("LargeBatchMultiGet", [](ScheduledWorld& world, DB& db) { ExpectWhole(world.scheduler, "MultiGet", ReadAll(db, {})); }, true, 600, 200);
}

TEST(LargeBatchSchedule, AnIteratorSeesAllOfItOrNothing) {
  Check("LargeBatchIterator", [](ScheduledWorld& world, DB& db) {
    Seen seen;
    const auto it = db.NewIterator();
    for (it->SeekToFirst(); it->Valid(); it->Next()) Note(&seen, {}, std::string(it->value()));
    world.Expect(it->status(), "iterate");
    ExpectWhole(world.scheduler, "an iterator", seen);
  }, true, 600, 200);
}

TEST(LargeBatchSchedule, ASnapshotSeesAllOfItOrNothingAndStaysTheSame) {
  Check("LargeBatchSnapshot", [](ScheduledWorld& world, DB& db) {
    const auto snapshot = db.GetSnapshot();
    const Seen seen = ReadAll(db, {.snapshot = snapshot.get()});
    ExpectWhole(world.scheduler, "a snapshot", seen);
    const Seen later = ReadAll(db, {.snapshot = snapshot.get()});
    if (seen != later) world.scheduler.Fail("a snapshot saw " + seen + ", then " + later);
  }, false, 600, 600);
}

TEST(LargeBatchSchedule, ATransactionSeesAllOfItOrNothing) {
  Check("LargeBatchTransaction", [](ScheduledWorld& world, DB& db) {
    auto transaction = Transaction::Begin(db, {.kind = TransactionKind::kReadOnly});
    world.Expect(transaction.status(), "begin");
    if (!transaction) return;
    Seen seen;
    std::string value;
    for (int i = 0; i < kKeys; ++i) Note(&seen, (*transaction)->Get(Key(i), &value), value);
    ExpectWhole(world.scheduler, "a transaction", seen);
  }, false, 600, 400);
}

}  // namespace
}  // namespace mergedb::testing
