// Workloads that are known to be difficult for log-structured trees: each stays cheap in memory and in space.
// The short form; MERGEDB_FULL=1 runs them at full size.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "mergedb/db.h"
#include "testing/counters.h"
#include "testing/seed.h"
#include "testing/simulated_db.h"
#include "testing/status_matchers.h"

namespace mergedb::testing::hard_workloads_test {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

std::string Key(uint64_t i) { return NumberedKey("", i, 12); }

class HardWorkloads : public SimulatedDb, public ::testing::WithParamInterface<Style> {
 protected:
  void SetUp() override {}  // each test opens it
  void Open(size_t write_buffer_bytes = 64 << 10) {
    options_ = sim_.SmallOptions();
    options_.style = GetParam();
    options_.write_buffer_bytes = write_buffer_bytes;
    options_.memory_bytes = std::max<size_t>(options_.memory_bytes, 4 * write_buffer_bytes);
    Reopen();
  }
  // Runs background steps and, when due, the timers.
  void Work(int steps) {
    for (int i = 0; i < steps; ++i) sim_.executor.RunOne();
    if (sim_.clock.NowNanos() < next_timer_nanos_) return;
    sim_.executor.RunTimers();
    next_timer_nanos_ = sim_.clock.NowNanos() + 500'000'000;
  }
  uint64_t FileBytes() { return Counter(*db_, "table_bytes_on_disk") + Counter(*db_, "blob_bytes_on_disk"); }

  uint64_t next_timer_nanos_ = 0;
};

// Append at the end, delete at the front: deleted entries must cost no reads and no space.
TEST_P(HardWorkloads, AQueueStaysFlat) {
  Open();
  const uint64_t length = 2'000, pops = IsFullSize() ? 10'000'000 : 60'000;
  uint64_t front = 0, most_bytes = 0, most_blocks[2] = {};  // of each half
  for (uint64_t i = 0; i < length; ++i) ASSERT_OK(db_->Put({}, Key(i), std::string(100, 'q')));
  for (; front < pops; ++front) {
    if (front % 50 == 0) {
      auto it = db_->NewIterator();
      const uint64_t misses = Counter(*db_, "block_cache_misses"), hits = Counter(*db_, "block_cache_hits");
      it->SeekToFirst();
      ASSERT_TRUE(it->Valid());
      ASSERT_EQ(it->key(), Key(front));
      const uint64_t blocks = Counter(*db_, "block_cache_misses") - misses + Counter(*db_, "block_cache_hits") - hits;
      uint64_t& most = most_blocks[front >= pops / 2];
      most = std::max(most, blocks);
    }
    ASSERT_OK(db_->Put({}, Key(front + length), std::string(100, 'q')));
    ASSERT_OK(db_->Delete({}, Key(front)));
    Work(1);
    if (front % 500 == 0) most_bytes = std::max(most_bytes, FileBytes());
  }
  RecordProperty("blocks_for_seek_to_first", static_cast<int>(most_blocks[1]));
  RecordProperty("table_bytes_max", static_cast<int>(most_bytes));
  EXPECT_LE(most_blocks[1], 1'000u) << "blocks read by one SeekToFirst";
  EXPECT_LE(most_blocks[1], 3 * most_blocks[0] / 2 + 20) << "it grows with what was popped";
  EXPECT_LE(most_bytes, 6 * kMiB) << "of a queue of 0.2 MiB";
  ASSERT_OK(db_->WaitForCompaction());
  EXPECT_LE(FileBytes(), kMiB) << Property(*db_, "stats");
}

TEST_P(HardWorkloads, ZipfianOverwritesStayWithinTheBound) {
  const uint64_t seed = SeedOr(41);
  SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed));
  base::Random random(seed);
  Open();
  const uint64_t keys = 20'000, puts = IsFullSize() ? 5'000'000 : 60'000;
  for (uint64_t i = 0; i < keys; ++i) ASSERT_OK(db_->Put({}, Key(i), std::string(400, 'z')));
  ASSERT_OK(db_->WaitForCompaction());
  const uint64_t live = FileBytes();
  uint64_t most = 0;
  for (uint64_t i = 0; i < puts; ++i) {
    // The probability of rank r is proportional to 1/r.
    const double uniform = static_cast<double>(random.Next() >> 11) / 9007199254740992.0;
    const auto rank = static_cast<uint64_t>(std::pow(static_cast<double>(keys), uniform)) - 1;
    ASSERT_OK(db_->Put({}, Key(rank * 7919 % keys), std::string(400, static_cast<char>('a' + i % 26))));
    Work(1);
    if (i % 200 == 0) most = std::max(most, FileBytes());
  }
  EXPECT_LE(most, 2 * live + 36 * kMiB);
  ASSERT_OK(db_->WaitForCompaction());
  EXPECT_LE(FileBytes(), live + live / 4) << Property(*db_, "stats");
}

