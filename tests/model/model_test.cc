// Random operations over the whole face, beside the oracle, under many sets of options: every answer is the model's, so the
// same operations give the same answers whatever the options are.
// Method: one seed makes one list of operations, drawn without a look at the database; each set of options runs it in a world
// of its own, where background steps happen when the list says so. Another seed: MERGEDB_SEED or --gtest_random_seed.
// MERGEDB_FULL=1 runs ten times as many.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "mergedb/db.h"
#include "testing/counters.h"
#include "testing/model_db.h"
#include "testing/seed.h"
#include "testing/status_matchers.h"
#include "testing/world.h"

namespace mergedb::testing {
namespace {

class ReverseComparator final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return b.compare(a); }
  std::string_view Name() const override { return "model_test.reverse"; }
};
const ReverseComparator kReverse;

struct OptionSet {
  const char* name;
  Style style = Style::kLazy;
  bool use_mapping = true;
  int bloom_bits = 10;
  size_t block_bytes = 4096;
  CompressionByTier compression = {Compression::kNone, Compression::kNone};
  size_t write_buffer_bytes = 64 << 10;
  size_t memory_bytes = 1 << 20;
  size_t open_tables_max = 1000;
  bool finish_merges_on_close = false;
  const Comparator* comparator = BytewiseComparator();
  int parallelism = 2;
};
void PrintTo(const OptionSet& set, std::ostream* out) { *out << set.name; }

const OptionSet kOptionSets[] = {
    {.name = "Plain"},
    {.name = "Cascade", .style = Style::kCascade},
    {.name = "Unmapped", .use_mapping = false, .bloom_bits = 0},
    {.name = "CascadeUnmappedFewTables", .style = Style::kCascade, .use_mapping = false, .open_tables_max = 16},
    {.name = "SmallBlocksSnappy", .block_bytes = 256, .compression = {Compression::kSnappy, Compression::kSnappy}},
    {.name = "Zstd", .compression = {Compression::kNone, Compression::kZstd}, .finish_merges_on_close = true},
    {.name = "CascadeLz4NoFilter", .style = Style::kCascade, .bloom_bits = 0, .block_bytes = 256,
     .compression = {Compression::kLz4, Compression::kZstd}},
    {.name = "NormalBuffers", .compression = {Compression::kLz4, Compression::kLz4}, .write_buffer_bytes = 1 << 20,
     .memory_bytes = 8 << 20},
    {.name = "NoCacheOneThread", .memory_bytes = 128 << 10, .parallelism = 1},
    {.name = "Reverse", .comparator = &kReverse},
    {.name = "CascadeReverseSmallBlocks", .style = Style::kCascade, .block_bytes = 256, .finish_merges_on_close = true,
     .comparator = &kReverse, .parallelism = 4},
};

// ---- operations --------------------------------------------------------------------------------------------------------

enum class Kind : uint8_t {
  kPut, kDelete, kBatch, kGet, kMultiGet, kWalk, kScan, kTakeSnapshot, kDropSnapshot, kSteps, kTimers, kFlush, kSyncLog,
  kCompactRange, kWait, kReopen, kKill, kReadOnly, kSizes,
};
struct Weight {
  Kind kind;
  uint64_t weight;
};
constexpr Weight kWeights[] = {
    {Kind::kPut, 3000},      {Kind::kDelete, 700},       {Kind::kBatch, 250},     {Kind::kGet, 2000},
    {Kind::kMultiGet, 150},  {Kind::kWalk, 160},         {Kind::kScan, 25},       {Kind::kTakeSnapshot, 25},
    {Kind::kDropSnapshot, 20}, {Kind::kSteps, 1200},     {Kind::kTimers, 40},     {Kind::kFlush, 25},
    {Kind::kSyncLog, 20},    {Kind::kCompactRange, 6},   {Kind::kWait, 8},        {Kind::kReopen, 7},
    {Kind::kKill, 7},        {Kind::kReadOnly, 3},       {Kind::kSizes, 10},
};

Kind DrawKind(base::Random& random) {
  uint64_t sum = 0;
  for (const Weight& each : kWeights) sum += each.weight;
  uint64_t choice = random.Uniform(sum);
  for (const Weight& each : kWeights) {
    if (choice < each.weight) return each.kind;
    choice -= each.weight;
  }
  return Kind::kGet;
}

