// What a WAL is made of and what it counts: its options, the points between its frames, its counters.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/wait_counter.h"
#include "env/latencies.h"
#include "kv/key.h"
#include "mergedb/env.h"

namespace mergedb::wal {

inline constexpr uint64_t kNothing = UINT64_MAX;  // for segments_from

// A point between two frames, where replay may start.
struct Mark {
  uint64_t position = 0;
  uint32_t chain = 0;         // crc of the frame before
  kv::Sequence sequence = 1;  // lower bound of the next frame's sequence
};

// The start of an epoch's WAL. The chain starts from the salt.
Mark FirstMark(uint64_t salt, kv::Sequence sequence);

// What WALs have done: one after the other, if they share the object.
struct Counters {
  std::atomic<uint64_t> bytes_appended{0}, bytes_written{0}, writes{0}, syncs{0}, frames{0};
  std::atomic<uint64_t> write_nanos{0}, sync_nanos{0};  // of writes and syncs of segments
  std::atomic<uint64_t> segments_created{0}, segments_reused{0};
  // Waits of Append: for room in the buffer, and for disk space of the buffer or a new segment.
  base::WaitCounter wal_buffer_waits, segment_waits;
};

struct Options {
  FileSystem* file_system = nullptr;
  Clock* clock = nullptr;               // to count waits; may be null
  env::Latencies* latencies = nullptr;  // of syncs; outlives the WAL; may be null
  Executor* executor = nullptr;         // runs the WAL writer in the background
  std::string directory;
  uint64_t database_id = 0;
  uint64_t epoch = 1;
  uint64_t salt = 0;
  kv::Sequence first_sequence = 1;
  // Size of the WAL buffer: rounded up to a power of two, 32 KiB to 256 MiB; in memory at most 16 MiB.
  size_t buffer_bytes = size_t{16} << 20;
  // While commits are synced or the buffer is in memory: a writer waits for the WAL writer at this many bytes.
  size_t unwritten_bytes_max = size_t{8} << 20;
  // A frame is durable at most this long after its commit. 0: as long as it takes until its memtable is flushed.
  uint64_t sync_interval_nanos = 1'000'000'000;
  size_t segment_bytes = size_t{16} << 20;  // of the largest segments
  // Of released segments that are kept for reuse. At least 8 of the largest segments, and the bytes of the WAL buffer,
  // are kept in any case.
  size_t recycled_bytes = 0;
  bool use_mapping = true;
  // WHY functions: the stalls of a database, and the VersionSet that gives numbers to all files, are on higher floors.
  std::function<void(uint64_t nanos)> on_wait = {};  // a writer has waited for room or disk space; may be null
  std::function<kv::FileNumber()> allocate_number;   // for a new segment file; any thread calls it
  std::shared_ptr<Counters> counters = {};           // null: the WAL has its own
  std::vector<kv::FileNumber> reusable_segments;     // of earlier epochs, now owned. REQUIRES: none is of a failed WAL
};

}  // namespace mergedb::wal
