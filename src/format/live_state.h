// FORMAT: the file LIVE, in which a database that is open for writes publishes its state, about once a second
// or when a reader asks (docs/formats/live.md). The file stays after the process was killed.
//
//   LIVE    | slot 0 (32 KiB) | slot 1 (32 KiB) |      update n goes to slot n % 2
//   slot    | magic 8 | version 4 | payload bytes 4 | update 8 | crc 4 | 0 4 | payload | not defined ... |
//
// A kill in the middle of an update damages one slot; the other one holds the update before. The crc covers the head
// before it and the payload. The payload is a list of fields: tag (varint), length (varint), content. A reader skips
// fields with unknown tags, and the rest of a content that is longer than it expects. So new metrics, new kinds of
// metrics and new facts need no new version.
//
// Tests: tests/unit/format/live_state_test.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mergedb/result.h"

namespace mergedb::format {

inline constexpr size_t kLiveSlotBytes = 32 << 10;
inline constexpr size_t kLiveFileBytes = 2 * kLiveSlotBytes;

enum class LiveKind : uint8_t { kCounter = 1, kGauge = 2, kHistogram = 3 };

// Values up to `upper` that are larger than the upper bound of the bucket before.
struct LiveBucket {
  uint64_t upper = 0;
  uint64_t count = 0;
  uint64_t count_before = 0;
  bool operator==(const LiveBucket&) const = default;
};

struct LiveMetric {
  LiveKind kind = LiveKind::kGauge;
  std::string name;
  std::string unit;
  uint64_t value = 0;               // of a histogram: the sum of all values
  uint64_t value_before = 0;        // at the beginning of the window
  std::vector<LiveBucket> buckets;  // of a histogram, ascending; empty buckets are left out
  bool operator==(const LiveMetric&) const = default;
};

struct LiveRun {  // a sorted run of the tree
  uint64_t position = 0, level = 0, tables = 0, bytes = 0, value_bytes = 0, entries = 0, tombstones = 0;
  bool operator==(const LiveRun&) const = default;
};

struct LiveCompaction {  // a running compaction
  std::string reason;
  uint64_t runs = 0, level = 0, input_bytes = 0, written_bytes = 0, age_nanos = 0;
  uint64_t entries = 0;  // of the inputs; 0: not known yet
  uint64_t entries_read = 0;
  bool operator==(const LiveCompaction&) const = default;
};

// The calls that read and wrote keys from `from` up to the next range's `from`, as estimates.
struct LiveHeat {
  std::string from;  // empty: from the smallest key on
  uint64_t reads = 0, writes = 0;
  bool operator==(const LiveHeat&) const = default;
};

struct LiveHeatAges {  // since when the calls of all LiveHeat are counted; 0: there are none
  uint64_t reads_nanos = 0, writes_nanos = 0;
  bool operator==(const LiveHeatAges&) const = default;
};

struct LiveText {
  std::string name, text;
  bool operator==(const LiveText&) const = default;
};

// The process that publishes, so that a reader can tell whether it still runs (env/process.h).
struct LiveProcess {
  uint64_t pid = 0;
  uint64_t pid_namespace = 0;
  uint64_t start_ticks = 0;  // when the process started, in clock ticks since boot
  std::string boot_id;
  bool operator==(const LiveProcess&) const = default;
};

struct LiveTimes {
  uint64_t opened_unix_micros = 0;   // when the database was opened
  uint64_t updated_unix_micros = 0;  // when this state was published
  uint64_t updated_boot_nanos = 0;   // the same by the clock that counts from boot
  uint64_t period_nanos = 0;         // the next update follows after about this time; 0: when a counter changes
  uint64_t window_nanos = 0;         // values "before" are this old
  bool operator==(const LiveTimes&) const = default;
};

struct LiveState {
  uint64_t update = 0;  // number of the update, from 1 on
  LiveProcess process;
  LiveTimes times;
  std::vector<LiveMetric> metrics;
  std::vector<LiveCompaction> compactions;
  std::vector<LiveText> texts;
  std::vector<LiveHeat> heat;  // ranges of keys, ascending
  LiveHeatAges heat_ages;
  std::vector<LiveRun> runs;  // newest first; the oldest are left out if the slot is full

  const LiveMetric* Find(std::string_view name) const;  // null if there is none
  // The value of a counter or gauge; 0 if there is none.
  uint64_t Value(std::string_view name) const;
  // The growth of a counter in the window. A counter that began again grew from 0.
  uint64_t Growth(std::string_view name) const;
  std::string_view Text(std::string_view name) const;

  bool operator==(const LiveState&) const = default;
};

// Appends one field after another until the next one does not fit in a slot.
std::string EncodeLiveSlot(const LiveState& state);
// Corruption if the slot is damaged or was never written; NotSupported if its version is newer.
Result<LiveState> DecodeLiveSlot(std::string_view slot);
// The newest state in the bytes of a file LIVE.
Result<LiveState> DecodeLiveFile(std::string_view file);

}  // namespace mergedb::format
