// Goal: MultiGet answers as Get does for each key, whatever it waits for; it asks for all blocks and values before it
// reads the first; an error concerns only the keys that need what could not be read. Method: files in memory behind a
// watch, background work run by the test; by example, then each read fails once, then random states and keys.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "mergedb/db.h"
#include "mergedb/merge.h"
#include "testing/counters.h"
#include "testing/seed.h"
#include "testing/simulated_db.h"
#include "testing/status_matchers.h"
#include "testing/watched_file_system.h"

namespace mergedb::testing::multi_get_test {
namespace {

using ::testing::HasSubstr;

std::string Key(uint64_t i) { return NumberedKey("key", i, 5); }

bool IsData(std::string_view path) { return path.ends_with(".tbl") || path.ends_with(".val"); }

class MultiGetTest : public SimulatedDb {
 protected:
  void SetUp() override {
    options_.env.file_system = &files_;
    Reopen();
  }
  struct Answer {
    Status status;
    std::string value;
  };
  std::vector<Answer> MultiGet(const std::vector<std::string>& keys, const ReadOptions& read = {},
                               Keyspace keyspace = {}) {
    std::vector<std::string> values;
    const auto statuses = db_->MultiGet(read, keyspace, {keys.begin(), keys.end()}, &values);
    EXPECT_EQ(statuses.size(), keys.size());
    EXPECT_EQ(values.size(), keys.size());
    std::vector<Answer> answers;
    for (size_t i = 0; i < keys.size(); ++i) answers.push_back({statuses.at(i), values.at(i)});
    return answers;
  }
  // MultiGet and Get give the same.
  void Compare(const std::vector<std::string>& keys, const ReadOptions& read = {}, Keyspace keyspace = {}) {
    const std::vector<Answer> answers = MultiGet(keys, read, keyspace);
    for (size_t i = 0; i < keys.size(); ++i) {
      std::string value;
      const Status status = db_->Get(read, keyspace, keys[i], &value);
      ASSERT_EQ(answers[i].status.ToString(), status.ToString()) << keys[i];
      if (status.ok()) { ASSERT_EQ(answers[i].value, value) << keys[i]; }
    }
  }
  // Small values in tables, large ones in blob files, in several runs.
  void FillRuns(uint64_t keys) {
    for (uint64_t run = 0; run < 3; ++run) {
      for (uint64_t i = run; i < keys; i += run + 1) {
        const size_t bytes = i % 2 == 0 ? 40 : 500;
        ASSERT_OK(db_->Put({}, Key(i), std::string(bytes, static_cast<char>('a' + run)) + Key(i)));
      }
      ASSERT_OK(db_->Flush());
    }
  }

