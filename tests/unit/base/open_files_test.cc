// Goal: the cache finds each file that it holds, holds no more than its bound, closes files that were not used for a
// while, and never while somebody uses them. Method: random calls compared with the set of open files; threads that
// find files without a lock while others close them.
#include "base/open_files.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "testing/seed.h"

namespace mergedb::base {
namespace {

struct OpenFile {
  explicit OpenFile(uint64_t of) : number(of) {}
  ~OpenFile() { number = 0; }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  std::atomic<uint64_t> number;
};
using Files = OpenFiles<OpenFile>;

std::shared_ptr<OpenFile> Open(Files& cache, uint64_t number, bool* is_opened = nullptr) {
  const auto found = cache.FindOrOpen(number, [&]() -> Result<std::shared_ptr<OpenFile>> {
    if (is_opened != nullptr) *is_opened = true;
    return std::make_shared<OpenFile>(number);
  });
  return found ? *found : nullptr;
}

// A cache, and what is open.
class Both {
 public:
  explicit Both(size_t files_max) : cache_(files_max), files_max_(files_max) {}

  void OpenOne(uint64_t number) {
    bool is_opened = false;
    const auto found = Open(cache_, number, &is_opened);
    ASSERT_EQ(found->number, number);
    ASSERT_EQ(is_opened, !open_.contains(number)) << "file " << number;
    const bool is_full = open_.size() == files_max_;
    open_.insert(number);
    if (!is_opened || !is_full) return;
    const std::set<uint64_t> now = Now();
    std::erase_if(open_, [&](uint64_t each) { return each != number && !now.contains(each); });
    ASSERT_EQ(open_.size(), files_max_) << "one is closed for the new one, and not the new one";
  }
  void Hold(uint64_t number) {
    OpenOne(number);
    held_[number] = Open(cache_, number);
  }
  void ReleaseAll() { held_.clear(); }
  void Evict(uint64_t number) {
    cache_.Evict(number);
    open_.erase(number);
  }
  void CloseIdle() {
    std::erase_if(open_, [&](uint64_t number) {  // a held one may have been evicted, and another one opened
      return !held_.contains(number) || held_[number] != *Files::Finder(cache_).Find(number);
    });
    cache_.CloseIdle();
  }
  void Compare() {
    ASSERT_EQ(Now(), open_);
    ASSERT_EQ(cache_.count(), open_.size());
    const Files::Finder finder(cache_);
    for (uint64_t number = 1; number <= 40; ++number) {
      const auto* const found = finder.Find(number);
      ASSERT_EQ(found != nullptr, open_.contains(number)) << number;
      if (found != nullptr) { ASSERT_EQ((*found)->number, number); }
    }
    for (const auto& [number, file] : held_) ASSERT_EQ(file->number, number);
  }

 private:
  std::set<uint64_t> Now() const {
    std::set<uint64_t> open;
    cache_.ForEach([&](const OpenFile& file) { open.insert(file.number); });
    return open;
  }

  Files cache_;
  const size_t files_max_;
  std::set<uint64_t> open_;
  std::map<uint64_t, std::shared_ptr<OpenFile>> held_;
};

TEST(OpenFiles, HoldsWhatWasOpenedUpToItsBound) {
  for (const size_t files_max : {1, 2, 7, 8, 9, 16, 31, 100}) {
    SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(testing::SeedOr(1)) + " files_max " + std::to_string(files_max));
    Random random(testing::SeedOr(1) + files_max);
    Both both(files_max);
    for (int i = 0; i < 10'000; ++i) {
      const uint64_t number = 1 + random.Uniform(40);
      switch (random.Uniform(40)) {
        case 0: both.CloseIdle(); break;
        case 1: both.ReleaseAll(); break;
        case 2: both.Hold(number); break;
        case 3:
        case 4:
        case 5: both.Evict(number); break;
        default: both.OpenOne(number);
      }
      both.Compare();
      if (HasFatalFailure()) FAIL() << "call " << i;
    }
  }
}

TEST(OpenFiles, KeepsAFileThatIsUsedBetweenAnyTwoOpens) {
  for (const size_t files_max : {2, 3, 16, 100}) {
    Files cache(files_max);
    bool is_opened = false;
    for (uint64_t number = 2; number < 3000; ++number) {
      is_opened = false;
      (void)Open(cache, 1, &is_opened);
      if (number > 2) { ASSERT_FALSE(is_opened) << number; }
      (void)Open(cache, number);
    }
  }
}

TEST(OpenFiles, HoldsManyFiles) {
  Files cache(16 * 1000);
  size_t opens = 0;
  for (int round = 0; round < 2; ++round) {
    for (uint64_t number = 1; number <= 16 * 1000; ++number) {
      bool is_opened = false;
      ASSERT_NE(Open(cache, number * 3, &is_opened), nullptr);
      opens += is_opened;
    }
  }
  EXPECT_EQ(opens, 16u * 1000);
  EXPECT_EQ(cache.count(), 16u * 1000);
}

TEST(OpenFiles, WhatAFinderFoundStaysAndIsClosedBehindIt) {
  Files cache(100);
  std::weak_ptr<OpenFile> first = Open(cache, 1);
  std::weak_ptr<OpenFile> second = Open(cache, 2);
  {
    const Files::Finder finder(cache);
    ASSERT_EQ(finder.Find(1)->get(), first.lock().get());
    cache.Evict(1);
    cache.CloseIdle();
    for (uint64_t number = 10; number < 1000; ++number) (void)Open(cache, number);  // the slots grow, and files close
    EXPECT_FALSE(first.expired());
    EXPECT_FALSE(second.expired());
  }
  EXPECT_TRUE(first.expired());
  EXPECT_TRUE(second.expired());
  std::weak_ptr<OpenFile> third = Open(cache, 3);
  cache.Evict(3);
  EXPECT_TRUE(third.expired()) << "no Finder delays it";
}

TEST(OpenFiles, ALongFinderLeavesNoDeepStack) {
  Files cache(1);
  const auto opened = std::make_shared<OpenFile>(1);
  auto finder = std::make_unique<Files::Finder>(cache);
  for (uint64_t number = 1; number < 300'000; ++number) {
    ASSERT_TRUE(cache.FindOrOpen(number, [&]() -> Result<std::shared_ptr<OpenFile>> { return opened; }));
  }
  EXPECT_EQ(opened.use_count(), 300'000);
  finder.reset();
  EXPECT_EQ(opened.use_count(), 2);
}

TEST(OpenFiles, ThreadsFindFilesWhileOthersCloseThem) {
  const uint64_t seed = testing::SeedOr(1);
  SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed));
  for (const size_t files_max : {1, 8, 50}) {
    Files cache(files_max);
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        Random random(seed + t);
        for (int i = 0; i < 20'000; ++i) {
          const uint64_t number = 1 + random.Uniform(60);
          switch (random.Uniform(8)) {
            case 0: cache.Evict(number); break;
            case 1:
              if (random.OneIn(20)) cache.CloseIdle();
              break;
            case 2:
            case 3: wrong += Open(cache, number)->number != number; break;
            default: {
              const Files::Finder finder(cache);
              for (uint64_t each = number; each < number + 4; ++each) {
                const auto* const found = finder.Find(each);
                wrong += found != nullptr && (*found)->number != each;
              }
            }
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_LE(cache.count(), files_max);
  }
}

}  // namespace
}  // namespace mergedb::base
