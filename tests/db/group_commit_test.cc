// Many threads write at once, on real files: writers share commits and device syncs; every write that
// returned is readable.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "mergedb/db.h"
#include "testing/counters.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace mergedb::testing::group_commit_test {
namespace {

class GroupCommit : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    options_.memory_bytes = 8 << 20;
    options_.write_buffer_bytes = 1 << 20;
    options_.use_mapped_wal_buffer = GetParam();
    Open();
  }
  void Open() {
    db_ = nullptr;
    auto db = DB::Open(options_, directory_ / "db");
    ASSERT_OK(db.status());
    db_ = std::move(*db);
  }
  static std::string Key(int thread, int i) { return "t" + std::to_string(thread) + ":" + std::to_string(i); }
  template <typename Act>
  static void InThreads(int count, Act act) {
    std::vector<std::thread> threads;
    for (int thread = 0; thread < count; ++thread) threads.emplace_back([act, thread] { act(thread); });
    for (auto& thread : threads) thread.join();
  }

  const TempDirectory directory_;
  Options options_;
  std::unique_ptr<DB> db_;
};

TEST_P(GroupCommit, SharesSyncsAmongWriters) {
  constexpr int kThreads = 8, kWrites = 60;
  InThreads(kThreads, [&](int thread) {
    for (int i = 0; i < kWrites; ++i) {
      EXPECT_OK(db_->Put({.durability = Durability::kSynced}, Key(thread, i), Key(i, thread)));
      std::string value;
      EXPECT_OK(db_->Get({}, Key(thread, i), &value));
      EXPECT_EQ(value, Key(i, thread));
    }
  });
  EXPECT_EQ(Counter(*db_, "writes"), static_cast<uint64_t>(kThreads * kWrites));
  EXPECT_LT(Counter(*db_, "write_groups"), Counter(*db_, "writes"));
  EXPECT_LE(Counter(*db_, "wal_syncs"), Counter(*db_, "writes"));
}

TEST_P(GroupCommit, KeepsWritesOfEveryDurabilityInOrder) {
  constexpr int kThreads = 6, kWrites = 2'000;
  const Durability kinds[] = {Durability::kProcessCrash, Durability::kSynced, Durability::kNoWal};
  InThreads(kThreads, [&](int thread) {
    for (int i = 0; i < kWrites; ++i) {
      const Durability durability = i % 97 == 0 ? kinds[(i + thread) % 3] : Durability::kProcessCrash;
      if (i % 10 == 0) {
        WriteBatch batch;
        batch.Put(Key(thread, i), "batch");
        batch.Delete(Key(thread, i - 5));
        batch.Put("counter of " + std::to_string(thread), std::to_string(i));
        EXPECT_OK(db_->Write({.durability = durability}, batch));
      } else {
        EXPECT_OK(
            db_->Put({.durability = durability}, Key(thread, i), std::string(300, static_cast<char>('a' + i % 26))));
      }
    }
  });
  const auto check = [&] {
    for (int thread = 0; thread < kThreads; ++thread) {
      std::string value;
      ASSERT_OK(db_->Get({}, "counter of " + std::to_string(thread), &value));
      ASSERT_EQ(value, std::to_string(kWrites - 10));
      for (int i = 0; i < kWrites; ++i) {
        const Status status = db_->Get({}, Key(thread, i), &value);
        const bool is_deleted = i % 10 == 5 && i + 5 < kWrites;
        if (is_deleted) {
          ASSERT_TRUE(status.IsNotFound()) << Key(thread, i);
        } else {
          ASSERT_OK(status) << Key(thread, i);
          ASSERT_EQ(value, i % 10 == 0 ? "batch" : std::string(300, static_cast<char>('a' + i % 26)));
        }
      }
    }
  };
  check();
  Open();
  check();
}

TEST_P(GroupCommit, ShowsBatchesWholeToConcurrentReaders) {
  std::atomic<bool> is_done{false};
  std::thread reader([&] {
    while (!is_done) {
      auto it = db_->NewIterator({.prefix = "pair"});
      std::string first;
      for (it->SeekToFirst(); it->Valid(); it->Next()) {
        if (first.empty()) first = it->value();
        EXPECT_EQ(it->value(), first);
      }
      EXPECT_OK(it->status());
      std::vector<std::string> values;
      const auto statuses = db_->MultiGet({}, {"pair:a", "pair:b", "pair:c"}, &values);
      EXPECT_EQ(values[0], values[1]);
      EXPECT_EQ(values[1], values[2]);
    }
  });
  InThreads(3, [&](int thread) {
    for (int i = 0; i < 1'500; ++i) {
      const std::string value = Key(thread, i) + std::string(200, 'v');
      WriteBatch batch;
      for (const char* key : {"pair:a", "pair:b", "pair:c"}) batch.Put(key, value);
      EXPECT_OK(db_->Write({}, batch));
    }
  });
  is_done = true;
  reader.join();
}

// A flush writes only the data from before the call: it ends although other threads never stop writing.
TEST_P(GroupCommit, FlushEndsWhileOthersWrite) {
  std::atomic<bool> is_done{false};
  std::vector<std::thread> writers;
  for (int thread = 0; thread < 2; ++thread) {
    writers.emplace_back([&, thread] {
      for (int i = 0; !is_done; ++i) EXPECT_OK(db_->Put({}, Key(thread, i % 5'000), std::string(1'000, 'v')));
    });
  }
  const auto start = std::chrono::steady_clock::now();
  for (uint64_t i = 1; i <= 5; ++i) {
    while (Counter(*db_, "writes") < i * 1'000) std::this_thread::yield();
    EXPECT_OK(db_->Flush());
  }
  const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  is_done = true;
  for (auto& writer : writers) writer.join();
  EXPECT_LT(seconds, 20);
  RecordProperty("milliseconds", static_cast<int>(seconds * 1000));
}

INSTANTIATE_TEST_SUITE_P(Staging, GroupCommit, ::testing::Bool(),
                         [](const auto& is_mapped) { return is_mapped.param ? "Mapped" : "Written"; });

}  // namespace
}  // namespace mergedb::testing::group_commit_test
