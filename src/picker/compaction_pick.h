// What a picker decides: which keys of which runs to merge, where the result goes, and why.
//
// A plan takes the keys in `bounds` out of the runs `sources` (consecutive in the Version, newest first) and puts the merged
// result into the last of them, the oldest, whose place in the order stays. Nothing of other runs changes. When the job is
// done the target's level becomes `target_level`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "format/version_edit.h"
#include "kv/key.h"

namespace mergedb::picker {

enum class CompactionReason : uint8_t {
  kTierFull,      // lazy: a tier has its number of runs
  kSpace,         // too much above the bottom for the space bound
  kAdjacentFull,  // cascade: four adjacent levels
  kPrefix,        // cascade: the full prefix into the first level that holds it
  kIdle,          // settling into one run
  kManual,        // CompactRange
  kTombstones,    // tombstones dominate a part of the oldest run
  kSwept,         // a reader passed over very many deleted keys
  kDisjoint,      // runs without a key range in common: moved, not merged
  kValueGarbage,  // value files hold too much that no table refers to
};
std::string_view CompactionReasonName(CompactionReason reason);

struct CompactionPick {
  std::vector<kv::Position> sources;  // newest first, consecutive
  format::Bounds bounds;              // {}: everything
  format::Level target_level = 0;
  bool is_bottom = false;  // no run older than the target has a key in bounds
  // Slices are disjoint across the sources: move them without rewriting.
  bool is_move = false;
  CompactionReason reason = CompactionReason::kManual;
  uint64_t input_bytes = 0;
  uint64_t output_file_bytes = 0;  // cut outputs at about this size, 0: one file
  // Value files to clean, ascending: the values of theirs that are met are written to a new one.
  std::vector<kv::FileNumber> cleaned = {};
  // Also cut outputs at these keys (partition borders), ascending.
  std::vector<std::string> cut_keys;
};
// "9+8+7 -> L1 [c..g) reason=tier_full input=120MB", with " move" or " drops_tombstones" where it applies.
std::string PrintCompactionPick(const CompactionPick& pick);

// A plan that runs now. Its sources are not to be picked, nor anything that would pass over them.
struct RunningCompaction {
  std::vector<kv::Position> sources;
  format::Bounds bounds;
  bool collects_blobs = false;  // value files
};

// Two running plans never interleave: their ranges of positions are disjoint, or their bounds are.
}  // namespace mergedb::picker
