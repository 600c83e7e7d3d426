#include "picker/compaction_pick.h"

#include "base/bytes.h"

namespace mergedb::picker {

std::string_view ReasonName(Reason reason) {
  switch (reason) {
    case Reason::kTierFull: return "tier_full";
    case Reason::kSpace: return "space";
    case Reason::kAdjacentFull: return "adjacent_full";
    case Reason::kPrefix: return "prefix";
    case Reason::kIdle: return "idle";
    case Reason::kManual: return "manual";
    case Reason::kTombstones: return "tombstones";
    case Reason::kSwept: return "swept";
    case Reason::kDisjoint: return "disjoint";
    case Reason::kValueGarbage: return "value_garbage";
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

std::string PrintPlan(const Plan& plan) {
  std::string text;
  for (const kv::Position source : plan.sources) {
    if (!text.empty()) text += '+';
    text += std::to_string(kv::ToInt(source));
  }
  text += " -> " + PrintLevel(plan.target_level);
  if (plan.bounds != format::Bounds{}) {
    text += " [" + base::Escape(plan.bounds.lower.value_or("")) + ".." + base::Escape(plan.bounds.upper.value_or("")) + ")";
  }
  text += " reason=" + std::string(ReasonName(plan.reason)) + " input=" + PrintBytes(plan.input_bytes);
  for (size_t i = 0; i < plan.cleaned.size(); ++i) {
    text += (i == 0 ? " cleans=" : ",") + std::to_string(kv::ToInt(plan.cleaned[i]));
  }
  if (plan.is_move) text += " move";
  if (plan.is_bottom) text += " drops_tombstones";
  return text;
}

}  // namespace mergedb::picker
