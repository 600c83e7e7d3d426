// Symptom: an iterator over the default keyspace showed keyspace records, and a get of the default keyspace
// found a value of a named keyspace. Cause: a read that had seen no keyspaces took its SuperVersion when
// there were some. Consequence: a reader that was interrupted there returned values that were never written
// to its keyspace. Method: the reader and the creator of the first keyspace share a processor, so that the
// creator, when it wakes, interrupts the reader anywhere and ends before the reader continues; repeated with
// one database after the other.
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "testing/seed.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"

namespace mergedb::testing {
namespace {

// A key of the named keyspace in its stored form (docs/formats/keyspaces.md), which is also a valid key of
// the default one.
const std::string kTreeKey = "\xff\x01secret";

void StayOnOneProcessor() {
  cpu_set_t allowed, one;
  CPU_ZERO(&one);
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
}

// The number of keys other than "a" that the default keyspace shows.
uint64_t CountStrangers(DB& db) {
  uint64_t strangers = 0;
  const auto it = db.NewIterator();
  for (it->SeekToFirst(); it->Valid(); it->Next()) strangers += it->key() != "a";
  std::string value;
  strangers += !db.Get({}, kTreeKey, &value).IsNotFound();
  std::vector<std::string> values;
  strangers += !db.MultiGet({}, {kTreeKey}, &values)[0].IsNotFound();
  return strangers;
}

TEST(KeyspaceRace, WhoReadsWhileTheFirstOneIsMadeSeesNothingOfIt) {
  StayOnOneProcessor();  // also for the readers, which this thread starts
  base::Random random(SeedOr(1));
  const uint64_t rounds = Sized(1000, 10'000, 60);
  for (uint64_t round = 0; round < rounds && !HasFailure(); ++round) {
    SimulatedEnv sim;
    ASSERT_OK_AND_ASSIGN(auto db, sim.Open());
    ASSERT_OK(db->Put({}, "a", "1"));
    std::atomic<uint64_t> reads{0}, strangers{0};
    std::atomic<bool> is_over{false};
    std::thread reader([&] {
      while (!is_over) {
        strangers += CountStrangers(*db);
        ++reads;
      }
    });
    do usleep(static_cast<useconds_t>(1 + random.Uniform(60)));
    while (reads == 0);
    const auto named = db->CreateKeyspace("named");
    const Status status = named ? db->Put({}, *named, "secret", "2") : named.error();
    for (const uint64_t before = reads; reads < before + 2;) usleep(20);
    is_over = true;
    reader.join();
    ASSERT_OK(status);
    EXPECT_EQ(named->id(), 1u);
    EXPECT_EQ(strangers, 0u) << "round " << round;
  }
}

}  // namespace
}  // namespace mergedb::testing
