// Batches larger than a memtable beside readers: MultiGet, iterators in both directions and snapshots see
// each batch completely or not at all.
// Method: a thread writes counted batches (testing/counted_writer.h); a third of them exceed the memtables of
// the geometry that the seed drew. Readers are stopped anywhere (testing/stopped_threads.h) for the duration
// of a batch. From their reads they compute how many batches they saw, and check that this number exists.
// Flushes and compactions run as well.
//     MERGEDB_SEED=n   other geometries     MERGEDB_GEOMETRY=...   this one alone
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include "base/random.h"
#include "mergedb/db.h"
#include "testing/counted_writer.h"
#include "testing/geometry.h"
#include "testing/seed.h"
#include "testing/status_matchers.h"
#include "testing/stopped_threads.h"
#include "testing/temp_directory.h"

namespace mergedb::testing {
namespace {

constexpr size_t kWriters = 1, kReaders = 16;
constexpr uint64_t kKeys = 40;

class LargeBatchRace : public ::testing::Test {
 protected:
  // The mean size of a batch of all keys is 1.5 write buffers: more than a memtable, which is two thirds of
  // one.
  static CountedWriter WriterOf(size_t id, const Geometry& geometry) {
    return CountedWriter({.id = id,
                          .keys = kKeys,
                          .value_bytes_max = 3 * geometry.write_buffer_bytes / kKeys,
                          .all_keys_one_in = 3,
                          .synced_one_in = 200});
  }

  void Read(DB& db, const CountedWriter& writer, size_t id, uint64_t seed, StoppedThreads& stopper) {
    const StoppedThreads::Member member(stopper);
    base::Random random(seed);
    while (!is_over_ && !HasFailure()) {
      const uint64_t returned = progress_.returned[id];
      auto seen = random.OneIn(1000)
                      ? writer.Read(db, static_cast<CountedWriter::Way>(random.Uniform(CountedWriter::kWays)))
                      : writer.ReadPair(db, random.Uniform(kKeys), random.OneIn(2));
      const uint64_t begun = progress_.begun[id];
      if (seen.problem.empty() && (seen.count < returned || seen.count > begun))
        seen.problem = std::to_string(seen.count) + " of " + std::to_string(returned);
      EXPECT_EQ(seen.problem, "");
      ++reads_;
    }
  }
  void Tend(DB& db, uint64_t seed) {
    base::Random random(seed);
    while (!is_over_) {
      ASSERT_OK(random.OneIn(4) ? db.CompactRange(nullptr, nullptr) : db.Flush());
      usleep(static_cast<useconds_t>(random.Uniform(3000)));
    }
  }

  void RunOn(const Geometry& geometry, uint64_t batches, uint64_t seed) {
    const TempDirectory directory;
    Options options;
    Choose(geometry, &options);
    ASSERT_OK_AND_ASSIGN(auto db, DB::Open(options, directory.path()));
    for (auto* counters : {&progress_.begun, &progress_.returned}) {
      for (auto& counter : *counters) counter = 0;
    }
    is_over_ = false;
    StoppedThreads stopper({.seed = seed, .between_us_max = 100, .stop_us_max = 20'000});
    std::vector<std::thread> writers, others;
    for (size_t id = 0; id < kWriters; ++id) {
      writers.emplace_back([&, id] {
        base::Random random(seed + id);
        EXPECT_OK(WriterOf(id, geometry).Write(*db, &progress_, seed, [&] {
          usleep(static_cast<useconds_t>(random.Uniform(3000)));
          return progress_.returned[id] < batches && !HasFailure();
        }));
      });
    }
    for (size_t i = 0; i < kReaders; ++i)
      others.emplace_back(
          [&, i] { Read(*db, WriterOf(i % kWriters, geometry), i % kWriters, seed * 100 + i, stopper); });
    others.emplace_back([&] { Tend(*db, seed); });
    for (std::thread& thread : writers) thread.join();
    is_over_ = true;
    for (std::thread& thread : others) thread.join();
    EXPECT_OK(db->CheckIntegrity());
    stops_ += stopper.stops();
  }

  CountedProgress progress_;
  std::atomic<bool> is_over_{false};
  std::atomic<uint64_t> reads_{0};
  uint64_t stops_ = 0;
};

TEST_F(LargeBatchRace, BatchesAreSeenWholeAtDrawnGeometries) {
  const uint64_t seed = SeedOr(23);
  const uint64_t geometries = Sized(12, 200, 4);
  for (uint64_t draw = 0; draw < geometries && !HasFailure(); ++draw) {
    const Geometry geometry = GeometryFor(seed * 1000 + draw, {.write_buffer_bytes_max = 256 << 10});
    SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed) + " " + ReplayOf(geometry));
    RunOn(geometry, Sized(150, 400, 60), seed * 1000 + draw);
  }
  std::printf("%llu reads stopped %llu times at %llu geometries\n", static_cast<unsigned long long>(reads_),
              static_cast<unsigned long long>(stops_), static_cast<unsigned long long>(geometries));
}

}  // namespace
}  // namespace mergedb::testing
