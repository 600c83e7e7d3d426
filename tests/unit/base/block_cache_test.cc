// Goal: a block that the cache returns is the block stored under that name; the cache stays within its size;
// blocks that are found again survive a scan; pinned bytes outlive the cache. Method: examples, and random
// operations compared with a std::map of the blocks that the cache may hold.
#include "base/block_cache.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <list>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.h"

namespace mergedb::base {
namespace {

BlockCache::Pin NewBlock(std::string_view bytes) {
  BlockCache::Block* block = BlockCache::Allocate(bytes.size());
  std::memcpy(block->data(), bytes.data(), bytes.size());
  return BlockCache::Pin(block);
}

TEST(BlockCache, FindsWhatWasInserted) {
  BlockCache cache(1 << 20);
  EXPECT_FALSE(cache.Find(1, 0));
  cache.Insert(1, 0, NewBlock("one"));
  cache.Insert(1, 4096, NewBlock("two"));
  cache.Insert(2, 0, NewBlock("three"));
  EXPECT_EQ(cache.Find(1, 0).bytes(), "one");
  EXPECT_EQ(cache.Find(1, 4096).bytes(), "two");
  EXPECT_EQ(cache.Find(2, 0).bytes(), "three");
  EXPECT_FALSE(cache.Find(2, 4096));
  EXPECT_EQ(cache.hits(), 3u);
  EXPECT_EQ(cache.misses(), 2u);
}

// A cache of the program: a map that evicts nothing.
class Map final : public BlockCache::Keeper {
 public:
  BlockCache::Pin Find(uint64_t file, uint64_t offset) override {
    const auto found = blocks_.find({file, offset});
    ++(found == blocks_.end() ? misses_ : hits_);
    if (found == blocks_.end()) return {};
    BlockCache::Hold(found->second.block());
    return BlockCache::Pin(found->second.block());
  }
  void Insert(uint64_t file, uint64_t offset, const BlockCache::Pin& pin) override {
    BlockCache::Hold(pin.block());
    blocks_.insert_or_assign({file, offset}, BlockCache::Pin(pin.block()));
  }
  void EvictFile(uint64_t file) override {
    std::erase_if(blocks_, [&](const auto& each) { return each.first.first == file; });
  }
  size_t bytes() const override { return blocks_.size(); }
  uint64_t hits() const override { return hits_; }
  uint64_t misses() const override { return misses_; }