// Keys that share beginnings, are beginnings of each other, hold any byte, or are empty.
std::string DrawKey(base::Random& random) {
  const uint64_t choice = random.Uniform(100);
  if (choice == 0) return {};
  if (choice < 4) return std::string(1 + random.Uniform(3), '\xff');
  if (choice < 8) return std::string(1 + random.Uniform(3), '\0');
  if (choice < 40) return "user:" + std::to_string(random.Uniform(300));
  if (choice < 45) return "user:" + std::to_string(random.Uniform(300)) + std::string(random.Uniform(600), '\x7f');
  char text[16];
  std::snprintf(text, sizeof text, "k%04llu", static_cast<unsigned long long>(random.Uniform(500)));
  return text;
}

std::string DrawValue(base::Random& random, uint64_t step) {
  const uint64_t choice = random.Uniform(400);
  const size_t bytes = choice == 0  ? random.Uniform(200'000)
                       : choice < 8 ? random.Uniform(20'000)
                       : choice < 20 ? 0
                                     : random.Uniform(500);
  std::string value(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) value[i] = static_cast<char>('a' + (i / 7 + step) % 26);
  if (bytes >= 8) value.replace(0, 8, std::to_string(10'000'000 + step % 90'000'000));
  return value;
}

// ---- one run -----------------------------------------------------------------------------------------------------------

class ModelRun {
 public:
  ModelRun(uint64_t seed, const OptionSet& set)
      : random_(seed),
        set_(set),
        world_(std::make_unique<World>(World::Options{.seed = seed, .parallelism = set.parallelism})),
        model_([comparator = set.comparator](const std::string& a, const std::string& b) {
          return comparator->Compare(a, b) < 0;
        }) {}

  void Run(uint64_t steps) {
    Open(OpenMode::kCreateIfMissing);
    for (step_ = 0; step_ < steps && !::testing::Test::HasFailure(); ++step_) {
      const Kind kind = DrawKind(random_);
      SCOPED_TRACE("step " + std::to_string(step_) + " kind " + std::to_string(static_cast<int>(kind)));
      Step(kind);
    }
    if (::testing::Test::HasFailure()) return;
    CheckWhole(model_.commits(), nullptr);
    EXPECT_OK(db_->CheckIntegrity());
    snapshots_.clear();
    EXPECT_OK(db_->WaitForCompaction());
    CheckWhole(model_.commits(), nullptr);
    EXPECT_OK(db_->Close());
  }

 private:
  struct Held {
    std::shared_ptr<const Snapshot> snapshot;
    uint64_t commit;
  };
  // What a read sees: the newest state, or a snapshot's.
  struct Sight {
    const Snapshot* snapshot;
    uint64_t commit;
  };

  void Open(OpenMode mode) {
    Options options = world_->SmallOptions();
    options.mode = mode;
    options.style = set_.style;
    options.use_mapped_staging = set_.use_mapping;
    options.bloom_bits_per_key = set_.bloom_bits;
    options.block_bytes = set_.block_bytes;
    options.compression = set_.compression;
    options.write_buffer_bytes = set_.write_buffer_bytes;
    options.memory_bytes = set_.memory_bytes;
    options.open_tables_max = set_.open_tables_max;
    options.finish_merges_on_close = set_.finish_merges_on_close;
    options.comparator = set_.comparator;
    auto db = DB::Open(options, World::kPath);
    ASSERT_OK(db.status());
    db_ = std::move(*db);
  }

  void Step(Kind kind) {
    switch (kind) {
      case Kind::kPut: return Put();
      case Kind::kDelete: return Delete();
      case Kind::kBatch: return Batch();
      case Kind::kGet: return Get();
      case Kind::kMultiGet: return MultiGet();
      case Kind::kWalk: return Walk();
      case Kind::kScan: {
        const Sight sight = DrawSight();
        return CheckWhole(sight.commit, sight.snapshot);
      }
      case Kind::kTakeSnapshot:
        if (snapshots_.size() < 6) snapshots_.push_back({db_->GetSnapshot(), model_.commits()});
        return;
      case Kind::kDropSnapshot:
        if (!snapshots_.empty()) snapshots_.erase(snapshots_.begin() + static_cast<ptrdiff_t>(random_.Uniform(snapshots_.size())));
        return;
      case Kind::kSteps:
        for (uint64_t n = random_.Uniform(random_.OneIn(50) ? 400 : 12); n > 0; --n) world_->executor.RunOne();
        return;
      case Kind::kTimers:
        world_->clock.SleepNanos(random_.Uniform(8) * 1'000'000'000);
        return world_->executor.RunTimers();
      case Kind::kFlush: {
        has_unlogged_ = false;
        EXPECT_OK(db_->Flush());
        return;
      }
      case Kind::kSyncLog: {
        EXPECT_OK(db_->SyncLog());
        return;
      }
      case Kind::kCompactRange: return CompactRange();
      case Kind::kWait: {
        EXPECT_OK(db_->WaitForCompaction());
        return;
      }
      case Kind::kReopen: return Reopen();
      case Kind::kKill: return Kill();
      case Kind::kReadOnly: return ReadOnly();
      case Kind::kSizes: return Sizes();
    }
  }

  // ---- writes ----

  WriteOptions DrawDurability() {
    const uint64_t choice = random_.Uniform(50);
    if (choice == 0) return {.durability = Durability::kSynced};
    if (choice > 2) return {};
    has_unlogged_ = true;
    return {.durability = Durability::kNoLog};
  }
  void Put() {
    const std::string key = DrawKey(random_), value = DrawValue(random_, step_);
    ASSERT_OK(db_->Put(DrawDurability(), key, value));
    model_.Commit({{.key = key, .value = value}});
  }
  void Delete() {
    const std::string key = DrawKey(random_);
    ASSERT_OK(db_->Delete(DrawDurability(), key));
    model_.Commit({{.key = key}});
  }
  void Batch() {
    WriteBatch batch;
    std::vector<ModelDb::Change> changes;
    const uint64_t size = random_.Uniform(random_.OneIn(40) ? 900 : 12);
    for (uint64_t i = 0; i < size; ++i) {
      std::string key = DrawKey(random_);
      if (random_.OneIn(4)) {
        batch.Delete(key);
        changes.push_back({.key = std::move(key)});
      } else {
        std::string value = DrawValue(random_, step_ + i);
        batch.Put(key, value);
        changes.push_back({.key = std::move(key), .value = std::move(value)});
      }
    }
    ASSERT_OK(db_->Write(DrawDurability(), batch));
    if (!changes.empty()) model_.Commit(changes);
  }

  // ---- reads ----

  Sight DrawSight() {
    if (snapshots_.empty() || random_.OneIn(2)) return {nullptr, model_.commits()};
    const Held& held = snapshots_[random_.Uniform(snapshots_.size())];
    return {held.snapshot.get(), held.commit};
  }
  void Get() {
    const Sight sight = DrawSight();
    const std::string key = DrawKey(random_);
    std::string value = "untouched";
    const Status status = db_->Get({.snapshot = sight.snapshot, .fill_cache = !random_.OneIn(3)}, key, &value);
    CheckAnswer(key, sight.commit, status, value);
    if (status.IsNotFound()) {
      EXPECT_EQ(value, "untouched");
    }
  }
  void CheckAnswer(const std::string& key, uint64_t commit, const Status& status, const std::string& value) {
    const auto expected = model_.Get(key, commit);
    if (expected) {
      ASSERT_OK(status) << key;
      ASSERT_EQ(value, *expected) << key;
    } else {
      ASSERT_TRUE(status.IsNotFound()) << key << ": " << status.ToString() << " " << value.substr(0, 40);
    }
  }
  void MultiGet() {
    const Sight sight = DrawSight();
    std::vector<std::string> keys(random_.Uniform(20)), values;
    for (std::string& key : keys) key = DrawKey(random_);
    const auto statuses = db_->MultiGet({.snapshot = sight.snapshot}, {keys.begin(), keys.end()}, &values);
    ASSERT_EQ(statuses.size(), keys.size());
    ASSERT_EQ(values.size(), keys.size());
    for (size_t i = 0; i < keys.size(); ++i) CheckAnswer(keys[i], sight.commit, statuses[i], values[i]);
  }
  void CheckWhole(uint64_t commit, const Snapshot* snapshot) {
    const auto expected = model_.Scan(commit);
    auto it = db_->NewIterator({.read = {.snapshot = snapshot}});
    size_t i = 0;
    for (it->SeekToFirst(); it->Valid() && i < expected.size(); it->Next(), ++i) {
      ASSERT_EQ(it->key(), expected[i].first);
      ASSERT_EQ(it->value(), expected[i].second) << expected[i].first;
    }
    ASSERT_OK(it->status());
    ASSERT_FALSE(it->Valid()) << "too many, from " << it->key();
    ASSERT_EQ(i, expected.size());
    for (it->SeekToLast(); it->Valid() && i > 0; it->Prev()) {
      --i;
      ASSERT_EQ(it->key(), expected[i].first);
      ASSERT_EQ(it->value(), expected[i].second) << expected[i].first;
    }
    ASSERT_OK(it->status());
    ASSERT_EQ(i, 0u);
  }

  // What an iterator with such options shows. A prefix becomes a pair of bounds by looking at each key.
  ModelDb::Pairs Shown(uint64_t commit, const IteratorOptions& options) {
    auto pairs = model_.Scan(commit, {.lower = options.lower, .upper = options.upper});
    std::erase_if(pairs, [&](const auto& pair) { return !pair.first.starts_with(options.prefix); });
    return pairs;
  }
  // A walk at random; writes and background steps happen meanwhile, and the cursor sees none of them.
  void Walk() {
    const Sight sight = DrawSight();
    IteratorOptions options{.read = {.snapshot = sight.snapshot, .verify_checksums = !random_.OneIn(4)}};
    if (random_.OneIn(3)) options.lower = DrawKey(random_);
    if (random_.OneIn(3)) options.upper = DrawKey(random_);
    if (random_.OneIn(4)) options.prefix = DrawKey(random_).substr(0, 1 + random_.Uniform(4));
    auto it = db_->NewIterator(options);
    if (set_.comparator != BytewiseComparator() && !options.prefix.empty()) {
      ASSERT_TRUE(it->status().IsInvalidArgument());
      options.prefix.clear();
      it = db_->NewIterator(options);
    }
    ASSERT_FALSE(it->Valid());
    const auto shown = Shown(sight.commit, options);
    std::optional<size_t> at;  // the index in `shown`
    for (uint64_t moves = random_.Uniform(40); moves > 0; --moves) {
      if (random_.OneIn(10)) Put();
      if (random_.OneIn(10)) world_->executor.RunOne();
      Move(*it, shown, &at);
      if (::testing::Test::HasFailure()) return;
    }
  }
  void Move(Iterator& it, const ModelDb::Pairs& shown, std::optional<size_t>* at) {
    const auto comes_before = [&](const auto& pair, const std::string& key) {
      return set_.comparator->Compare(pair.first, key) < 0;
    };
    const auto index_or_end = [&](size_t index) { return index < shown.size() ? std::optional(index) : std::nullopt; };
    const auto before = [](size_t index) { return index == 0 ? std::nullopt : std::optional(index - 1); };
    const uint64_t choice = random_.Uniform(12);
    std::string what;
    if (choice == 0) {
      what = "SeekToFirst";
      it.SeekToFirst();
      *at = index_or_end(0);
    } else if (choice == 1) {
      what = "SeekToLast";
      it.SeekToLast();
      *at = before(shown.size());
    } else if (choice < 6) {
      const std::string key = DrawKey(random_);
      const auto found = std::lower_bound(shown.begin(), shown.end(), key, comes_before);
      const auto index = static_cast<size_t>(found - shown.begin());
      if (choice < 4) {
        what = "Seek " + key;
        it.Seek(key);
        *at = index_or_end(index);
      } else {
        what = "SeekForPrev " + key;
        it.SeekForPrev(key);
        *at = found != shown.end() && found->first == key ? std::optional(index) : before(index);
      }
    } else if (choice < 9) {
      what = "Next";
      it.Next();
      if (*at) *at = index_or_end(**at + 1);
    } else {
      what = "Prev";
      it.Prev();
      if (*at) *at = before(**at);
    }
    ASSERT_OK(it.status()) << what;
    ASSERT_EQ(it.Valid(), at->has_value()) << what << (it.Valid() ? " shows " + std::string(it.key()) : "");
    if (!*at) return;
    ASSERT_EQ(it.key(), shown[**at].first) << what;
    ASSERT_EQ(it.value(), shown[**at].second) << what;
  }

  // ---- care ----

  void CompactRange() {
    std::string lower = DrawKey(random_), upper = DrawKey(random_);
    if (set_.comparator->Compare(lower, upper) > 0) std::swap(lower, upper);
    const std::string_view lower_view = lower, upper_view = upper;
    const bool has_lower = random_.OneIn(2), has_upper = random_.OneIn(2);
    has_unlogged_ = false;
    EXPECT_OK(db_->CompactRange(has_lower ? &lower_view : nullptr, has_upper ? &upper_view : nullptr));
  }
  void Reopen() {
    ReleaseSnapshots();
    has_unlogged_ = false;  // Close makes it durable
    EXPECT_OK(db_->Close());
    db_ = nullptr;
    Open(OpenMode::kMustExist);
    if (!::testing::Test::HasFailure()) CheckWhole(model_.commits(), nullptr);
  }
  void Kill() {
    ReleaseSnapshots();
    if (has_unlogged_) Step(Kind::kFlush);
    auto after = World::After(*world_, CrashMode::kKill, CrashModel::kStrict, random_.Next());
    db_ = nullptr;
    world_ = std::make_unique<World>(World::Options{.seed = random_.Next(), .parallelism = set_.parallelism},
                                     std::move(after->files));
    Open(OpenMode::kMustExist);
    if (!::testing::Test::HasFailure()) CheckWhole(model_.commits(), nullptr);
  }
  void ReadOnly() {
    ReleaseSnapshots();
    has_unlogged_ = false;
    db_ = nullptr;
    const uint64_t before = world_->files->Fingerprint();
    Open(OpenMode::kReadOnly);
    if (::testing::Test::HasFailure()) return;
    CheckWhole(model_.commits(), nullptr);
    for (int i = 0; i < 20; ++i) Get();
    EXPECT_EQ(db_->Put({}, "k", "v").code(), Code::kNotSupported);
    db_ = nullptr;
    EXPECT_EQ(world_->files->Fingerprint(), before);
    Open(OpenMode::kMustExist);
  }
  void Sizes() {
    std::string lower = DrawKey(random_), upper = DrawKey(random_);
    if (set_.comparator->Compare(lower, upper) > 0) std::swap(lower, upper);
    const auto sizes = db_->ApproximateSizes({{lower, upper}, {lower, lower}});
    ASSERT_EQ(sizes.size(), 2u);
    EXPECT_LE(sizes[0], Counter(*db_, "table_bytes_live"));
    EXPECT_LE(sizes[1], sizes[0]);
  }
  // Half of the time they outlive the database that they are of.
  void ReleaseSnapshots() {
    if (random_.OneIn(2)) snapshots_.clear();
    for (Held& held : snapshots_) orphans_.push_back(std::move(held.snapshot));
    snapshots_.clear();
    if (orphans_.size() > 20) orphans_.clear();
  }

  base::Random random_;
  const OptionSet& set_;
  std::vector<std::shared_ptr<const Snapshot>> orphans_;  // of databases that are closed
  std::unique_ptr<World> world_;
  ModelDb model_;
  std::vector<Held> snapshots_;
  std::unique_ptr<DB> db_;
  uint64_t step_ = 0;
  bool has_unlogged_ = false;  // writes that a crash may take
};

class ModelTest : public ::testing::TestWithParam<OptionSet> {};

TEST_P(ModelTest, AnswersLikeTheModel) {
  const uint64_t first = SeedOr(20'240'401);
  const uint64_t lists = IsFullSize() ? 20 : 2;
  for (uint64_t seed = first; seed < first + lists && !HasFailure(); ++seed) {
    SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed));
    ModelRun(seed, GetParam()).Run(6'000);
  }
}

INSTANTIATE_TEST_SUITE_P(Options, ModelTest, ::testing::ValuesIn(kOptionSets),
                         [](const auto& set) { return std::string(set.param.name); });

}  // namespace
}  // namespace mergedb::testing