TEST_P(HardWorkloads, HoldsLargeValuesAndKeysInLittleMemory) {
  Open();
  const auto value = [](int i) { return std::string(16 * kMiB, static_cast<char>('a' + i)); };
  const auto key = [](int i) { return std::string(kMiB, 'k') + std::to_string(i); };
  for (int i = 0; i < 4; ++i) {
    ASSERT_OK(db_->Put({}, "large" + std::to_string(i % 2), value(i)));
    ASSERT_OK(db_->Put({}, key(i), "of a large key"));
    ASSERT_OK(db_->Put({}, "small" + std::to_string(i), "s"));
    Work(20);
    // Each large entry has its own memtable; the database never holds more than two of those.
    EXPECT_LE(Counter(*db_, "memtable_bytes"), 40 * kMiB) << Property(*db_, "counters");
  }
  const auto check = [&] {
    std::string found;
    for (int i = 2; i < 4; ++i) {
      ASSERT_OK(db_->Get({}, "large" + std::to_string(i % 2), &found));
      ASSERT_TRUE(found == value(i));
    }
    auto it = db_->NewIterator({.prefix = "kkk"});
    int i = 0;
    for (it->SeekToFirst(); it->Valid(); it->Next(), ++i) ASSERT_TRUE(it->key() == key(i));
    ASSERT_OK(it->status());
    ASSERT_EQ(i, 4);
  };
  check();
  ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  check();
  Reopen();
  check();
  ASSERT_OK(db_->CheckIntegrity());
}

TEST_P(HardWorkloads, TakesALargeBatchWithinItsMemory) {
  Open(kMiB);
  const uint64_t batch_bytes = IsFullSize() ? 1'024 * kMiB : 64 * kMiB, value_bytes = 4'000;
  const uint64_t entries = batch_bytes / value_bytes;
  WriteBatch batch;
  batch.Reserve(batch_bytes + entries * 32);
  for (uint64_t i = 0; i < entries; ++i)
    batch.Put(Key(i * 7919 % entries), std::string(value_bytes, static_cast<char>('a' + i % 26)));
  uint64_t most = 0;
  // Only while tables are written: during a commit of the MANIFEST, reading the counters waits for the end of
  // the commit.
  sim_.files->SetOpHook([&](uint64_t, const char* what, const std::string& path) {
    if (std::string_view(what) == "write" && path.ends_with(".tbl"))
      most = std::max(most, Counter(*db_, "memtable_bytes"));
  });
  ASSERT_OK(db_->Write({}, batch));
  sim_.files->SetOpHook(nullptr);
  EXPECT_LE(most, 2 * kMiB) << "twice the write buffer";
  EXPECT_EQ(KeyCount(*db_), entries);
  Reopen();
  EXPECT_EQ(KeyCount(*db_), entries);
}