  std::vector<std::string> events_;  // "hint" and "read" of tables and blob files
  uint64_t reads_ = 0;               // of tables and blob files
  uint64_t failing_read_ = 0;        // the number of the read that fails; 0: none
  std::string failed_path_;          // of the read that failed
  WatchedFileSystem files_{sim_.files.get(),
                           {.before = [this](const FileCall& call, size_t*) -> Status {
                              if (call.op != FileOp::kRead || !IsData(call.path)) return {};
                              events_.push_back("read");
                              if (++reads_ != failing_read_) return {};
                              failed_path_ = call.path;
                              return Status::IOError("injected");
                            },
                            .will_read =
                                [this](std::string_view path, uint64_t, uint64_t bytes) {
                                  if (IsData(path) && bytes < (64 << 10)) events_.push_back("hint");
                                }}};
};

TEST_F(MultiGetTest, AsksForAllBlocksBeforeItReadsTheFirst) {
  for (uint64_t i = 0; i < 3'000; ++i) ASSERT_OK(db_->Put({}, Key(i), std::string(50, 'v') + Key(i)));
  ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  Reopen();
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < 20; ++i) keys.push_back(Key(i * 150));
  for (uint64_t i = 0; i < 20; ++i) {  // opens the tables
    std::string value;
    ASSERT_OK(db_->Get({}, Key(i * 150 + 75), &value));
  }
  events_.clear();
  const auto answers = MultiGet(keys);
  for (size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(answers[i].value, std::string(50, 'v') + keys[i]);
  ASSERT_EQ(events_.size(), 40u) << "each block once";
  for (size_t i = 0; i < events_.size(); ++i) EXPECT_EQ(events_[i], i < 20 ? "hint" : "read") << i;

  events_.clear();
  Compare(keys);
  EXPECT_EQ(events_.size(), 0u) << "all blocks are in the cache";
}

TEST_F(MultiGetTest, AsksForAllBlobValuesBeforeItReadsTheFirst) {
  for (uint64_t i = 0; i < 100; ++i) ASSERT_OK(db_->Put({}, Key(i), std::string(1'000, 'v') + Key(i)));
  ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  Reopen();
  std::string value;
  for (uint64_t i = 0; i < 100; ++i) ASSERT_OK(db_->Get({.fill_cache = i % 10 == 1}, Key(i), &value));  // the blocks
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < 10; ++i) keys.push_back(Key(i * 10));
  events_.clear();
  const auto answers = MultiGet(keys);
  for (size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(answers[i].value, std::string(1'000, 'v') + keys[i]);
  ASSERT_EQ(events_.size(), 20u);
  for (size_t i = 0; i < events_.size(); ++i) EXPECT_EQ(events_[i], i < 10 ? "hint" : "read") << i;
}

// More keys than can wait at a time, each key twice.
TEST_F(MultiGetTest, ManyKeysInAnyOrderAndTwice) {
  FillRuns(1'000);
  base::Random random(3);
  std::vector<std::string> keys;
  for (int i = 0; i < 500; ++i) keys.push_back(Key(random.Uniform(1'100)));
  for (int i = 0; i < 500; ++i) keys.push_back(keys[i]);
  for (const bool fill_cache : {false, true}) {
    Reopen();
    Compare(keys, {.fill_cache = fill_cache});
  }
  EXPECT_TRUE(MultiGet({}).empty());
}

TEST_F(MultiGetTest, CountsMissesOfTheCacheAsGetDoes) {
  FillRuns(300);
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < 300; i += 7) keys.push_back(Key(i));
  Reopen();
  std::string value;
  for (const std::string& key : keys) ASSERT_OK(db_->Get({}, key, &value));
  const uint64_t misses = Counter(*db_, "block_cache_misses");
  EXPECT_GT(misses, 0u);
  Reopen();
  MultiGet(keys);
  EXPECT_EQ(Counter(*db_, "block_cache_misses"), misses);
}

// A key whose versions fill several blocks, so that one step of its search reads more than the block that it hinted at.
TEST_F(MultiGetTest, VersionsOfOneKeyInManyBlocks) {
  std::vector<std::shared_ptr<const Snapshot>> snapshots;
  for (int i = 0; i < 600; ++i) {
    ASSERT_OK(db_->Put({}, "hot", std::string(50, 'v') + std::to_string(i)));
    if (i % 3 == 0) {
      snapshots.push_back(db_->GetSnapshot());
      ASSERT_OK(db_->Merge({}, "counted", merge::AddU64(1)));
    }
  }
  ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  for (const bool fill_cache : {false, true}) {
    for (const auto& snapshot : snapshots)
      Compare({"hot", "counted", "absent", "hot"}, {.snapshot = snapshot.get(), .fill_cache = fill_cache});
  }
}

TEST_F(MultiGetTest, EachReadThatFailsConcernsOnlyTheKeysThatNeedIt) {
  FillRuns(600);
  for (uint64_t i = 0; i < 600; i += 5) ASSERT_OK(db_->Merge({}, Key(i), merge::Append("!")));
  ASSERT_OK(db_->Flush());
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < 600; i += 15) keys.push_back(Key(i));
  const std::vector<Answer> expected = MultiGet(keys, {.fill_cache = false});
  for (uint64_t failing = 1;; ++failing) {
    Reopen();
    reads_ = 0;
    failing_read_ = failing;
    failed_path_.clear();
    const std::vector<Answer> answers = MultiGet(keys, {.fill_cache = false});
    failing_read_ = 0;
    if (failed_path_.empty()) {
      EXPECT_GT(failing, 80u) << "a block and a value for most keys";
      break;
    }
    int failed = 0;
    for (size_t i = 0; i < keys.size(); ++i) {
      if (answers[i].status.ok()) {
        EXPECT_EQ(answers[i].value, expected[i].value) << keys[i];
        continue;
      }
      ++failed;
      EXPECT_THAT(answers[i].status, StatusIs(Code::kIOError, HasSubstr(failed_path_)));
      EXPECT_THAT(answers[i].status, StatusIs(Code::kIOError, HasSubstr("injected")));
    }
    EXPECT_EQ(failed, 1) << "read " << failing << " of " << failed_path_;
    const std::vector<Answer> again = MultiGet(keys);
    for (size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(again[i].value, expected[i].value) << keys[i];
  }
}

TEST_F(MultiGetTest, DamageIsReportedAsByGet) {
  FillRuns(600);
  ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  db_ = nullptr;
  for (const std::string& path : sim_.files->Files()) {
    if (!IsData(path)) continue;
    auto file = sim_.files->Open(path, {.access = Access::kReadWrite});
    ASSERT_OK(file.status());
    ASSERT_OK((*file)->WriteAt(5'000, "damage"));
  }
  Reopen();
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < 600; ++i) keys.push_back(Key(i));
  std::set<std::string> messages;
  for (const Answer& answer : MultiGet(keys)) messages.insert(answer.status.ToString());
  EXPECT_GE(messages.size(), 2u) << "some keys are intact";
  EXPECT_LE(messages.size(), 10u) << "each message names one block or value";
  Compare(keys);
}

TEST_F(MultiGetTest, RandomStatesGiveWhatGetGives) {
  const uint64_t seed = SeedOr(17);
  SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed));
  base::Random random(seed);
  std::vector<Keyspace> keyspaces{Keyspace()};
  std::vector<std::shared_ptr<const Snapshot>> snapshots;
  const auto key = [&] { return Key(random.Uniform(400)); };
  for (uint64_t step = 0; step < Sized(6'000, 60'000); ++step) {
    const Keyspace keyspace = keyspaces[random.Uniform(keyspaces.size())];
    switch (random.Uniform(24)) {
      case 0: {
        const std::string begin = key();
        ASSERT_OK(db_->DeleteRange({}, keyspace, begin, begin + "~"));
        break;
      }
      case 1:
        if (keyspaces.size() < 4) {
          auto made = db_->CreateKeyspace("space" + std::to_string(keyspaces.size()));
          ASSERT_OK(made.status());
          if (step > 1'000) {
            keyspaces.push_back(*made);
          } else {
            ASSERT_OK(db_->DropKeyspace({}, *made));
          }
        }
        break;
      case 2: snapshots.push_back(db_->GetSnapshot()); break;
      case 3:
        if (!snapshots.empty())
          snapshots.erase(snapshots.begin() + static_cast<long>(random.Uniform(snapshots.size())));
        break;
      case 4:
        if (random.Uniform(10) == 0) { ASSERT_OK(db_->Flush()); }
        break;
      case 5:
        for (uint64_t i = random.Uniform(20); i > 0; --i) sim_.executor.RunOne();
        break;
      case 6: {
        std::vector<std::string> keys;
        for (uint64_t i = random.Uniform(150); i > 0; --i) keys.push_back(key());
        ReadOptions read{.verify_checksums = random.Uniform(2) == 0, .fill_cache = random.Uniform(3) != 0};
        if (!snapshots.empty() && random.Uniform(2) == 0)
          read.snapshot = snapshots[random.Uniform(snapshots.size())].get();
        ASSERT_NO_FATAL_FAILURE(Compare(keys, read, keyspace));
        break;
      }
      case 7:
      case 8: ASSERT_OK(db_->Delete({}, keyspace, key())); break;
      case 9:
      case 10:
      case 11: ASSERT_OK(db_->Merge({}, keyspace, key(), merge::Append("+" + std::to_string(step)))); break;
      default: {
        const size_t bytes = random.Uniform(2) == 0 ? random.Uniform(60) : 100 + random.Uniform(2'000);
        ASSERT_OK(db_->Put({}, keyspace, key(), std::string(bytes, static_cast<char>('a' + step % 26))));
      }
    }
  }
}

}  // namespace
}  // namespace mergedb::testing::multi_get_test
