// The flaws 1 to 8 of the original MergeDB, in their order, each as a behaviour that must hold here. Method:
// little data with tiny buffers, so that compactions never end; background steps one at a time, between the
// writes, in an order that the seed chooses; a map holds the expected contents.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mergedb/db.h"
#include "testing/counters.h"
#include "testing/model_db.h"
#include "testing/numbered_key.h"
#include "testing/seed.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"

namespace mergedb::testing {
namespace {

std::string Key(uint64_t i) { return NumberedKey("key", i, 7); }

ModelDb::Pairs Contents(DB& db) {
  ModelDb::Pairs pairs;
  auto it = db.NewIterator();
  for (it->SeekToFirst(); it->Valid(); it->Next()) pairs.emplace_back(it->key(), it->value());
  EXPECT_OK(it->status());
  return pairs;
}

size_t TablesIn(const FaultFileSystem& files) {
  const auto names = files.Files();
  return static_cast<size_t>(
      std::ranges::count_if(names, [](const std::string& name) { return name.ends_with(".tbl"); }));
}

class SeedFlaws : public ::testing::TestWithParam<Style> {
 protected:
  using Expected = std::map<std::string, std::string>;

  Options SmallOptions() {
    Options options = sim_.SmallOptions();
    options.style = GetParam();
    return options;
  }
  std::unique_ptr<DB> Open() { return OpenIn(sim_, SmallOptions()); }
  static std::unique_ptr<DB> OpenIn(SimulatedEnv&, const Options& options) {
    auto db = DB::Open(options, SimulatedEnv::kPath);
    EXPECT_OK(db.status());
    return db ? std::move(*db) : nullptr;
  }

  void PutOne(DB& db, uint64_t i, size_t value_bytes) {
    std::string value = std::to_string(++puts_) + ":";
    value.resize(value_bytes, 'v');
    ASSERT_OK(db.Put({}, Key(i), value));
    expected_[Key(i)] = std::move(value);
  }
  void DeleteOne(DB& db, uint64_t i) {
    ASSERT_OK(db.Delete({}, Key(i)));
    expected_.erase(Key(i));
  }
  void CheckOne(DB& db, uint64_t i) {
    std::string value;
    const Status status = db.Get({}, Key(i), &value);
    const auto found = expected_.find(Key(i));
    if (found == expected_.end()) {
      ASSERT_TRUE(status.IsNotFound()) << Key(i) << " is back: " << value.substr(0, 20) << status.ToString();
    } else {
      ASSERT_OK(status) << Key(i);
      ASSERT_EQ(value, found->second) << Key(i) << " is stale";
    }
  }
  void CheckAll(DB& db) { ASSERT_EQ(Contents(db), ModelDb::Pairs(expected_.begin(), expected_.end())); }

  SimulatedEnv sim_;
  Expected expected_;
  uint64_t puts_ = 0;
};

// Flaws 1 and 2, in an open database and after a reopen.
TEST_P(SeedFlaws, NeverShowsAStaleOrResurrectedKeyWhileCompactionsRun) {
  const uint64_t seed = SeedOr(11);
  SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed));
  base::Random random(seed);
  auto db = Open();
  constexpr uint64_t kKeys = 3'000;
  const uint64_t ops = IsFullSize() ? 600'000 : 20'000;
  for (uint64_t op = 0; op < ops; ++op) {
    const uint64_t i = random.Uniform(kKeys);
    if (op % 4 == 3) {
      CheckOne(*db, i);
    } else if (random.OneIn(10)) {
      DeleteOne(*db, i);
    } else {
      PutOne(*db, i, 1'000);
    }
    for (uint64_t steps = random.Uniform(4); steps > 0; --steps) sim_.executor.RunOne();
    if (HasFatalFailure()) FAIL() << "op " << op;
  }
  EXPECT_GT(Counter(*db, "compactions"), 10u);
  CheckAll(*db);
  ASSERT_OK(db->Close());
  db = Open();
  CheckAll(*db);
}

// Flaw 2: the machine stops between two releases of one compaction, shortly after deletes of many keys. A
// crash image shows the state after a prefix of the commits; no prefix has a deleted key alive again.
TEST_P(SeedFlaws, KeepsDeletedKeysDeletedWhenItCrashesInACompaction) {
  const uint64_t seed = SeedOr(12);
  SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed));
  base::Random random(seed);
  ModelDb model;
  auto db = Open();
  constexpr uint64_t kKeys = 9'000;
  uint64_t durable = 0, images = 0;
  bool takes_images = false;
  sim_.files->SetOpHook([&](uint64_t op, const char*, const std::string& path) {
    const bool is_manifest = path.find("MANIFEST") != std::string::npos;
    if (!takes_images || !random.OneIn(is_manifest ? SizedOneIn(12, 4) : SizedOneIn(400, 80)) ||
        ::testing::Test::HasFailure())
      return;
    const auto mode = random.OneIn(3) ? CrashMode::kKill : CrashMode::kPrefixTorn;
    auto after = SimulatedEnv::After(sim_, mode, CrashModel::kJournaled, op);
    Options options = after->SmallOptions();
    options.style = GetParam();
    auto recovered = OpenIn(*after, options);
    ASSERT_NE(recovered, nullptr);
    // The write in progress, the model's last one, may be missing.
    const uint64_t least = mode == CrashMode::kKill ? model.commits() - 1 : durable;
    const auto found = Contents(*recovered);
    ASSERT_TRUE(model.FindPrefix(found, least, model.commits())) << "op " << op << ", " << found.size() << " keys";
    ++images;
  });
  for (uint64_t n = 0; n < 4 * kKeys && !HasFailure(); ++n) {
    takes_images = n > kKeys;
    const std::string key = Key(n < kKeys ? n : random.Uniform(kKeys));
    const uint64_t before = model.commits();
    if (random.Uniform(10) < 3) {
      model.Commit({{.key = key}});
      ASSERT_OK(db->Delete({}, key));
    } else {
      const std::string value = std::to_string(before) + std::string(1'000, 'v');
      model.Commit({{.key = key, .value = value}});
      ASSERT_OK(db->Put({}, key, value));
    }
    if (n % 2 == 0) sim_.executor.RunOne();
    if (n % 3'000 == 0) {
      ASSERT_OK(db->Flush());
      durable = model.commits();
    }
  }
  sim_.files->SetOpHook(nullptr);
  EXPECT_GT(images, 20 / kInstrumentedFactor);
  EXPECT_EQ(Contents(*db), model.Scan(model.commits()));
}

