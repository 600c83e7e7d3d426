// Everything that one number decides: a database in memory, what is done to it, and what goes wrong around it.
//
//     const std::string problem = Simulate({.seed = 7, .ops = DrawWorld(7)});     // "": every promise was kept
//
// A list of operations (testing/random_ops.h) writes, reads, moves time and background work, breaks things, kills, and
// cuts the power. Whatever it does, no answer is wrong, and each commit is there as book.h says (safety). `heal` ends
// all faults: within kHealSeconds of simulated time every write and every compaction succeeds, and then the directory
// comes to rest: no file changes any more (liveness).
//
//     operation            what goes wrong
//     error op,n,how       the n-th call of a kind fails from now on, once or each time, perhaps after its effect
//     full bytes           the disk has so many bytes left
//     descriptors n        no more than n files are open at a time
//     memory n             the n-th allocation of the next read fails
//     kill, cut            the process ends; the machine stops, as testing/crash_image.h says
//     flip n               in a copy of the files, a bit: an answer is right or an error, and a repair opens it again
//     reader n             a second process opens the directory to read, and shows the state of that moment while the
//                          writer goes on
//
// THREADS: one.
#pragma once

#include <cstdint>
#include <string>

#include "testing/random_ops.h"

namespace mergedb::simulate {

// Simulated seconds after which a database without faults works again, and the directory is at rest.
inline constexpr int kHealSeconds = 120;

struct World {
  uint64_t seed = 1;
  testing::OpList ops;
};

// What happened, so that a test knows what it reached.
struct Tally {
  uint64_t commits = 0, failed = 0, unknown = 0;
  uint64_t faults = 0;  // that were hit
  uint64_t kills = 0, cuts = 0, opens = 0, failed_opens = 0, heals = 0, flips = 0, readers = 0, reads = 0,
           failed_reads = 0;
};

const testing::OpTable& WorldOps();
// A list for this seed. It ends with `heal`.
testing::OpList DrawWorld(uint64_t seed, size_t count);
// Returns the first broken promise, with its operation; "" if there is none. Adds to *tally.
std::string Simulate(const World& world, Tally* tally);

}  // namespace mergedb::simulate
