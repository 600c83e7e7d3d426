// A compaction pick as one line of text, for the goldens of the picks and for the simulator.
#pragma once

#include <string>

#include "base/bytes.h"
#include "picker/compaction_pick.h"

namespace mergedb::picker {

inline std::string PrintBytes(uint64_t bytes) {
  const uint64_t mebibytes = bytes >> 20;
  if (mebibytes > 0 && bytes % (uint64_t{1} << 20) == 0) return std::to_string(mebibytes) + "MB";
  return std::to_string(bytes) + "B";
}

inline std::string PrintLevel(format::Level level) {
  return level == format::kBottommostLevel ? "bottom" : "L" + std::to_string(level);
}

// "9+8+7 -> L1 [c..g) reason=tier_full input=120MB", with " move" or " drops_tombstones" where it applies.
inline std::string PrintCompactionPick(const CompactionPick& pick) {
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
  if (pick.is_bottommost) text += " drops_tombstones";
  return text;
}

}  // namespace mergedb::picker
