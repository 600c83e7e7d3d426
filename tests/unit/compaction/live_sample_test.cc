// Goal: the estimate of the bytes after a full compaction is never too large, and not much too small.
#include "compaction/live_sample.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/random.h"

namespace mergedb::compaction {
namespace {

using kv::Kind;

// Flushes of a database whose tables hold exactly the bytes of their keys and values.
class LiveSampleTest : public ::testing::Test {
 protected:
  struct Write {
    Kind kind = Kind::kPut;
    uint64_t value_bytes = 0;
  };
  using Memtable = std::map<std::string, Write>;

  static std::string Key(uint64_t i) { return "key" + std::to_string(1'000'000'000 + i); }  // 13 bytes
  static uint64_t KeyCounts() { return 7; }

  void Flush(const Memtable& memtable, double share = 1.0) {
    auto changes = sample_.Begin();
    uint64_t bytes = 0;
    for (const auto& [key, write] : memtable) {
      const std::string value(write.value_bytes, 'v');
      changes.Add({.prefix = 0, .key = key, .tag = kv::MakeTag(1, write.kind), .value = value});
      bytes += key.size() + value.size();
    }
    sample_.Apply(changes, static_cast<uint64_t>(share * static_cast<double>(bytes)));
  }

  LiveSample sample_;
};

TEST_F(LiveSampleTest, CountsFewKeysExactlyAndEachOnce) {
  for (int round = 0; round < 3; ++round) {
    Memtable memtable;
    for (uint64_t i = 0; i < 1'000; ++i) memtable[Key(i)] = {.value_bytes = 100};
    Flush(memtable);
  }
  EXPECT_EQ(sample_.BytesAtLeast(), 1'000 * (100 + KeyCounts()));
  Flush({{Key(0), {.value_bytes = 10}},
         {Key(1), {Kind::kDelete}},
         {Key(2), {Kind::kMerge, 50}},
         {Key(5'000), {Kind::kDelete}}});
  EXPECT_EQ(sample_.BytesAtLeast(), 997 * (100 + KeyCounts()) + (10 + KeyCounts()) + KeyCounts())
      << "an overwrite, a delete, an operand of which only the key counts, and a delete of nothing";
}

TEST_F(LiveSampleTest, IsNeverMoreThanTheTruthAndNotMuchLess) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    sample_.Forget();
    base::Random random(seed);
    std::map<std::string, uint64_t> live;
    for (int flush = 0; flush < 20; ++flush) {
      Memtable memtable;
      for (int n = 0; n < 5'000; ++n) {
        const std::string key = Key(random.Uniform(40'000));
        if (random.Uniform(10) == 0) {
          memtable[key] = {Kind::kDelete};
          live.erase(key);
        } else {
          const uint64_t bytes = random.Uniform(20) == 0 ? 2'000 : 50;  // a few values hold most of the bytes
          memtable[key] = {.value_bytes = bytes};
          live[key] = bytes + KeyCounts();
        }
      }
      Flush(memtable);
      uint64_t truth = 0;
      for (const auto& [key, bytes] : live) truth += bytes;
      EXPECT_LE(sample_.BytesAtLeast(), truth) << "seed " << seed << ", flush " << flush;
      EXPECT_GE(sample_.BytesAtLeast(), truth * 3 / 4) << "seed " << seed << ", flush " << flush;
    }
  }
}

TEST_F(LiveSampleTest, OfAKeyTheNewestVersionCounts) {
  auto changes = sample_.Begin();
  const std::string large(1'000, 'v');
  changes.Add({.prefix = 0, .key = "a", .tag = kv::MakeTag(2, Kind::kDelete), .value = {}});
  changes.Add({.prefix = 0, .key = "a", .tag = kv::MakeTag(1, Kind::kPut), .value = large});
  sample_.Apply(changes, 1'002);
  EXPECT_EQ(sample_.BytesAtLeast(), 0u);
}

TEST_F(LiveSampleTest, CountsWhatATableTakesOnDisk) {
  Flush({{Key(0), {.value_bytes = 1'000}}}, 0.25);
  EXPECT_EQ(sample_.BytesAtLeast(), (1'000 + KeyCounts()) / 4);
  Flush({{Key(0), {.value_bytes = 1'000}}}, 3.0);
  EXPECT_EQ(sample_.BytesAtLeast(), 1'000 + KeyCounts())
      << "a table's fixed costs go when it becomes part of a larger one";
}

TEST_F(LiveSampleTest, AHugeValueCountsForALittleOfIt) {
  Flush({{Key(0), {.value_bytes = uint64_t{1} << 20}}});
  EXPECT_EQ(sample_.BytesAtLeast(), LiveSample::kValueBytesMax + KeyCounts());
}

TEST_F(LiveSampleTest, ForgetsEverythingAndBeginsAnew) {
  Flush({{Key(0), {.value_bytes = 100}}});
  sample_.Forget();
  EXPECT_EQ(sample_.BytesAtLeast(), 0u);
  Flush({{Key(1), {.value_bytes = 100}}});
  EXPECT_EQ(sample_.BytesAtLeast(), 100 + KeyCounts());
}

}  // namespace
}  // namespace mergedb::compaction
