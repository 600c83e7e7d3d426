// Power cuts and kills at every operation of a workload: after each, the database opens, and what it holds is the state after
// the first P commits, where P covers all that was durable (kill: all that returned).
// Method: run the workload once; before each operation that changes a file, take one or more crash images and check them with
// fresh worlds against ModelDb. Images that look alike are checked once.
#include <gtest/gtest.h>

#include <set>

#include "mergedb/db.h"
#include "testing/model_db.h"
#include "testing/status_matchers.h"
#include "testing/world.h"

namespace mergedb::testing {
namespace {

struct Progress {
  uint64_t started = 0;   // commits begun
  uint64_t returned = 0;  // commits that returned OK
  uint64_t durable = 0;   // commits that a synced call covers
};

ModelDb::Pairs Contents(DB& db) {
  ModelDb::Pairs pairs;
  auto it = db.NewIterator();
  for (it->SeekToFirst(); it->Valid(); it->Next()) pairs.emplace_back(it->key(), it->value());
  EXPECT_OK(it->status());
  return pairs;
}

class PowerCut {
 public:
  PowerCut(uint64_t seed, Style style, bool use_mapping, uint64_t crash_one_in)
      : random_(seed), world_({.seed = seed}), style_(style), use_mapping_(use_mapping), crash_one_in_(crash_one_in) {}

  void Run(int commits) {
    world_.files->SetOpHook([this](uint64_t op, const char*, const std::string&) {
      if (random_.OneIn(crash_one_in_)) CrashHere(op);
    });
    for (int life = 0; life < 2; ++life) {
      auto db = DB::Open(WorldOptions(world_), World::kPath);
      ASSERT_OK(db.status());
      for (int i = 0; i < commits / 2 && !::testing::Test::HasFatalFailure(); ++i) OneCommit(**db);
      ASSERT_OK((*db)->Close());
      progress_.durable = progress_.returned;
    }
    world_.files->SetOpHook(nullptr);
    EXPECT_GT(images_, 20u);
  }

 private:
  Options WorldOptions(World& world) const {
    Options options = world.SmallOptions();
    options.style = style_;
    options.use_mapped_staging = use_mapping_;
    return options;
  }

  void OneCommit(DB& db) {
    std::vector<ModelDb::Change> changes;
    WriteBatch batch;
    const size_t size = 1 + random_.Uniform(4);
    for (size_t i = 0; i < size; ++i) {
      const std::string key = "k" + std::to_string(random_.Uniform(60));
      if (random_.OneIn(5)) {
        changes.push_back({.key = key});
        batch.Delete(key);
      } else {
        std::string value = std::to_string(progress_.started) + ":" + std::string(random_.Uniform(1500), 'v');
        batch.Put(key, value);
        changes.push_back({.key = key, .value = std::move(value)});
      }
    }
    model_.Commit(changes);
    ++progress_.started;
    const bool is_synced = random_.OneIn(5);
    ASSERT_OK(db.Write({.durability = is_synced ? Durability::kSynced : Durability::kProcessCrash}, batch));
    progress_.returned = progress_.started;
    if (is_synced) progress_.durable = progress_.returned;
    for (uint64_t steps = random_.Uniform(3); steps > 0; --steps) world_.executor.RunOne();
    if (random_.OneIn(60)) {
      ASSERT_OK(db.Flush());
      progress_.durable = progress_.returned;
    }
    if (random_.OneIn(100)) {
      ASSERT_OK(db.CompactRange(nullptr, nullptr));
    }
  }

  void CrashHere(uint64_t op) {
    const uint64_t seed = random_.Next();
    const size_t choice = seed % (1 + std::size(kPowerCutModes));
    const auto mode = choice == 0 ? CrashMode::kKill : kPowerCutModes[choice - 1];
    const auto model = kCrashModels[seed / 16 % std::size(kCrashModels)];
    auto after = World::After(world_, mode, model, seed);
    if (!seen_.insert(after->files->Fingerprint()).second) return;
    ++images_;
    SCOPED_TRACE("op " + std::to_string(op) + " mode " + CrashModeName(mode) + " model " + CrashModelName(model) +
                 " seed " + std::to_string(seed));
    const uint64_t least = mode == CrashMode::kKill ? progress_.returned : progress_.durable;
    Check(*after, least, random_.OneIn(4) ? 1 : 0);
  }

  // Open, compare, write on, reopen, compare; and crash again while opening, `nested` deep.
  void Check(World& world, uint64_t least, int nested) {
    // What a kill spared a power cut may still take, so the nested cuts owe only what was durable.
    if (nested > 0) CheckCrashesWhileOpening(world, progress_.durable);
    auto db = DB::Open(WorldOptions(world), World::kPath);
    ASSERT_OK(db.status());
    const ModelDb::Pairs found = Contents(**db);
    const auto prefix = model_.FindPrefix(found, least, progress_.started);
    ASSERT_TRUE(prefix.has_value()) << "not a prefix of " << least << ".." << progress_.started << " commits; "
                                    << found.size() << " pairs";
    ASSERT_OK((*db)->Put({.durability = Durability::kSynced}, "later", "write"));
    ASSERT_OK((*db)->Close());
    db = DB::Open(WorldOptions(world), World::kPath);
    ASSERT_OK(db.status());
    ModelDb::Pairs again = Contents(**db);
    std::erase(again, std::pair<std::string, std::string>("later", "write"));
    EXPECT_EQ(again, found);
  }

  void CheckCrashesWhileOpening(const World& crashed, uint64_t least) {
    World world({.seed = 5}, crashed.files->Crash(CrashMode::kKill, CrashModel::kStrict, 1));
    std::vector<std::unique_ptr<World>> images;
    world.files->SetOpHook([&](uint64_t op, const char*, const std::string&) {
      if (op % 7 == 3) images.push_back(World::After(world, CrashMode::kBlockMix, CrashModel::kStrict, op));
    });
    { auto db = DB::Open(WorldOptions(world), World::kPath); }
    world.files->SetOpHook(nullptr);
    for (auto& image : images) Check(*image, least, 0);
  }

  base::Random random_;
  World world_;
  const Style style_;
  const bool use_mapping_;
  const uint64_t crash_one_in_;
  ModelDb model_;
  Progress progress_;
  std::set<uint64_t> seen_;
  uint64_t images_ = 0;
};

class PowerCutTest : public ::testing::TestWithParam<std::tuple<uint64_t, Style, bool>> {};

TEST_P(PowerCutTest, LeavesAPrefixThatCoversAllThatWasDurable) {
  const auto [seed, style, use_mapping] = GetParam();
  SCOPED_TRACE("workload seed " + std::to_string(seed));
  PowerCut(seed, style, use_mapping, 3).Run(200);
}

INSTANTIATE_TEST_SUITE_P(Worlds, PowerCutTest,
                         ::testing::Combine(::testing::Range<uint64_t>(1, 4),
                                            ::testing::Values(Style::kLazy, Style::kCascade),
                                            ::testing::Values(true, false)));

}  // namespace
}  // namespace mergedb::testing
