// Promise 9 on a slow disk: while the disk keeps up, a put is delayed by at most write_delay_us_max. Method:
// real threads in simulated time (testing/simulated_time.h), a disk of a given speed, a writer that puts at a
// given rate regardless of delays (an open loop). Computing takes no simulated time, so the test measures
// only waits for the disk.
#include "testing/slow_disk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <string>
#include <vector>

#include "base/random.h"
#include "mergedb/db.h"
#include "testing/counters.h"
#include "testing/fault_file_system.h"
#include "testing/numbered_key.h"
#include "testing/seed.h"
#include "testing/status_matchers.h"

namespace mergedb::testing {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kMillisecond = 1'000'000;
constexpr uint64_t kSecond = 1'000 * kMillisecond;

std::string Key(uint64_t i) { return NumberedKey("key", i, 9); }

class SlowDiskTest : public ::testing::TestWithParam<Style> {
 protected:
  void Open(size_t write_buffer_bytes, const SlowDisk::Options& disk) {
    disk_ = std::make_unique<SlowDisk>(time_, files_, disk);
    options_.write_buffer_bytes = write_buffer_bytes;
    options_.memory_bytes = 8 * write_buffer_bytes;
    options_.style = GetParam();
    options_.compression = {Compression::kNone, Compression::kNone};
    options_.env = {
        .file_system = disk_.get(), .clock = &time_, .executor = &executor_, .logger = nullptr, .entropy = [this] {
          return entropy_ += 0x9e3779b97f4a7c15u;
        }};  // any thread calls it
    auto db = DB::Open(options_, "/db");
    ASSERT_OK(db.status());
    db_ = std::move(*db);
  }

  // Random overwrites at `bytes_per_second`. Records the waits of puts, in nanoseconds.
  void Write(uint64_t bytes_per_second, uint64_t seconds) {
    const std::string value(1'000, 'v');
    const uint64_t each = value.size() + 12, begin = time_.NowNanos();
    uint64_t put = 0;
    for (uint64_t tick = 1; tick <= seconds * 1'000; ++tick) {
      time_.SleepUntil(begin + tick * kMillisecond);
      for (const uint64_t end = bytes_per_second * tick / 1'000 / each; put < end; ++put) {
        const uint64_t before = time_.NowNanos();
        ASSERT_OK(db_->Put({}, Key(random_.Uniform(keys_)), value));
        const uint64_t waited = time_.NowNanos() - before;
        waits_.push_back(waited);
        if (waited > options_.write_delay_us_max * 1000) ++long_waits_;
      }
    }
    late_nanos_ = time_.NowNanos() - (begin + seconds * kSecond);
    disk_share_ = static_cast<double>(disk_->busy_nanos()) / static_cast<double>(time_.NowNanos() - begin);
  }
  // The wait that this share of the puts does not exceed.
  uint64_t WaitAt(double share) {
    std::ranges::sort(waits_);
    return waits_[static_cast<size_t>(share * static_cast<double>(waits_.size() - 1))];
  }
  std::string Describe() {
    char text[256];
    std::snprintf(text, sizeof text,
                  "waits: p99 %.3f p99.9 %.3f max %.3f ms, %llu too long; %.1f ms late at the end; disk busy %.0f %%\n",
                  static_cast<double>(WaitAt(0.99)) * 1e-6, static_cast<double>(WaitAt(0.999)) * 1e-6,
                  static_cast<double>(WaitAt(1)) * 1e-6, static_cast<unsigned long long>(long_waits_),
                  static_cast<double>(late_nanos_) * 1e-6, disk_share_ * 100);
    return text;
  }

  SimulatedTime time_;
  SimulatedExecutor executor_{time_, 3, 2};
  FaultFileSystem files_{{.capture_mappings = false}};
  std::unique_ptr<SlowDisk> disk_;
  base::Random random_{SeedOr(7)};
  std::atomic<uint64_t> entropy_{1};
  Options options_;
  uint64_t keys_ = 40'000;
  std::vector<uint64_t> waits_;  // of each put, in nanoseconds
  uint64_t long_waits_ = 0;
  uint64_t late_nanos_ = 0;
  double disk_share_ = 0;
  std::unique_ptr<DB> db_;
};

TEST_P(SlowDiskTest, APutNeverWaitsLongerThanItMayWhileTheDiskKeepsUp) {
  Open(16 * kMiB, {.bytes_per_second = 200 * kMiB});
  Write(40 * kMiB, IsFullSize() ? 30 : 3);
  std::printf("%s", Describe().c_str());
  EXPECT_LE(WaitAt(1), options_.write_delay_us_max * 1000) << Describe() << Property(*db_, "counters");
  EXPECT_LE(late_nanos_, kMillisecond) << "the disk can take this load: " << Describe();
}

// Small buffers bridge shorter hiccups: the same holds at a lower rate.
TEST_P(SlowDiskTest, NorWithSmallBuffers) {
  Open(4 * kMiB, {.bytes_per_second = 200 * kMiB});
  Write(15 * kMiB, IsFullSize() ? 30 : 4);
  std::printf("%s", Describe().c_str());
  EXPECT_LE(WaitAt(1), options_.write_delay_us_max * 1000) << Describe() << Property(*db_, "counters");
}

// Writes four times as fast as the disk: many short delays slow the puts to the disk's speed; few puts wait
// for the disk itself, none for long.
TEST_P(SlowDiskTest, ADiskThatCannotKeepUpSlowsPutsEvenly) {
  Open(4 * kMiB, {.bytes_per_second = 100 * kMiB});
  Write((IsFullSize() ? 360 : 180) * kMiB, 1);
  std::printf("%s", Describe().c_str());
  EXPECT_GT(late_nanos_, kSecond);
  EXPECT_LE(WaitAt(0.999), options_.write_delay_us_max * 1000) << Describe() << Property(*db_, "counters");
  EXPECT_LE(WaitAt(1), kSecond / 4) << Describe() << Property(*db_, "counters");
}

// A hanging disk delays writes only as long as it hangs.
TEST_P(SlowDiskTest, AHangingDiskIsFeltForAsLongAsItHangs) {
  Open(4 * kMiB, {.bytes_per_second = 200 * kMiB});
  Write(15 * kMiB, 1);
  disk_->HangFor(kSecond / 2);
  Write(15 * kMiB, 2);
  std::printf("%s", Describe().c_str());
  EXPECT_LE(WaitAt(1), kSecond / 2 + 50 * kMillisecond) << Describe() << Property(*db_, "counters");
  EXPECT_LE(late_nanos_, kMillisecond) << Describe();
}

INSTANTIATE_TEST_SUITE_P(Styles, SlowDiskTest, ::testing::Values(Style::kLazy, Style::kCascade),
                         [](const auto& style) { return style.param == Style::kLazy ? "Lazy" : "Cascade"; });

}  // namespace
}  // namespace mergedb::testing
