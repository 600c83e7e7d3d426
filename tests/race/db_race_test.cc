// Writers, readers, iterators, snapshots, flushes, compactions and property reads at the same time, on real
// files with real threads. Small and quick, for the thread sanitizer; each thread checks what must hold
// whatever the others do.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <map>
#include <thread>

#include "base/random.h"
#include "mergedb/db.h"
#include "testing/geometry.h"
#include "testing/seed.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace mergedb::testing {
namespace {

constexpr size_t kWriters = 2;
constexpr uint64_t kWritesEach = 1500;
constexpr uint64_t kPairs = 100;

class DbRaceTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  void SetUp() override { Reopen(); }
  void Reopen() {
    db_ = nullptr;
    Options options;
    Choose(geometry_, &options);
    auto db = DB::Open(options, directory_.path());
    ASSERT_OK(db.status());
    db_ = std::move(*db);
  }

  static std::string Left(size_t writer, uint64_t i) { return "a" + std::to_string(writer) + "-" + std::to_string(i); }
  static std::string Right(size_t writer, uint64_t i) { return "b" + std::to_string(writer) + "-" + std::to_string(i); }

  // Each batch writes the same number to a pair of keys: at every moment the two are equal.
  void Write(size_t writer) {
    base::Random random(seed_ + writer);
    for (uint64_t n = 1; n <= kWritesEach; ++n) {
      const uint64_t pair = random.Uniform(kPairs);
      const std::string value = std::to_string(1'000'000 + n) + std::string(random.Uniform(200), 'v');
      WriteBatch batch;
      batch.Put(Left(writer, pair), value);
      batch.Put(Right(writer, pair), value);
      ASSERT_OK(db_->Write({.durability = random.OneIn(200) ? Durability::kSynced : Durability::kProcessCrash}, batch));
      done_[writer] = n;
    }
  }
  // The number of a key never decreases.
  void Read(uint64_t salt) {
    base::Random random(seed_ + salt);
    std::string before, after;
    while (!is_over_) {
      const size_t writer = random.Uniform(kWriters);
      const std::string key = Left(writer, random.Uniform(kPairs));
      const Status first = db_->Get({}, key, &before);
      const Status second = db_->Get({}, key, &after);
      ASSERT_TRUE(first.ok() || first.IsNotFound()) << first.ToString();
      if (!first.ok()) continue;
      ASSERT_OK(second);
      ASSERT_LE(before.substr(0, 7), after.substr(0, 7)) << key;
    }
  }
  void ReadSnapshots() {
    base::Random random(seed_ + 77);
    while (!is_over_) {
      const auto snapshot = db_->GetSnapshot();
      for (int i = 0; i < 20; ++i) {
        std::vector<std::string> keys, values;
        for (uint64_t pairs = 1 + random.Uniform(50); pairs > 0; --pairs) {
          const size_t writer = random.Uniform(kWriters);
          const uint64_t pair = random.Uniform(kPairs);
          keys.push_back(Left(writer, pair));
          keys.push_back(Right(writer, pair));
        }
        const ReadOptions read{.snapshot = snapshot.get(), .fill_cache = i % 2 == 0};
        const auto statuses = db_->MultiGet(read, {keys.begin(), keys.end()}, &values);
        for (size_t left = 0; left < keys.size(); left += 2) {
          ASSERT_TRUE(statuses[left].ok() || statuses[left].IsNotFound()) << statuses[left].ToString();
          ASSERT_EQ(statuses[left].code(), statuses[left + 1].code()) << keys[left];
          ASSERT_EQ(values[left], values[left + 1]) << keys[left];
        }
      }
    }
  }
  void Iterate() {
    base::Random random(seed_ + 88);
    while (!is_over_) {
      auto it = db_->NewIterator();
      std::map<std::string, std::string> lefts;
      std::string last;
      for (it->SeekToFirst(); it->Valid(); it->Next()) {
        const std::string key(it->key());
        ASSERT_LT(last, key);
        last = key;
        if (key[0] == 'a') {
          lefts[key.substr(1)] = it->value();
        } else {
          ASSERT_EQ(lefts[key.substr(1)], it->value()) << key;
          lefts.erase(key.substr(1));
        }
      }
      ASSERT_OK(it->status());
      ASSERT_TRUE(lefts.empty()) << lefts.begin()->first;
      it->SeekToLast();
      for (uint64_t steps = random.Uniform(40); steps > 0 && it->Valid(); --steps) it->Prev();
      ASSERT_OK(it->status());
    }
  }
  void Tend() {
    base::Random random(seed_ + 99);
    std::string text;
    while (!is_over_) {
      if (random.OneIn(4)) {
        ASSERT_OK(db_->Flush());
      } else if (random.OneIn(8)) {
        ASSERT_OK(db_->CompactRange(nullptr, nullptr));
      } else if (random.OneIn(4)) {
        ASSERT_OK(db_->SyncWal());
      }
      for (const char* name : {"stats", "runs", "counters", "snapshots", "errors", "recovery"}) {
        ASSERT_TRUE(db_->GetProperty(std::string("mergedb.") + name, &text)) << name;
      }
      (void)db_->ApproximateSizes({{.lower = "a", .upper = "b"}});
      std::this_thread::yield();
    }
  }

