#include "picker/compaction_pick.h"

#include "base/bytes.h"

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
  }
  return "unknown";
}

namespace {

std::string PrintBytes(uint64_t bytes) {
  const uint64_t mebibytes = bytes >> 20;
  if (mebibytes > 0 && bytes % (uint64_t{1} << 20) == 0) return std::to_string(mebibytes) + "MB";
  return std::to_string(bytes) + "B";
}

std::string PrintLevel(format::Level level) {
  return level == format::kBottomLevel ? "bottom" : "L" + std::to_string(level);
}

}  // namespace

std::string PrintCompactionPick(const CompactionPick& pick) {
  std::string text;
  for (const kv::Position source : pick.sources) {
    if (!text.empty()) text += '+';
    text += std::to_string(kv::ToInt(source));
  }
  text += " -> " + PrintLevel(pick.target_level);
  if (pick.bounds != format::Bounds{}) {
    text +=
        " [" + base::Escape(pick.bounds.lower.value_or("")) + ".." + base::Escape(pick.bounds.upper.value_or("")) + ")";
  }
  text += " reason=" + std::string(CompactionReasonName(pick.reason)) + " input=" + PrintBytes(pick.input_bytes);
  for (size_t i = 0; i < pick.blob_files_to_collect.size(); ++i) {
    text += (i == 0 ? " collects=" : ",") + std::to_string(kv::ToInt(pick.blob_files_to_collect[i]));
  }
  if (pick.is_move) text += " move";
  if (pick.is_bottom) text += " drops_tombstones";
  return text;
}

}  // namespace mergedb::picker
