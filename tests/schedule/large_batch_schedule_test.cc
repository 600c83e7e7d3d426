// A batch that fills several memtables, beside every kind of reader: each reader sees all of it or nothing of
// it, and a snapshot keeps seeing the same. Method: schedules of testing/explore.h.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "mergedb/transaction.h"
#include "testing/explore.h"
#include "testing/scheduled_env.h"
#include "testing/seed.h"

namespace mergedb::testing::large_batch_schedule_test {
namespace {

constexpr int kKeys = 12;
constexpr size_t kValueBytes = 9 << 10;  // three to a memtable

std::string Key(int i) { return "key" + std::to_string(i); }

// What a reader saw: for each key the first letter of its value.
using Seen = std::string;

void Note(Seen* seen, const Status& status, const std::string& value) {
  *seen += status.ok() ? value.substr(0, 1) : status.IsNotFound() ? "-" : status.ToString();
}

void ExpectWhole(Scheduler& scheduler, const std::string& reader, const Seen& seen) {
  const std::set<char> letters(seen.begin(), seen.end());
  if (letters.size() == 1 && seen.size() == kKeys && (seen[0] == 'o' || seen[0] == 'n')) return;
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

using Reader = std::function<void(ScheduledEnv&, DB&)>;
struct Program {
  bool is_reader_first = true;  // a stopped reader stays stopped while the writer continues
  Reader reader;
  Reader afterwards = [](ScheduledEnv&, DB&) {};
};

// All keys are "old", some in a table and some in the memtable in which the batch begins; one writer
// overwrites them all, those in the memtable first.
void RunBesideLargeBatch(Scheduler& scheduler, const Program& program) {
  ScheduledEnv sim(scheduler);
  const auto db = sim.Open();
  if (db == nullptr) return;
  for (int i = 0; i < kKeys; ++i) {
    sim.Expect(db->Put({}, Key(i), "old"), "put");
    if (i == kKeys / 2) sim.Expect(db->Flush(), "flush");
  }
  const auto read = [&] { program.reader(sim, *db); };
  if (program.is_reader_first) scheduler.Spawn("reader", read);
  scheduler.Spawn("writer", [&] {
    WriteBatch batch;
    for (int i = kKeys; i-- > 0;) batch.Put(Key(i), std::string(kValueBytes, 'n'));
    sim.Expect(db->Write({}, batch), "write");
    // a compaction of some keys drops the versions that no snapshot needs
    const std::string_view lower = "key3", upper = "key6";
    sim.Expect(db->CompactRange(&lower, &upper), "compact");
  });
  if (!program.is_reader_first) scheduler.Spawn("reader", read);
  scheduler.JoinAll();
  program.afterwards(sim, *db);
}

void Check(const std::string& name, uint64_t systematic_runs, uint64_t random_runs, const Program& program) {
  const Explored explored = Explore({.name = name,
                                     .deviations_max = 2,
                                     .systematic_runs_max = Sized(systematic_runs / 4, 10 * systematic_runs),
                                     .random_runs = Sized(random_runs / 4, 10 * random_runs),
                                     .seed = SeedOr(1)},
                                    [&](Scheduler& scheduler) { RunBesideLargeBatch(scheduler, program); });
  EXPECT_TRUE(explored.finding.empty()) << explored.finding;
}

TEST(LargeBatchSchedule, MultiGetSeesAllOfItOrNothing) {
  Check("LargeBatchMultiGet", 500, 200,
        {.reader = [](ScheduledEnv& sim, DB& db) { ExpectWhole(sim.scheduler, "MultiGet", ReadAll(db, {})); }});
}

TEST(LargeBatchSchedule, AnIteratorSeesAllOfItOrNothing) {
  Check("LargeBatchIterator", 500, 200, {.reader = [](ScheduledEnv& sim, DB& db) {
          Seen seen;
          const auto it = db.NewIterator();
          for (it->SeekToFirst(); it->Valid(); it->Next()) Note(&seen, {}, std::string(it->value()));
          sim.Expect(it->status(), "iterate");
          ExpectWhole(sim.scheduler, "an iterator", seen);
        }});
}

// The threads only take the snapshot, so few schedules suffice.
TEST(LargeBatchSchedule, ASnapshotKeepsWhatItSees) {
  std::shared_ptr<const Snapshot> snapshot;
  Check("LargeBatchSnapshot", 500, 1500,
        {.is_reader_first = false,
         .reader = [&](ScheduledEnv&, DB& db) { snapshot = db.GetSnapshot(); },
         .afterwards =
             [&](ScheduledEnv& sim, DB& db) {
               ExpectWhole(sim.scheduler, "a snapshot", ReadAll(db, {.snapshot = snapshot.get()}));
               sim.Expect(db.CompactRange(nullptr, nullptr), "compact");
               ExpectWhole(sim.scheduler, "a snapshot after a compaction", ReadAll(db, {.snapshot = snapshot.get()}));
               snapshot = nullptr;
             }});
}

TEST(LargeBatchSchedule, ATransactionKeepsWhatItSees) {
  std::unique_ptr<Transaction> transaction;
  Check("LargeBatchTransaction", 500, 1500,
        {.is_reader_first = false,
         .reader =
             [&](ScheduledEnv& sim, DB& db) {
               auto begun = Transaction::Begin(db, {.kind = TransactionKind::kReadOnly});
               sim.Expect(begun.status(), "begin");
               if (begun) transaction = std::move(*begun);
             },
         .afterwards =
             [&](ScheduledEnv& sim, DB&) {
               Seen seen;
               std::string value;
               for (int i = 0; i < kKeys && transaction != nullptr; ++i) {
                 const Status status = transaction->Get(Key(i), &value);
                 Note(&seen, status, value);
               }
               ExpectWhole(sim.scheduler, "a transaction", seen);
               transaction = nullptr;
             }});
}

}  // namespace
}  // namespace mergedb::testing::large_batch_schedule_test
