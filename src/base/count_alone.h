// Counters that one thread at a time changes, while any thread reads them.
#pragma once

#include <atomic>
#include <cstdint>

namespace mergedb::base {

// WHY no atomic add, which costs more: no other thread changes the counter meanwhile. WHY relaxed: a count publishes
// nothing.
inline void CountAlone(std::atomic<uint64_t>& counter, uint64_t more) {
  counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

}  // namespace mergedb::base
