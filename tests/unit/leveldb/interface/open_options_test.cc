// Goal: LevelDB's options become the right mergedb options. Method: translation, without a database.
#include "leveldb/interface/open_options.h"

#include <gtest/gtest.h>

#include <memory>

#include "leveldb/cache.h"

namespace leveldb {
namespace {

mergedb::Options Translated(const Options& options) {
  Borrowed borrowed(options, "/nowhere");
  return ToCore(options, &borrowed);
}

// With fewer memory bytes the engine warms less of the page cache: cold gets through the LevelDB interface
// take 1.5 times as long.
TEST(OpenOptions, ACacheOfOursCountsAsMemory) {
  constexpr size_t kMiB = size_t{1} << 20;
  Options options;
  options.write_buffer_size = 4 * kMiB;
  EXPECT_EQ(Translated(options).memory_bytes, (8 + 8) * kMiB);
  const std::unique_ptr<Cache> cache(NewLRUCache(256 * kMiB));
  options.block_cache = cache.get();
  EXPECT_EQ(Translated(options).memory_bytes, (8 + 256) * kMiB);
}

TEST(OpenOptions, ACacheWithoutLimitOverflowsNothing) {
  for (const size_t capacity : {size_t{0}, ~size_t{0}}) {
    const std::unique_ptr<Cache> cache(NewLRUCache(capacity));
    Options options;
    options.write_buffer_size = ~size_t{0};
    options.block_cache = cache.get();
    const mergedb::Options core = Translated(options);
    EXPECT_GE(core.memory_bytes, 2 * core.write_buffer_bytes);
    EXPECT_LT(core.memory_bytes, size_t{1} << 50);
  }
}

}  // namespace
}  // namespace leveldb
