// A compaction pick: which keys of which sorted runs to compact, where the result goes, and why.
//
// A compaction takes the keys in `bounds` out of the runs `sources` (consecutive in the version, newest
// first) and puts the result into the last source, the oldest one. That run keeps its position. Other runs do
// not change. At the end of the compaction the level of the target run becomes `target_level`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "format/version_edit.h"
#include "kv/key.h"

namespace mergedb::picker {

enum class CompactionReason : uint8_t {
  kTierFull,       // lazy: a tier has its full number of runs
  kSpace,          // over the space bound: the runs above the oldest run, or tables that are shown in part
  kAdjacentFull,   // cascade: four adjacent levels are full
  kPrefix,         // cascade: the full prefix goes into the first level that holds it
  kIdle,           // idle compaction into one run
  kManual,         // CompactRange
  kTombstones,     // tombstones dominate a part of the oldest run
  kTombstoneScan,  // a scan passed over very many deleted keys
  kDisjoint,       // runs without a common key range: moved, not rewritten
  kBlobGarbage,    // blob files hold too much garbage: bytes that no table refers to
  kSmallBlobs,     // many small blob files: they become one
  kBlobOrder,      // scans met many values that are not in key order
  kReads,          // seeks have visited so many sorted runs that fewer ones pay
};
inline constexpr size_t kCompactionReasons = 13;  // kReads is the last one
static_assert(static_cast<size_t>(CompactionReason::kReads) + 1 == kCompactionReasons);
std::string_view CompactionReasonName(CompactionReason reason);

struct CompactionPick {
  std::vector<kv::Position> sources;  // newest first, consecutive
  format::Bounds bounds;              // {}: all keys
  format::Level target_level = 0;
  bool is_bottommost = false;  // no run older than the target has a key in bounds
  // The virtual tables of all sources are disjoint: move them without rewriting.
  bool is_move = false;
  CompactionReason reason = CompactionReason::kManual;
  uint64_t input_bytes = 0;
  uint64_t output_file_bytes = 0;  // cut outputs at about this size; 0: one file
  // Blob files to collect, ascending: the compaction writes their values that it reads to a new blob file.
  std::vector<kv::FileNumber> blob_files_to_collect = {};
  // Cut the outputs at these keys, too (partition borders), ascending.
  std::vector<std::string> cut_keys;
};

// A running compaction.
struct RunningCompaction {
  std::vector<kv::Position> sources;
  format::Bounds bounds;
  bool collects_blobs = false;  // it is a blob garbage collection
};

// What compactions leave alone because reading it has failed: keys of one run, and blob files.
struct UnreadableKeys {
  kv::Position position;
  format::Bounds bounds;
  bool is_block = false;  // a part of a table: few bytes
};
struct Unreadable {
  std::vector<UnreadableKeys> keys;
  std::vector<kv::FileNumber> blob_files;  // ascending
};

// INVARIANT: two running compactions have disjoint ranges of positions or disjoint bounds.
}  // namespace mergedb::picker
