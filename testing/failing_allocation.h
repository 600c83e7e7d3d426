// Makes one allocation of the calling thread fail: the n-th one from now on throws std::bad_alloc.
//
//     FailAllocation(3);
//     try { act(); } catch (const std::bad_alloc&) {}
//     const bool has_failed = StopFailing();      // false: act made fewer than three allocations
//
// Other threads of the process are not concerned. So background work goes on, and a test decides which call meets the
// failure.
//
// This header replaces operator new and operator delete. Include it in the one source file of a test program.
#pragma once

#include <cstdint>
#include <new>

namespace mergedb::testing {

inline constinit thread_local int64_t allocations_left = 0;  // until the one that fails; 0: none fails

inline void FailAllocation(int64_t n) { allocations_left = n; }

// True if the allocation was reached.
inline bool StopFailing() {
  const bool has_failed = allocations_left == 0;
  allocations_left = 0;
  return has_failed;
}

inline void BeforeAllocation() {
  if (allocations_left > 0 && --allocations_left == 0) throw std::bad_alloc();
}

}  // namespace mergedb::testing

#include "testing/replaced_new.h"
