// Goal: the cache holds the files that were used last, each opened once, and finds each of them whatever was opened and
// closed before. Method: random calls compared with a list in the order of use.
#include "base/open_files.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "testing/seed.h"

namespace mergedb::base {
namespace {

struct OpenFile {
  uint64_t number;
};

// A cache of one shard, and what it should hold.
class Both {
 public:
  explicit Both(size_t files_max) : cache_(files_max), files_max_(files_max) {}

  void Open(uint64_t number) {
    bool is_opened = false;
    const auto found = cache_.FindOrOpen(number, [&]() -> Result<std::shared_ptr<OpenFile>> {
      is_opened = true;
      return std::make_shared<OpenFile>(number);
    });
    ASSERT_TRUE(found.has_value());
    ASSERT_EQ((*found)->number, number);
    const auto place = std::find(used_.begin(), used_.end(), number);
    ASSERT_EQ(is_opened, place == used_.end()) << "file " << number;
    if (place != used_.end()) used_.erase(place);
    used_.push_front(number);
    if (used_.size() <= files_max_) return;
    held_.erase(used_.back());
    used_.pop_back();
  }
  void Hold(uint64_t number) {
    Open(number);
    held_[number] =
        *cache_.FindOrOpen(number, [&]() -> Result<std::shared_ptr<OpenFile>> { return Status::IOError(""); });
  }
  void ReleaseAll() { held_.clear(); }
  void Evict(uint64_t number) {
    cache_.Evict(number);
    used_.remove(number);
    held_.erase(number);
  }
  void CloseIdle() {
    cache_.CloseIdle();
    used_.remove_if([&](uint64_t number) { return !held_.contains(number); });
  }
  void Compare() {
    std::vector<uint64_t> open;
    cache_.ForEach([&](const OpenFile& file) { open.push_back(file.number); });
    std::sort(open.begin(), open.end());
    std::vector<uint64_t> expected(used_.begin(), used_.end());
    std::sort(expected.begin(), expected.end());
    ASSERT_EQ(open, expected);
  }

 private:
  OpenFiles<OpenFile> cache_;
  const size_t files_max_;
  std::list<uint64_t> used_;  // last used first
  std::map<uint64_t, std::shared_ptr<OpenFile>> held_;
};

// At most 31 files are one shard.
TEST(OpenFiles, HoldsTheFilesUsedLast) {
  for (const size_t files_max : {1, 2, 7, 8, 9, 16, 31}) {
    SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(testing::SeedOr(1)) + " files_max " + std::to_string(files_max));
    Random random(testing::SeedOr(1) + files_max);
    Both both(files_max);
    for (int i = 0; i < 20'000; ++i) {
      const uint64_t number = 1 + random.Uniform(40);
      switch (random.Uniform(40)) {
        case 0: both.CloseIdle(); break;
        case 1: both.ReleaseAll(); break;
        case 2: both.Hold(number); break;
        case 3:
        case 4:
        case 5: both.Evict(number); break;
        default: both.Open(number);
      }
      both.Compare();
      if (HasFatalFailure()) FAIL() << "call " << i;
    }
  }
}

TEST(OpenFiles, ShardsHoldAllFilesUpToTheBound) {
  OpenFiles<OpenFile> cache(16 * 1000);
  size_t opens = 0;
  for (int round = 0; round < 2; ++round) {
    for (uint64_t number = 0; number < 16 * 1000; ++number) {
      ASSERT_TRUE(cache
                      .FindOrOpen(number * 3,
                                  [&]() -> Result<std::shared_ptr<OpenFile>> {
                                    ++opens;
                                    return std::make_shared<OpenFile>(number);
                                  })
                      .has_value());
    }
  }
  EXPECT_EQ(opens, 16u * 1000);
  EXPECT_EQ(cache.count(), 16u * 1000);
}

}  // namespace
}  // namespace mergedb::base
