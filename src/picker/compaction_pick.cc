#include "picker/compaction_pick.h"

namespace mergedb::picker {

std::string_view CompactionReasonName(CompactionReason reason) {
  switch (reason) {
    case CompactionReason::kTierFull: return "tier_full";
    case CompactionReason::kSpace: return "space";
    case CompactionReason::kAdjacentFull: return "adjacent_full";
    case CompactionReason::kPrefix: return "prefix";
    case CompactionReason::kIdle: return "idle";
    case CompactionReason::kManual: return "manual";
    case CompactionReason::kTombstones: return "tombstones";
    case CompactionReason::kTombstoneScan: return "tombstone_scan";
    case CompactionReason::kDisjoint: return "disjoint";
    case CompactionReason::kBlobGarbage: return "blob_garbage";
    case CompactionReason::kSmallBlobs: return "small_blobs";
    case CompactionReason::kBlobOrder: return "blob_order";
    case CompactionReason::kReads: return "reads";
  }
  return "unknown";
}

}  // namespace mergedb::picker