  const uint64_t seed_ = SeedOr(13);
  const Geometry geometry_ = GeometryFor(seed_ * 100 + GetParam(), {.write_buffer_bytes_max = 1 << 20});
  const TempDirectory directory_;
  std::unique_ptr<DB> db_;
  std::atomic<bool> is_over_{false};
  std::array<std::atomic<uint64_t>, kWriters> done_{};
};

TEST_P(DbRaceTest, KeepsTheSuperVersionOfEachThread) {
  SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed_) + " " + ReplayOf(geometry_));
  std::vector<std::thread> writers, others;
  for (size_t i = 0; i < kWriters; ++i) writers.emplace_back([this, i] { Write(i); });
  others.emplace_back([this] { Read(1000); });
  others.emplace_back([this] { ReadSnapshots(); });
  others.emplace_back([this] { Iterate(); });
  others.emplace_back([this] { Tend(); });
  for (auto& thread : writers) thread.join();
  is_over_ = true;
  for (auto& thread : others) thread.join();
  for (const auto& done : done_) EXPECT_EQ(done, kWritesEach);
  ASSERT_OK(db_->WaitForCompaction());
  ASSERT_OK(db_->CheckIntegrity());
  Reopen();
  std::string left, right;
  for (uint64_t pair = 0; pair < kPairs; ++pair) {
    if (db_->Get({}, Left(0, pair), &left).IsNotFound()) continue;
    ASSERT_OK(db_->Get({}, Right(0, pair), &right));
    EXPECT_EQ(left, right);
  }
}

TEST_P(DbRaceTest, ClosesWhileIteratorsAndSnapshotsAreHeld) {
  ASSERT_OK(db_->Put({}, "a0-0", "1"));
  auto snapshot = db_->GetSnapshot();
  std::vector<std::thread> readers;
  std::atomic<int> ready{0};
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      auto it = db_->NewIterator();
      it->SeekToFirst();
      ++ready;
      while (it->status().ok()) it->SeekToFirst();
      EXPECT_TRUE(it->status().IsShuttingDown());
    });
  }
  while (ready < 3) std::this_thread::yield();
  ASSERT_OK(db_->Close());
  for (auto& reader : readers) reader.join();
}

// A job that still runs when the database closes ends before the file system of its files is destroyed.
TEST_P(DbRaceTest, ClosesWhileCompactionsRun) {
  base::Random random(seed_);
  for (int round = 0; round < 12; ++round) {
    for (int i = 0; i < 1'200; ++i) {
      ASSERT_OK(db_->Put({}, Left(0, random.Uniform(5'000)),
                         std::string(random.Uniform(500), static_cast<char>('a' + round))));
    }
    Reopen();
  }
  EXPECT_OK(db_->CheckIntegrity());
}

// Symptom: a task read the tree after the database was destroyed. Cause: no thread waits for a notification
// that a memtable became immutable, and the task looked at the tree before it checked for the end.
// Consequence: a crash in a program that closes a database.
TEST_P(DbRaceTest, ClosesWhileAMemtableSwitchIsNotified) {
  for (uint64_t round = 0; round < Sized(100, 8000, 50); ++round) {
    ASSERT_OK(
        // makes the close switch the memtable and flush
        db_->Put({.durability = Durability::kNoWal}, "key", std::to_string(round)));
    Reopen();
  }
}

INSTANTIATE_TEST_SUITE_P(Geometries, DbRaceTest, ::testing::Range<uint64_t>(0, 4));

}  // namespace
}  // namespace mergedb::testing
