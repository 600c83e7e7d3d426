// A scan in either direction meets a read that fails: at each read of it, once or from then on. What the scan delivered
// before is right, the scan ends with the error and not as if it were at the end of the keys, and the same iterator
// goes on from there once reads succeed. The read windows of a scan grow, so the tables and blob files have several of
// them. Method: files in memory, one sorted run or several, values in tables or in blob files; a database that has just
// been opened for each failing read, so that no block is in the cache. MERGEDB_SEED=n: other random walks.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "base/random.h"
#include "mergedb/db.h"
#include "testing/seed.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"

namespace mergedb::testing {
namespace {

using Pairs = std::map<std::string, std::string>;

class ScanErrors : public ::testing::TestWithParam<std::tuple<bool, bool>> {
 protected:
  static constexpr uint64_t kKeys = 400;
  static constexpr size_t kValueBytes = 3'000;

  void SetUp() override {
    Open(2 << 20);  // each flush is a run
    base::Random random(3);
    for (uint64_t i = 0; i < kKeys; ++i) {
      const std::string key = "k" + std::to_string(10'000 + i * 37 % kKeys);
      std::string value;
      while (value.size() < kValueBytes) value += static_cast<char>(random.Next());
      ASSERT_OK(db_->Put({}, key, value));
      live_[key] = std::move(value);
      if (has_many_runs() && i % 80 == 79) { ASSERT_OK(db_->Flush()); }
    }
    ASSERT_OK(has_many_runs() ? db_->Flush() : db_->CompactRange({}, nullptr, nullptr));
    ASSERT_OK(db_->Close());
  }
  static bool separates() { return std::get<0>(GetParam()); }
  static bool has_many_runs() { return std::get<1>(GetParam()); }
  FaultFileSystem& files() { return *sim_.files; }

  void Open(size_t write_buffer_bytes = 64 << 10) {
    Options options = sim_.SmallOptions();
    options.memory_bytes = 8 << 20;
    options.write_buffer_bytes = write_buffer_bytes;
    options.blob_value_bytes_min = separates() ? 64 : UINT64_MAX;
    db_ = nullptr;
    ASSERT_OK_AND_ASSIGN(db_, DB::Open(options, SimulatedEnv::kPath));
  }

  // Compares what `it` delivers from its position on. Returns true at the end of the keys, and false at a read that
  // failed; `*next` is the key that is still missing then.
  bool Walk(Iterator& it, bool is_forward, std::string* next) {
    for (; it.Valid(); is_forward ? it.Next() : it.Prev()) {
      const auto expected = live_.find(*next);
      EXPECT_EQ(it.key(), *next);
      if (it.key() != *next) return true;
      EXPECT_TRUE(it.value() == expected->second) << "another value of " << *next;
      const bool is_last = is_forward ? std::next(expected) == live_.end() : expected == live_.begin();
      *next = is_last ? "" : is_forward ? std::next(expected)->first : std::prev(expected)->first;
    }
    if (it.status().ok()) {
      EXPECT_EQ(*next, "") << "the scan ends early, without an error";
      return true;
    }
    EXPECT_TRUE(it.status().IsIOError()) << it.status().ToString();
    EXPECT_NE(*next, "") << "all keys were there, but: " << it.status().ToString();
    return false;
  }

  // The scan meets the failing read number `nth`. Returns false if it makes fewer reads.
  bool ScansPast(uint64_t nth, bool is_forward, bool is_sticky) {
    Open();
    const uint64_t hits = files().faults_hit();
    files().AddFault({.op = FileOp::kRead, .nth = nth, .sticky = is_sticky});
    const auto it = db_->NewIterator();
    std::string next = is_forward ? live_.begin()->first : live_.rbegin()->first;
    is_forward ? it->SeekToFirst() : it->SeekToLast();
    const bool ended = Walk(*it, is_forward, &next);
    const bool is_hit = files().faults_hit() > hits;
    // A window of blocks that cannot be read once is read again block by block.
    if (is_sticky || !is_hit) { EXPECT_NE(ended, is_hit) << "each failing read of a scan is one that the scan needs"; }
    if (!ended && is_sticky) {
      is_forward ? it->Seek(next) : it->SeekForPrev(next);
      EXPECT_FALSE(Walk(*it, is_forward, &next)) << "the same error, perhaps behind blocks that are in the cache";
    }
    files().ClearFaults();
    if (!ended) {
      is_forward ? it->Seek(next) : it->SeekForPrev(next);
      EXPECT_TRUE(Walk(*it, is_forward, &next)) << "after the error was gone: " << it->status().ToString();
      next = is_forward ? live_.rbegin()->first : live_.begin()->first;
      is_forward ? it->SeekToLast() : it->SeekToFirst();
      EXPECT_TRUE(Walk(*it, !is_forward, &next)) << "in the other direction: " << it->status().ToString();
    }
    return is_hit;
  }

  SimulatedEnv sim_;
  std::unique_ptr<DB> db_;
  Pairs live_;
};

TEST_P(ScanErrors, EndAScanAndNotTheIterator) {
  for (const bool is_forward : {true, false}) {
    for (const bool is_sticky : {true, false}) {
      uint64_t nth = 1;
      for (; ScansPast(nth, is_forward, is_sticky); ++nth) {
        if (HasFailure()) FAIL() << "read " << nth << (is_forward ? ", forward" : ", backward");
      }
      EXPECT_GT(nth, 8u) << "windows: a scan of so much data makes several reads";
    }
  }
}

// Moves in all directions while reads fail now and then. Where the iterator is Valid, it shows the right entry.
TEST_P(ScanErrors, NeverShowAWrongEntryToARandomWalk) {
  base::Random random(SeedOr(11));
  uint64_t failures = 0;
  for (uint64_t life = 0; life < Sized(12, 1'000, 4); ++life) {
    SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(SeedOr(11)) + ", life " + std::to_string(life));
    Open();
    const auto it = db_->NewIterator();
    auto at = live_.end();  // end: the iterator is not Valid
    for (int move = 0; move < 400; ++move) {
      if (random.OneIn(12)) files().AddFault({.op = FileOp::kRead, .nth = 1 + random.Uniform(6)});
      if (random.OneIn(12)) files().ClearFaults();
      if (at == live_.end() || random.OneIn(30)) {
        const auto target = std::next(live_.begin(), static_cast<int64_t>(random.Uniform(live_.size())));
        random.OneIn(2) ? it->Seek(target->first) : it->SeekForPrev(target->first);
        at = target;
      } else if (move / 40 % 2 == 0) {  // long ways in one direction, so that windows grow
        it->Next();
        ++at;
      } else {
        it->Prev();
        at = at == live_.begin() ? live_.end() : std::prev(at);
      }
      if (!it->status().ok()) {
        ASSERT_TRUE(it->status().IsIOError()) << it->status().ToString();
        ASSERT_FALSE(it->Valid());
        ++failures;
        at = live_.end();
        continue;
      }
      ASSERT_EQ(it->Valid(), at != live_.end()) << "move " << move;
      if (!it->Valid()) continue;
      ASSERT_EQ(it->key(), at->first) << "move " << move;
      ASSERT_TRUE(it->value() == at->second) << "move " << move;
    }
    files().ClearFaults();
  }
  EXPECT_GT(failures, 0u);
}

INSTANTIATE_TEST_SUITE_P(Shapes, ScanErrors, ::testing::Combine(::testing::Bool(), ::testing::Bool()),
                         [](const ::testing::TestParamInfo<std::tuple<bool, bool>>& shape) {
                           return std::string(std::get<0>(shape.param) ? "Blobs" : "Tables") +
                                  (std::get<1>(shape.param) ? "InManyRuns" : "InOneRun");
                         });

}  // namespace
}  // namespace mergedb::testing
