// The PerfContext of the calling thread, or null. A place that counts is one branch while no thread asks:
//
//     if (PerfContext* const perf = base::thread_perf) [[unlikely]] ++perf->runs_visited;
#pragma once

#include <cstdint>
#include <iterator>
#include <string_view>

#include "base/thread_waits.h"
#include "mergedb/perf_context.h"

namespace mergedb::base {

MERGEDB_FAST_THREAD_LOCAL inline constinit thread_local PerfContext* thread_perf = nullptr;

struct PerfField {
  std::string_view name;
  uint64_t PerfContext::*member;
};
inline constexpr PerfField kPerfFields[] = {
    {"queue_wait_nanos", &PerfContext::queue_wait_nanos},
    {"wal_nanos", &PerfContext::wal_nanos},
    {"memtable_nanos", &PerfContext::memtable_nanos},
    {"wait_nanos", &PerfContext::wait_nanos},
    {"memtables_searched", &PerfContext::memtables_searched},
    {"runs_visited", &PerfContext::runs_visited},
    {"filters_checked", &PerfContext::filters_checked},
    {"filters_useful", &PerfContext::filters_useful},
    {"block_cache_hits", &PerfContext::block_cache_hits},
    {"block_cache_misses", &PerfContext::block_cache_misses},
    {"device_reads", &PerfContext::device_reads},
    {"device_read_bytes", &PerfContext::device_read_bytes},
    {"device_read_nanos", &PerfContext::device_read_nanos},
    {"tombstones_skipped", &PerfContext::tombstones_skipped},
};
static_assert(sizeof(PerfContext) == sizeof(uint64_t) * std::size(kPerfFields), "each field has a row");

}  // namespace mergedb::base
