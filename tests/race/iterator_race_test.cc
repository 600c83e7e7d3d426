// Goal: iterators outlive their database, also while another thread destroys it: a report of an iterator to background
// work never meets a destroyed database. Method: the thread of the iterator stops within its report until the database
// is destroyed, or for a moment if it is not.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/schedule_point.h"
#include "base/sync.h"
#include "mergedb/db.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace mergedb::testing {
namespace {

// While the object lives, its thread stops in each report.
class StopsInReports final : public base::ThreadScheduler {
 public:
  StopsInReports(std::latch& is_reporting, const std::atomic<bool>& is_destroyed)
      : is_reporting_(is_reporting), is_destroyed_(is_destroyed) {
    base::thread_scheduler = this;
  }
  ~StopsInReports() override { base::thread_scheduler = nullptr; }

  void Point(const char* what) override {
    if (std::string_view(what) != "an iterator is reporting") return;
    if (reports_++ == 0) is_reporting_.count_down();
    for (int i = 0; i < 50 && !is_destroyed_; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_FALSE(is_destroyed_) << "the database is gone while an iterator reports to it";
  }
  void LockMutex(base::Mutex& mutex) override { mutex.native().lock(); }
  void UnlockMutex(base::Mutex& mutex) override { mutex.native().unlock(); }
  bool WaitOn(base::CondVar&, base::Mutex&, uint64_t) override {
    ADD_FAILURE() << "a report does not wait";
    return true;
  }
  void Notify(base::CondVar& condition, bool all) override {
    base::thread_scheduler = nullptr;
    all ? condition.NotifyAll() : condition.NotifyOne();
    base::thread_scheduler = this;
  }

 private:
  std::latch& is_reporting_;
  const std::atomic<bool>& is_destroyed_;
  int reports_ = 0;
};

class IteratorRace : public ::testing::Test {
 protected:
  void SetUp() override {
    auto db =
        DB::Open({.memory_bytes = size_t{4} << 20, .write_buffer_bytes = size_t{64} << 10, .blob_value_bytes_min = 64},
                 directory_.path() + "/db");
    ASSERT_OK(db.status());
    db_ = std::move(*db);
    for (int run = 0; run < 2; ++run) {  // an iterator reports how many sorted runs it visited beside the first one
      for (int i = 0; i < 300; ++i) ASSERT_OK(db_->Put({}, std::to_string(i * 7 % 300), std::string(200, 'v')));
      ASSERT_OK(db_->Flush());
    }
  }
  std::unique_ptr<Iterator> Moved() {
    auto it = db_->NewIterator({});
    for (int i = 0; i < 20; ++i) {
      it->Seek(std::to_string(i * 13));
      EXPECT_TRUE(it->Valid());
      EXPECT_EQ(it->value().size(), 200u);
    }
    return it;
  }

  const TempDirectory directory_;
  std::unique_ptr<DB> db_;
};

TEST_F(IteratorRace, TheDestructorWaitsForAReport) {
  std::latch is_reporting(1);
  std::atomic<bool> is_destroyed{false};
  std::thread reader([&, it = Moved()]() mutable {
    const StopsInReports stops(is_reporting, is_destroyed);
    it = nullptr;
  });
  is_reporting.wait();
  db_ = nullptr;
  is_destroyed = true;
  reader.join();
}

TEST_F(IteratorRace, AfterTheEndOfTheDatabaseNothingIsReported) {
  auto it = Moved();
  ASSERT_OK(db_->Close());
  db_ = nullptr;
  it->SeekToFirst();
  EXPECT_FALSE(it->Valid());
  it = nullptr;
}

// For the sanitizers.
TEST_F(IteratorRace, ManyIteratorsEndBesideTheDestructor) {
  std::atomic<bool> go{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    std::vector<std::unique_ptr<Iterator>> iterators;
    for (int i = 0; i < 100; ++i) iterators.push_back(Moved());
    threads.emplace_back([iterators = std::move(iterators), &go]() mutable {
      while (!go) std::this_thread::yield();
      while (!iterators.empty()) iterators.pop_back();
    });
  }
  go = true;
  db_ = nullptr;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace mergedb::testing
