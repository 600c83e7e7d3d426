// Goal: whatever several threads of a process are doing when it is killed, or when the power fails, each promised
// commit is there afterwards, each as a whole, and none without those that returned before it began. Method: one number
// decides the options, what each client does, and the calls of the file system before which an image of the disk is
// taken; the scheduler (testing/scheduler.h) decides which thread runs. Each image is opened and judged (book.h).
//
//     MERGEDB_SEED=n                        begins with this number
//     MERGEDB_SCHEDULE='Threads7 41>6'      one schedule of number 7, with MERGEDB_SEED=7
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "book.h"
#include "mergedb/transaction.h"
#include "testing/explore.h"
#include "testing/geometry.h"
#include "testing/scheduled_env.h"
#include "testing/seed.h"
#include "testing/simulated_env.h"

namespace mergedb::simulate {
namespace {

using testing::CrashMode;
using testing::FaultFileSystem;
using testing::ScheduledEnv;
using testing::Scheduler;
using testing::SimulatedEnv;

constexpr uint64_t kClients = 3, kCalls = 6, kKeys = 5, kImagesMax = 6, kChangesOfARun = 120;

struct Counts {
  uint64_t images = 0, commits = 0;
};

Status ReadAll(DB& db, State* state) {
  const auto it = db.NewIterator();
  for (it->SeekToFirst(); it->Valid(); it->Next()) state->emplace('0' + std::string(it->key()), it->value());
  return it->status();
}

class Threads {
 public:
  Threads(uint64_t seed, Scheduler& run, Counts* counts)
      : seed_(seed),
        random_(seed * 0x9e3779b97f4a7c15u + 3),
        run_(run),
        env_(run, std::make_unique<FaultFileSystem>()),
        counts_(counts),
        geometry_(testing::DrawGeometry(seed, {.write_buffer_bytes_max = 64 << 10})) {
    for (uint64_t i = 0; i < kImagesMax; ++i) image_at_.insert(random_.Uniform(kChangesOfARun));
  }

  void Run();

 private:
  struct Image {
    std::unique_ptr<FaultFileSystem> files;
    Book book;
    End end;
  };

  Options OptionsOf(Options options) const {
    testing::Choose(geometry_, &options);
    return options;
  }
  void TakeImage();
  void Client(uint64_t client);
  void Write(uint64_t client, base::Random& random);
  Status Commit(uint64_t number, const std::vector<Change>& changes, Durability durability, bool is_transaction);
  void Look(uint64_t client);
  void Maintain(base::Random& random);
  void CheckImage(Image image, size_t index);
  void Complain(const std::string& problem) { run_.Fail("seed " + std::to_string(seed_) + ": " + problem); }

