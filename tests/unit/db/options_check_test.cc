// Goal: missing options get values, contradictory options are refused by name, and memory is never assigned
// twice.
#include "db/state/options_check.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "memtable/memory.h"
#include "testing/status_matchers.h"

namespace mergedb::db {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

TEST(OptionsCheck, FillsInWhatIsLeftOut) {
  Options options;
  ASSERT_OK(CheckOptions(&options));
  EXPECT_NE(options.env.file_system, nullptr);
  EXPECT_NE(options.env.clock, nullptr);
  EXPECT_NE(options.env.executor, nullptr);
  EXPECT_TRUE(options.env.entropy);
  EXPECT_EQ(options.write_buffer_bytes, options.memory_bytes / 8);
}

TEST(OptionsCheck, RefusesEachContradictionByName) {
  const auto refuses = [](const char* name, auto&& change) {
    Options options;
    change(options);
    EXPECT_THAT(CheckOptions(&options), StatusIs(Code::kInvalidArgument, HasSubstr(std::string("options.") + name)));
  };
  refuses("comparator", [](Options& o) { o.comparator = nullptr; });
  refuses("write_buffer_bytes", [](Options& o) { o.write_buffer_bytes = 65535; });
  refuses("write_buffer_bytes",
          [](Options& o) { o.memory_bytes = size_t{200} << 30, o.write_buffer_bytes = size_t{100} << 30; });
  refuses("write_buffer_bytes",
          [](Options& o) { o.memory_bytes = size_t{1} << 50, o.write_buffer_bytes = (size_t{32} << 30) + 1; });
  refuses("write_buffer_bytes", [](Options& o) { o.write_buffer_bytes = SIZE_MAX; });
  refuses("memory_bytes", [](Options& o) { o.memory_bytes = (size_t{1} << 50) + 1; });
  refuses("write_delay_us_max", [](Options& o) { o.write_delay_us_max = 3'600'000'001; });
  refuses("memory_bytes", [](Options& o) { o.memory_bytes = 1 << 20, o.write_buffer_bytes = 1 << 20; });
  refuses("log_bytes_max", [](Options& o) { o.log_bytes_max = (16 << 10) - 1; });
  refuses("log_bytes_max", [](Options& o) { o.log_bytes_max = (1 << 30) + 1; });
  refuses("slow_call_us", [](Options& o) { o.slow_call_us = 3'600'000'001; });
  refuses("block_bytes", [](Options& o) { o.block_bytes = 255; });
  refuses("block_bytes", [](Options& o) { o.block_bytes = (4 << 20) + 1; });
  refuses("bloom_bits_per_key", [](Options& o) { o.bloom_bits_per_key = -1; });
  refuses("bloom_bits_per_key", [](Options& o) { o.bloom_bits_per_key = 65; });
  refuses("open_tables_max", [](Options& o) { o.open_tables_max = 15; });
  refuses("compression", [](Options& o) { o.compression.upper = static_cast<Compression>(9); });
}

TEST(MemoryPlan, KeepsUnflushedWritesWithinTwiceTheBuffer) {
  for (size_t buffer = 64 << 10; buffer <= size_t{32} << 30;
       buffer = std::min(buffer * 3 / 2, size_t{32} << 30) + (buffer >> 35)) {
    Options options;
    options.write_buffer_bytes = buffer;
    options.memory_bytes = 4 * buffer;
    ASSERT_OK(CheckOptions(&options));
    const MemoryPlan pick = PlanMemory(options);
    EXPECT_LE(pick.memtables_max * pick.memtable_bytes, 2 * buffer) << buffer;
    EXPECT_LE(pick.wal_buffer_bytes, std::max(4 * buffer, size_t{64} << 20)) << buffer;
    if (buffer <= size_t{128} << 20) {  // all memtables and an eighth for commits, before the WAL writer starts
      EXPECT_LE(pick.memtables_max * pick.memtable_bytes + pick.wal_buffer_bytes / 8, pick.wal_buffer_bytes / 8 * 7);
    }
    EXPECT_GT(pick.memtable_bytes, 0u);
    EXPECT_LE(pick.memtable_bytes, memtable::kMemoryBytesMax);
    EXPECT_LE(pick.block_cache_bytes + 2 * buffer, options.memory_bytes) << buffer;
    EXPECT_GE(pick.wal_quota_bytes, 2 * buffer);
  }
}

}  // namespace
}  // namespace mergedb::db