// Symptom: after a batch of few bytes that exceeds a memtable, a clean close made the next open return
// Corruption: zeros overwrote the frames before the batch in its WAL block.
TEST_P(HardWorkloads, ABatchOfFewBytesThatNoMemtableHoldsHarmsNothingInItsBlock) {
  for (const bool is_mapped : {true, false}) {
    for (const size_t records : {size_t{200}, size_t{307}, size_t{700}, size_t{3'000}}) {
      for (const bool is_closed : {true, false}) {
        SCOPED_TRACE((is_mapped ? "mapped, " : "written, ") + std::to_string(records) +
                     (is_closed ? ", closed" : ", killed"));
        SimulatedEnv sim;
        Options options = sim.SmallOptions();
        options.style = GetParam();
        options.write_buffer_bytes = 64 << 10;
        options.use_mapped_wal_buffer = is_mapped;
        auto db = DB::Open(options, SimulatedEnv::kPath);
        ASSERT_OK(db.status());
        for (const char* before : {"before", "before it"}) ASSERT_OK((*db)->Put({}, before, std::string(100, 'x')));
        for (int i = 0; i < 2; ++i) {
          WriteBatch batch;
          for (size_t k = 0; k < records; ++k) batch.Delete("d");
          ASSERT_OK((*db)->Write({}, batch));
        }
        ASSERT_OK((*db)->Put({.durability = Durability::kSynced}, "after", "y"));
        auto after = SimulatedEnv::After(sim, CrashMode::kKill, CrashModel::kStrict, 1);
        if (is_closed) {
          ASSERT_OK((*db)->Close());
          after = SimulatedEnv::After(sim, CrashMode::kMin, CrashModel::kStrict, 1);
        }
        auto reopened = after->Open();
        ASSERT_OK(reopened.status());
        std::string value;
        for (const char* key : {"before", "before it", "after"}) EXPECT_OK((*reopened)->Get({}, key, &value)) << key;
      }
    }
  }
}

// A batch without WAL is atomic too, however large.
TEST_P(HardWorkloads, NeverShowsHalfOfALargeUnloggedBatchAfterACrash) {
  Open();
  WriteBatch batch;
  constexpr uint64_t kEntries = 2'000;
  for (uint64_t i = 0; i < kEntries; ++i) batch.Put(Key(i), std::string(300, 'b'));
  uint64_t images = 0;
  sim_.files->SetOpHook([&](uint64_t op, const char*, const std::string&) {
    if (op % 9 != 0) return;
    auto after =
        SimulatedEnv::After(sim_, op % 2 ? CrashMode::kKill : CrashMode::kPrefixTorn, CrashModel::kJournaled, op);
    auto db = after->Open();
    ASSERT_OK(db.status());
    const uint64_t found = KeyCount(**db);
    ASSERT_TRUE(found == 0 || found == kEntries) << found << " at op " << op;
    ++images;
  });
  ASSERT_OK(db_->Write({.durability = Durability::kNoWal}, batch));
  ASSERT_OK(db_->Flush());
  sim_.files->SetOpHook(nullptr);
  EXPECT_GT(images, 5u);
}

TEST_P(HardWorkloads, KeepsASnapshotForTheWholeOfALongOverwrite) {
  Open();
  constexpr uint64_t kKeys = 3'000;
  for (uint64_t i = 0; i < kKeys; ++i) ASSERT_OK(db_->Put({}, Key(i), "old" + std::string(300, 'o')));
  auto snapshot = db_->GetSnapshot();
  const uint64_t rounds = IsFullSize() ? 200 : 20;
  for (uint64_t round = 0; round < rounds; ++round) {
    for (uint64_t i = 0; i < kKeys; ++i) {
      ASSERT_OK(db_->Put({}, Key(i), "new" + std::string(300, static_cast<char>('a' + round % 26))));
      if (i % 8 == 0) Work(1);
    }
  }
  // Two versions of each key are needed, whatever the number of rounds.
  ASSERT_OK(db_->WaitForCompaction());
  EXPECT_LE(FileBytes(), 3 * kMiB) << Property(*db_, "stats");
  const auto check = [&](const Snapshot* at, char first) {
    auto it = db_->NewIterator({.read = {.snapshot = at}});
    uint64_t i = 0;
    for (it->SeekToFirst(); it->Valid(); it->Next(), ++i) {
      ASSERT_EQ(it->key(), Key(i));
      ASSERT_EQ(it->value()[0], first);
    }
    EXPECT_OK(it->status());
    EXPECT_EQ(i, kKeys);
  };
  check(snapshot.get(), 'o');
  check(nullptr, 'n');
}

// Tables of a load in key order with values inside are moved, never compacted: the smallest buffers make very
// many tables.
TEST_P(HardWorkloads, OpensAndReadsVeryManyTablesWithFewOpen) {
  Open();
  options_.blob_value_bytes_min = 0;  // otherwise the tables of blob indexes are small and are compacted
  Reopen();
  const uint64_t tables = IsFullSize() ? 100'000 : 2'000;
  uint64_t puts = 0;
  for (; Counter(*db_, "flushes") < tables;) {
    for (int i = 0; i < 20; ++i) ASSERT_OK(db_->Put({}, Key(puts++), std::string(1'000, 't')));
    Work(2);
  }
  ASSERT_OK(db_->Flush());
  const uint64_t there = Counter(*db_, "tables");
  EXPECT_GT(there, tables / 40) << Property(*db_, "counters");
  EXPECT_LT(Counter(*db_, "manifest_bytes"), 64 * kMiB);
  options_.open_tables_max = 20;
  Reopen();
  EXPECT_EQ(Counter(*db_, "tables"), there);
  base::Random random(5);
  for (int i = 0; i < 2'000; ++i) {
    std::string value;
    ASSERT_OK(db_->Get({}, Key(random.Uniform(puts)), &value));
    if (i % 50 == 0) { ASSERT_LE(Counter(*db_, "tables_open"), 20u); }
  }
}

INSTANTIATE_TEST_SUITE_P(Styles, HardWorkloads, ::testing::Values(Style::kLazy, Style::kCascade),
                         [](const auto& style) { return style.param == Style::kLazy ? "Lazy" : "Cascade"; });

}  // namespace
}  // namespace mergedb::testing::hard_workloads_test