  const uint64_t seed_;
  base::Random random_;
  Scheduler& run_;
  ScheduledEnv env_;
  Counts* const counts_;
  const testing::Geometry geometry_;
  std::set<uint64_t> image_at_;  // numbers of changes of files
  Book book_;
  std::vector<Image> images_;
  std::unique_ptr<DB> db_;
};

void Threads::TakeImage() {
  const bool is_kill = random_.OneIn(3);
  const CrashMode mode =
      is_kill ? CrashMode::kKill : testing::kPowerCutModes[random_.Uniform(std::size(testing::kPowerCutModes))];
  const auto model = testing::kCrashModels[random_.Uniform(std::size(testing::kCrashModels))];
  images_.push_back({.files = env_.files->Crash(mode, model, random_.Next()),
                     .book = book_,
                     .end = is_kill ? End::kKilled : End::kPowerCut});
}

Status Threads::Commit(uint64_t number, const std::vector<Change>& changes, Durability durability,
                       bool is_transaction) {
  const std::string marker = Book::Marker(number).substr(1);
  if (!is_transaction) {
    WriteBatch batch;
    for (const Change& change : changes)
      change.kind == Change::Kind::kPut ? batch.Put(change.key.substr(1), change.value)
                                        : batch.Delete(change.key.substr(1));
    batch.Put(marker, "");
    return db_->Write({.durability = durability}, batch);
  }
  auto transaction = Transaction::Begin(*db_, {.kind = TransactionKind::kOptimistic, .durability = durability});
  if (!transaction) return transaction.status();
  Status status = (*transaction)->Put(marker, "");
  for (const Change& change : changes) {
    if (!status.ok()) break;
    status = change.kind == Change::Kind::kPut ? (*transaction)->Put(change.key.substr(1), change.value)
                                               : (*transaction)->Delete(change.key.substr(1));
  }
  return status.ok() ? (*transaction)->Commit() : status;
}

// A commit of the client's own keys.
void Threads::Write(uint64_t client, base::Random& random) {
  constexpr Durability kDurabilities[] = {Durability::kProcessCrash, Durability::kProcessCrash, Durability::kSynced,
                                          Durability::kNoWal};
  const Durability durability = kDurabilities[random.Uniform(std::size(kDurabilities))];
  const bool is_transaction = random.OneIn(4) && durability != Durability::kNoWal;
  std::vector<Change> changes;
  for (uint64_t i = 0; i <= random.Uniform(3); ++i) {
    Change change{.key = "0client" + std::to_string(client) + "key" + std::to_string(random.Uniform(kKeys))};
    if (random.OneIn(5)) change.kind = Change::Kind::kDelete;
    if (change.kind == Change::Kind::kPut)
      change.value =
          std::to_string(book_.next()) + ":" + std::string(random.OneIn(8) ? 12'000 : random.Uniform(300), 'v');
    changes.push_back(std::move(change));
  }
  const uint64_t number = book_.Begin(changes, durability);
  const Status status = Commit(number, changes, durability, is_transaction);
  book_.End(number, status);
  ++counts_->commits;
  if (!status.ok()) Complain("write: " + status.ToString());
}

// Each client sees its own commits.
void Threads::Look(uint64_t client) {
  const std::string prefix = "0client" + std::to_string(client);
  State expected;
  for (const auto& [key, value] : book_.live())
    if (key.starts_with(prefix)) expected.emplace(key, value);
  IteratorOptions options;
  options.prefix = prefix.substr(1);
  const auto it = db_->NewIterator(options);
  State found;
  for (it->SeekToFirst(); it->Valid(); it->Next()) found.emplace('0' + std::string(it->key()), it->value());
  if (!it->status().ok()) return Complain("scan: " + it->status().ToString());
  if (const std::string difference = Difference(found, expected); !difference.empty()) Complain("scan: " + difference);
}

void Threads::Maintain(base::Random& random) {
  const uint64_t moment = book_.now();
  const uint64_t choice = random.Uniform(4);
  const Status status = choice < 2 ? db_->SyncWal() : choice == 2 ? db_->Flush() : db_->CompactRange(nullptr, nullptr);
  if (!status.ok()) return Complain("sync, flush or compact: " + status.ToString());
  choice < 2 ? book_.Synced(moment) : book_.Flushed(moment);
}

void Threads::Client(uint64_t client) {
  base::Random random(seed_ * 31 + client);
  for (uint64_t i = 0; i < kCalls && !run_.has_failed(); ++i) {
    const uint64_t choice = random.Uniform(10);
    choice < 6 ? Write(client, random) : choice < 8 ? Look(client) : Maintain(random);
  }
}

void Threads::CheckImage(Image image, size_t index) {
  SimulatedEnv sim({.seed = seed_}, std::move(image.files));
  const std::string name =
      "image " + std::to_string(index) + (image.end == End::kKilled ? " (kill): " : " (power cut): ");
  const auto db = DB::Open(OptionsOf(sim.SmallOptions()), ScheduledEnv::kPath);
  if (!db) return Complain(name + db.status().ToString());
  State found;
  if (const Status status = ReadAll(**db, &found); !status.ok()) return Complain(name + status.ToString());
  if (const std::string problem = image.book.Reopened(found, image.end); !problem.empty()) Complain(name + problem);
}

void Threads::Run() {
  db_ = env_.Open(OptionsOf(env_.SmallOptions()));
  if (db_ == nullptr) return;
  uint64_t change = 0;
  env_.files->SetOpHook([&](uint64_t, const char*, const std::string&) {
    if (image_at_.contains(change++)) TakeImage();
  });
  for (uint64_t client = 0; client < kClients; ++client)
    run_.Spawn("client" + std::to_string(client), [this, client] { Client(client); });
  run_.JoinAll();
  env_.files->SetOpHook({});
  TakeImage();
  for (size_t i = 0; i < images_.size() && !run_.has_failed(); ++i) CheckImage(std::move(images_[i]), i);
  counts_->images += images_.size();
  if (const Status status = db_->Close(); !status.ok()) Complain("close: " + status.ToString());
}

TEST(SimulateThreads, EachImageKeepsEachPromise) {
  Counts counts;
  const uint64_t first = testing::SeedOr(1), worlds = testing::Sized(60, 5000, 4);
  uint64_t runs = 0;
  for (uint64_t seed = first; seed < first + worlds && !HasFailure(); ++seed) {
    const auto explored = testing::Explore({.name = "Threads" + std::to_string(seed),
                                            .deviations_max = 0,
                                            .random_runs = 12,
                                            .seed = seed,
                                            .is_quiet = true},
                                           [&](Scheduler& run) { Threads(seed, run, &counts).Run(); });
    EXPECT_EQ(explored.finding, "") << "MERGEDB_SEED=" << seed;
    runs += explored.runs;
  }
  std::printf("%llu schedules, %llu commits, %llu images\n", runs + 0ull, counts.commits + 0ull, counts.images + 0ull);
}

}  // namespace
}  // namespace mergedb::simulate