 private:
  uint64_t hits_ = 0, misses_ = 0;
  std::map<std::pair<uint64_t, uint64_t>, BlockCache::Pin> blocks_;
};

TEST(BlockCache, AKeeperIsAskedInItsPlace) {
  Map map;
  BlockCache cache(0, &map);
  EXPECT_FALSE(cache.Find(1, 0));
  cache.Insert(1, 0, NewBlock("one"));
  const BlockCache::Pin pin = cache.Find(1, 0);
  EXPECT_EQ(cache.bytes(), 1u);
  EXPECT_EQ(cache.hits(), 1u);
  EXPECT_EQ(cache.misses(), 1u);
  cache.EvictFile(1);
  EXPECT_FALSE(cache.Find(1, 0));
  EXPECT_EQ(pin.bytes(), "one");
}

TEST(BlockCache, TheFirstInsertOfANameStays) {
  BlockCache cache(1 << 20);
  cache.Insert(1, 0, NewBlock("first"));
  const size_t bytes = cache.bytes();
  cache.Insert(1, 0, NewBlock("second"));
  EXPECT_EQ(cache.Find(1, 0).bytes(), "first");
  EXPECT_EQ(cache.bytes(), bytes);
}

TEST(BlockCache, StaysWithinItsBytes) {
  for (const size_t bytes_max : {size_t{64} << 10, size_t{3} << 20}) {
    BlockCache cache(bytes_max);
    for (uint64_t n = 0; n < 2000; ++n) {
      cache.Insert(n % 7, n * 4096, NewBlock(std::string(4096, 'x')));
      ASSERT_LE(cache.bytes(), bytes_max);
    }
    EXPECT_GT(cache.bytes(), bytes_max / 2) << "an eviction must not empty the cache";
  }
}

TEST(BlockCache, ABlockLargerThanItsShareIsNotKept) {
  BlockCache cache(64 << 10);
  cache.Insert(1, 0, NewBlock("small"));
  cache.Insert(1, 4096, NewBlock(std::string(65 << 10, 'x')));
  EXPECT_FALSE(cache.Find(1, 4096));
  EXPECT_TRUE(cache.Find(1, 0));
}

TEST(BlockCache, OfNoBytesKeepsNothing) {
  BlockCache cache(0);
  cache.Insert(1, 0, NewBlock("x"));
  EXPECT_FALSE(cache.Find(1, 0));
  EXPECT_EQ(cache.bytes(), 0u);
}

TEST(BlockCache, APinOutlivesEvictionAndTheCache) {
  auto cache = std::make_unique<BlockCache>(1 << 20);
  cache->Insert(1, 0, NewBlock("pinned"));
  BlockCache::Pin pin = cache->Find(1, 0);
  cache->EvictFile(1);
  EXPECT_FALSE(cache->Find(1, 0));
  EXPECT_EQ(pin.bytes(), "pinned");
  cache.reset();
  EXPECT_EQ(pin.bytes(), "pinned");
  BlockCache::Pin moved = std::move(pin);
  EXPECT_FALSE(pin);  // NOLINT: moved from, and empty by contract
  EXPECT_EQ(moved.bytes(), "pinned");
}

TEST(BlockCache, EvictFileForgetsThatFileOnly) {
  BlockCache cache(16 << 20);
  for (uint64_t n = 0; n < 1000; ++n) cache.Insert(n % 3, n, NewBlock("block"));
  const size_t bytes = cache.bytes();
  cache.EvictFile(1);
  for (uint64_t n = 0; n < 1000; ++n) ASSERT_EQ(static_cast<bool>(cache.Find(n % 3, n)), n % 3 != 1) << n;
  EXPECT_LT(cache.bytes(), bytes);
  cache.EvictFile(0);
  cache.EvictFile(2);
  EXPECT_EQ(cache.bytes(), 0u);
}

TEST(BlockCache, AScanDoesNotPushOutBlocksThatAreUsed) {
  BlockCache cache(1 << 20);  // room for about 250 blocks
  const std::string bytes(4096, 'x');
  for (uint64_t n = 0; n < 50; ++n) cache.Insert(1, n, NewBlock(bytes));
  int lost = 0;
  for (uint64_t n = 0; n < 5000; ++n) {
    if (n % 10 == 0) {
      for (uint64_t hot = 0; hot < 50; ++hot) lost += !cache.Find(1, hot);
    }
    cache.Insert(2, n, NewBlock(bytes));
  }
  EXPECT_EQ(lost, 0);
}

TEST(BlockCache, ABlockThatReturnsSoonAfterItsEvictionOutlivesNewerOnes) {
  BlockCache cache(1 << 20);  // room for about 250 blocks
  const std::string bytes(4096, 'x');
  for (uint64_t n = 0; n < 300; ++n) cache.Insert(1, n, NewBlock(bytes));
  ASSERT_FALSE(cache.Find(1, 0));
  cache.Insert(1, 0, NewBlock(bytes));
  for (uint64_t n = 0; n < 1000; ++n) cache.Insert(2, n, NewBlock(bytes));
  EXPECT_TRUE(cache.Find(1, 0));
  EXPECT_FALSE(cache.Find(1, 1)) << "evicted at the same time, and not read again";
}

// Misses of gets that choose among `blocks` with a zipfian distribution, and of scans between them, which read each
// block twice. `get` returns whether a block is cached, and stores it if not.
template <typename Get>
int MissesOf(uint64_t blocks, bool has_scans, Get get) {
  Random random(17);
  int misses = 0;
  for (int round = 0; round < 40'000; ++round) {
    // A rank r with a probability of about 1 / r.
    const auto rank = static_cast<uint64_t>(std::pow(static_cast<double>(blocks),
                                                     static_cast<double>(random.Uniform(1 << 20)) / (1 << 20))) -
                      1;
    misses += !get(rank * 7919 % blocks);
    if (!has_scans || round % 500 != 0) continue;
    const uint64_t begin = random.Uniform(blocks - 250);
    for (uint64_t n = 0; n < 500; ++n) misses += !get(begin + n / 2);
  }
  return misses;
}

TEST(BlockCache, MissesLessOftenThanLru) {
  constexpr uint64_t kBlocks = 2003;
  const std::string bytes(4096, 'x');
  for (const bool has_scans : {false, true}) {
    BlockCache cache(512 << 10);
    const int misses = MissesOf(kBlocks, has_scans, [&](uint64_t block) {
      if (cache.Find(1, block)) return true;
      cache.Insert(1, block, NewBlock(bytes));
      return false;
    });
    const size_t room = cache.bytes() / bytes.size();
    std::list<uint64_t> order;
    std::map<uint64_t, std::list<uint64_t>::iterator> places;
    const int lru_misses = MissesOf(kBlocks, has_scans, [&](uint64_t block) {
      const auto found = places.find(block);
      const bool is_hit = found != places.end();
      if (is_hit) order.erase(found->second);
      places[block] = order.insert(order.begin(), block);
      if (order.size() > room) {
        places.erase(order.back());
        order.pop_back();
      }
      return is_hit;
    });
    EXPECT_LT(misses, lru_misses * 19 / 20) << "with scans: " << has_scans;
  }
}

TEST(BlockCache, RandomOperationsNeverFindAWrongBlock) {
  const uint64_t seed = 9;
  SCOPED_TRACE(seed);
  Random random(seed);
  BlockCache cache(256 << 10);
  std::map<std::pair<uint64_t, uint64_t>, std::string> inserted;
  for (int round = 0; round < 8000; ++round) {
    const uint64_t file = random.Uniform(5), offset = random.Uniform(300);
    if (random.OneIn(500)) {
      cache.EvictFile(file);
      std::erase_if(inserted, [file](const auto& item) { return item.first.first == file; });
    } else if (const BlockCache::Pin pin = cache.Find(file, offset)) {
      ASSERT_EQ(pin.bytes(), (inserted[{file, offset}]));
    } else {
      std::string bytes(random.Uniform(2000), static_cast<char>('a' + random.Uniform(26)));
      cache.Insert(file, offset, NewBlock(bytes));
      inserted[{file, offset}] = std::move(bytes);
      ASSERT_TRUE(cache.Find(file, offset)) << "what was just inserted is there";
    }
    ASSERT_LE(cache.bytes(), cache.bytes_max());
  }
}

TEST(BlockCache, ManyThreadsFindWhatTheyExpect) {
  BlockCache cache(2 << 20);
  const auto work = [&cache](uint64_t seed) {
    Random random(seed);
    for (int round = 0; round < 1500; ++round) {
      const uint64_t file = random.Uniform(3), offset = random.Uniform(1000);
      const std::string expected = std::to_string(file) + "/" + std::to_string(offset) + std::string(3000, '.');
      if (const BlockCache::Pin pin = cache.Find(file, offset)) {
        ASSERT_EQ(pin.bytes(), expected);
      } else {
        cache.Insert(file, offset, NewBlock(expected));
      }
      if (random.OneIn(300)) cache.EvictFile(file);
    }
  };
  std::vector<std::thread> threads;
  for (uint64_t seed = 0; seed < 4; ++seed) threads.emplace_back(work, seed);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace mergedb::base
