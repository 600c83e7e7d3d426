// Goal: every call on a key appears to happen at one instant between its start and its end (linearizability,
// key by key). Method: threads put and read a few keys and record when each call began and ended, by one
// counter of all threads. No value is written twice, so a read identifies the write that it saw. These cases
// are violations, for a read R that saw the write W:
//
//     R ended before W began                                        it saw the future
//     W ended before a write began that ended before R began        it missed a completed write
//     an earlier read saw a write that began after W ended          it went back
//
// These rules find every single wrong answer that real time proves; they do not check the order of
// overlapping calls.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.h"
#include "mergedb/db.h"
#include "testing/geometry.h"
#include "testing/seed.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace mergedb::testing {
namespace {

// One call on one key. `write` is the number of the write that the call made or saw. 0 stands for the absent
// initial value.
struct Call {
  uint64_t began = 0;
  uint64_t ended = 0;
  uint64_t write = 0;
  bool is_read = false;
};

bool IsBefore(const Call& a, const Call& b) { return a.ended < b.began; }

std::string Print(const Call& call) {
  return std::to_string(call.write) + " [" + std::to_string(call.began) + ", " + std::to_string(call.ended) + "]";
}

// The first rule that the calls on one key break, or std::nullopt.
std::optional<std::string> Violation(const std::vector<Call>& calls) {
  std::map<uint64_t, Call> writes = {{0, {}}};
  for (const Call& call : calls) {
    if (!call.is_read) writes[call.write] = call;
  }
  std::vector<std::pair<Call, Call>> reads;  // and the write that each saw
  for (const Call& call : calls) {
    if (!call.is_read) continue;
    const auto seen = writes.find(call.write);
    if (seen == writes.end()) return "read " + Print(call) + " saw what nobody wrote";
    reads.emplace_back(call, seen->second);
  }
  for (const auto& [read, seen] : reads) {
    if (IsBefore(read, seen)) return "read " + Print(read) + " saw the future";
    for (const auto& [number, between] : writes) {
      if (IsBefore(seen, between) && IsBefore(between, read))
        return "read " + Print(read) + " missed write " + Print(between);
    }
    for (const auto& [earlier, newer] : reads) {
      if (IsBefore(earlier, read) && IsBefore(seen, newer))
        return "read " + Print(read) + " went back behind read " + Print(earlier);
    }
  }
  return std::nullopt;
}

TEST(Violation, KnowsWhatRealTimeProves) {
  const Call one{.began = 1, .ended = 2, .write = 1}, two{.began = 3, .ended = 4, .write = 2},
      wide{.began = 1, .ended = 9, .write = 3};
  const auto read = [](uint64_t began, uint64_t ended, uint64_t write) { return Call{began, ended, write, true}; };
  EXPECT_FALSE(Violation({one, two, read(5, 6, 2)}));
  EXPECT_FALSE(Violation({one, two, read(2, 6, 1)}));
  EXPECT_FALSE(Violation({wide, read(2, 3, 0), read(4, 5, 3)}));
  EXPECT_TRUE(Violation({one, two, read(5, 6, 1)}));             // missed
  EXPECT_TRUE(Violation({one, read(5, 6, 0)}));                  // missed
  EXPECT_TRUE(Violation({one, read(5, 6, 7)}));                  // never written
  EXPECT_TRUE(Violation({two, read(1, 2, 2)}));                  // the future
  EXPECT_TRUE(Violation({wide, read(2, 3, 3), read(4, 5, 0)}));  // back
}

constexpr size_t kThreads = 4;
constexpr uint64_t kKeys = 12;

class LinearTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  void SetUp() override {
    Options options;
    Choose(geometry_, &options);
    auto db = DB::Open(options, directory_.path());
    ASSERT_OK(db.status());
    db_ = std::move(*db);
  }

  struct Noted {
    uint64_t key;
    Call call;
  };

  uint64_t Tick() { return clock_.fetch_add(1) + 1; }

  // A value is the number of its write and padding, so that memtables fill and compactions run.
  static std::string ValueOf(uint64_t write) { return std::to_string(write) + ":" + std::string(write % 700, 'v'); }

  void Work(size_t thread, uint64_t calls, std::vector<Noted>* notes) {
    base::Random random(seed_ * 100 + thread);
    for (uint64_t n = 1; n <= calls; ++n) {
      const uint64_t key = random.Uniform(kKeys);
      const std::string text = "key" + std::to_string(key);
      Call call{.began = Tick(), .is_read = random.OneIn(2)};
      if (!call.is_read) {
        call.write = n * kThreads + thread;
        const Durability durability = random.OneIn(100) ? Durability::kSynced : Durability::kProcessCrash;
        ASSERT_OK(db_->Put({.durability = durability}, text, ValueOf(call.write)));
      } else if (random.OneIn(4)) {
        call.write = SeenByIterator(text);
      } else {
        std::string value;
        const Status status = db_->Get({}, text, &value);
        ASSERT_TRUE(status.ok() || status.IsNotFound()) << status.ToString();
        call.write = status.ok() ? std::stoull(value) : 0;
      }
      call.ended = Tick();
      notes->push_back({key, call});
      if (random.OneIn(400)) { ASSERT_OK(db_->Flush()); }
    }
  }
  uint64_t SeenByIterator(const std::string& key) {
    auto it = db_->NewIterator();
    it->SeekForPrev(key);
    EXPECT_OK(it->status());
    return it->Valid() && it->key() == key ? std::stoull(std::string(it->value())) : 0;
  }

  const uint64_t seed_ = SeedOr(17);
  const Geometry geometry_ = GeometryFor(seed_ * 100 + GetParam(), {.write_buffer_bytes_max = 1 << 20});
  const TempDirectory directory_;
  std::unique_ptr<DB> db_;
  std::atomic<uint64_t> clock_{0};
};

TEST_P(LinearTest, EveryCallOnAKeyHappensAtOneInstant) {
  SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed_) + " " + ReplayOf(geometry_));
  const uint64_t calls = Sized(4'000, 20'000, 1'000);
  std::vector<std::vector<Noted>> notes(kThreads);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i) threads.emplace_back([&, i] { Work(i, calls, &notes[i]); });
  for (std::thread& thread : threads) thread.join();
  std::vector<std::vector<Call>> by_key(kKeys);
  for (const auto& each : notes) {
    for (const Noted& noted : each) by_key[noted.key].push_back(noted.call);
  }
  for (uint64_t key = 0; key < kKeys; ++key) {
    const auto violation = Violation(by_key[key]);
    EXPECT_FALSE(violation) << "key" << key << ": " << *violation;
  }
}

INSTANTIATE_TEST_SUITE_P(Geometries, LinearTest, ::testing::Range<uint64_t>(0, 4));

}  // namespace
}  // namespace mergedb::testing