// Flaw 3: a flush during a compaction is newer than all outputs of the compaction, at whatever position
// either is placed.
TEST_P(SeedFlaws, PutsAFlushDuringACompactionAboveItsResult) {
  auto db = Open();
  for (int life = 0; life < 3; ++life) {
    for (uint64_t i = 0; i < 3'000; ++i) PutOne(*db, i * 7 % 1'000, 300);
    ASSERT_OK(db->Flush());
    // A compaction is running: run a few of its steps, then flush in between.
    for (int i = 0; i < 30; ++i) sim_.executor.RunOne();
    for (uint64_t i = 0; i < 1'000; i += 10) i % 20 == 0 ? DeleteOne(*db, i) : PutOne(*db, i, 40);
    ASSERT_OK(db->Flush());
    CheckAll(*db);
    for (int i = 0; i < 50; ++i) {
      sim_.executor.RunOne();
      CheckOne(*db, static_cast<uint64_t>(i) * 10);
    }
    CheckAll(*db);
    ASSERT_OK(db->CompactRange(nullptr, nullptr));
    CheckAll(*db);
    db = nullptr;
    db = Open();
    CheckAll(*db);
  }
}

// Flaws 4 and 5: more sorted runs than any fixed array holds, and as many levels as are allowed.
TEST_P(SeedFlaws, CompactsVeryManyRuns) {
  auto db = Open();
  constexpr uint64_t kRuns = 300;
  uint64_t runs_max = 0;
  // No background step runs except those that a flush waits for; each flush has a few keys in common with the
  // others.
  for (uint64_t run = 0; run < kRuns; ++run) {
    for (uint64_t i = 0; i < 5; ++i) PutOne(*db, (run * 13 + i * 31) % 200, 50);
    if (run % 7 == 0) DeleteOne(*db, run % 200);
    ASSERT_OK(db->Flush());
    runs_max = std::max(runs_max, Counter(*db, "runs"));
  }
  CheckAll(*db);
  ASSERT_OK(db->WaitForCompaction());
  CheckAll(*db);
  ASSERT_OK(db->CompactRange(nullptr, nullptr));
  CheckAll(*db);
  EXPECT_EQ(Counter(*db, "runs"), 1u) << Property(*db, "runs");
  EXPECT_GE(runs_max, 3u);
}

// Flaw 6: failed compactions leave no files behind, in this life or the next, and do not block later ones.
TEST_P(SeedFlaws, LeavesNoFilesOfFailedCompactions) {
  auto db = Open();
  base::Random random(13);
  for (int round = 0; round < 24; ++round) {
    for (int n = 0; n < 400; ++n) PutOne(*db, random.Uniform(600), 300);
    ASSERT_OK(db->Flush());
    const FileOp kinds[] = {FileOp::kWrite, FileOp::kCreate, FileOp::kSync, FileOp::kRead};
    sim_.files->AddFault({.op = kinds[round % 4], .path_contains = ".tbl", .nth = 1 + random.Uniform(4)});
    PutOne(*db, random.Uniform(600), 300);  // a sorted run as input of the compaction; the flush may meet the fault
    (void)db->CompactRange(nullptr, nullptr);
    sim_.files->ClearFaults();
    CheckAll(*db);
  }
  sim_.clock.SleepNanos(10'000'000'000);
  sim_.executor.RunTimers();
  ASSERT_OK(db->CompactRange(nullptr, nullptr));
  ASSERT_OK(db->WaitForCompaction());
  EXPECT_GT(Counter(*db, "compactions_failed"), 0u);
  CheckAll(*db);
  EXPECT_EQ(TablesIn(*sim_.files), Counter(*db, "tables")) << "tables that nobody names";
  const size_t before = TablesIn(*sim_.files);
  db = nullptr;
  db = Open();
  EXPECT_EQ(TablesIn(*sim_.files), before);
  CheckAll(*db);
}

// Flaw 7: if there is no work, the background writes nothing.
TEST_P(SeedFlaws, WritesNothingWhenNothingIsOwed) {
  auto db = Open();
  for (uint64_t i = 0; i < 8'000; ++i) PutOne(*db, i * 7919 % 3'000, 100);
  ASSERT_OK(db->WaitForCompaction());
  // Time passes until the compactions end; they do end.
  const auto pass_time = [&] {
    for (int second = 0; second < 30; ++second) {
      sim_.clock.SleepNanos(1'000'000'000);
      sim_.executor.RunTimers();
      sim_.executor.RunAll(100'000);
    }
  };
  pass_time();
  const uint64_t ops = sim_.files->ops(), commits = Counter(*db, "manifest_commits"),
                 merges = Counter(*db, "compactions");
  pass_time();
  EXPECT_EQ(Counter(*db, "manifest_commits"), commits);
  EXPECT_EQ(Counter(*db, "compactions"), merges);
  EXPECT_EQ(sim_.files->ops(), ops);
  CheckAll(*db);
}

// Flaw 7: a pick could choose moves for ever. Disjoint sorted runs, in any order, become one run by moves
// alone, each moved once.
TEST_P(SeedFlaws, MovesDisjointRunsOnce) {
  auto db = Open();
  for (const uint64_t block : {5, 1, 4, 0, 3, 2}) {
    for (uint64_t i = 0; i < 1'000; ++i) PutOne(*db, block * 1'000 + i, 200);
    ASSERT_OK(db->Flush());
  }
  ASSERT_OK(db->WaitForCompaction());
  const uint64_t moves = Counter(*db, "moves");
  EXPECT_LE(moves, 60u);
  sim_.executor.RunAll(10'000);
  EXPECT_EQ(Counter(*db, "moves"), moves);
  CheckAll(*db);
}

// Flaw 8: a close does not wait for a compaction, unless the options ask for it.
class CloseDuringACompaction : public SeedFlaws {
 protected:
  // The duration of Close, on a clock that advances with the work.
  uint64_t NanosOfClose(bool finish_merges) {
    Options options = SmallOptions();
    options.finish_compactions_on_close = finish_merges;
    options.write_buffer_bytes = 256 << 10;
    auto db = OpenIn(sim_, options);
    for (uint64_t i = 0; i < 60'000; ++i) PutOne(*db, i * 7919 % 20'000, 100);
    EXPECT_OK(db->Flush());
    while (Property(*db, "stats").find("running compactions") != std::string::npos) sim_.executor.RunOne();
    // Sorted runs accumulate, since only the steps of flushes run, until one compaction of all of them
    // begins.
    for (uint64_t i = 0; i < 200'000 && Property(*db, "stats").find("running compactions") == std::string::npos; ++i) {
      PutOne(*db, i * 7919 % 20'000, 100);
      if (i % 2'000 == 0) sim_.executor.RunOne();
    }
    EXPECT_NE(Property(*db, "stats").find("running compactions"), std::string::npos);
    const uint64_t start = sim_.clock.NowNanos();
    EXPECT_OK(db->Close());
    const uint64_t nanos = sim_.clock.NowNanos() - start;
    db = nullptr;
    db = OpenIn(sim_, options);
    CheckAll(*db);
    return nanos;
  }
};

// A step takes half a millisecond, and each reading of the clock 50 us.
TEST_P(CloseDuringACompaction, StopsItAtTheNextStep) { EXPECT_LE(NanosOfClose(false), 800'000u); }
TEST_P(CloseDuringACompaction, WaitsForItIfAsked) { EXPECT_GT(NanosOfClose(true), 800'000u); }

const auto kStyles = ::testing::Values(Style::kLazy, Style::kCascade);
const auto kStyleName = [](const auto& style) { return style.param == Style::kLazy ? "Lazy" : "Cascade"; };
INSTANTIATE_TEST_SUITE_P(Styles, SeedFlaws, kStyles, kStyleName);
INSTANTIATE_TEST_SUITE_P(Styles, CloseDuringACompaction, kStyles, kStyleName);

}  // namespace
}  // namespace mergedb::testing
