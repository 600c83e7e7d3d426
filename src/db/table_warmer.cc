#include "db/table_warmer.h"

#include <algorithm>

namespace mergedb::db {

BackgroundScheduler::Task TableWarmer::NextLocked() {
  const uint64_t generation = compactions_.IdleGenerationLocked();
  if (compactions_.IsRunningLocked() || requests_.UrgencyLocked() == picker::Urgency::kWriting ||
      generation_ == generation)
    return nullptr;
  generation_ = generation;
  return [this] { Warm(); };
}

void TableWarmer::Warm() {
  const read::SuperVersionPtr super_version = parts_.version_set.Current();
  const uint64_t warmed_below = warmed_below_.load();
  uint64_t budget = BytesMax(parts_.options);
  uint64_t next = warmed_below;
  // Tables first, those of the newest runs before others.
  for (const auto& run : super_version->version->runs()) {
    for (const auto& virtual_table : run->virtual_tables()) {
      const uint64_t number = kv::ToInt(virtual_table.file->number);
      next = std::max(next, number + 1);
      if (virtual_table.file->bytes > budget) continue;
      budget -= virtual_table.file->bytes;
      if (number < warmed_below) continue;
      if (auto reader = parts_.tables.Open(virtual_table.file)) (*reader)->Warm();
    }
  }
  // Then blob files, the newest first, until one does not fit the rest of the budget.
  const auto& blob_files = super_version->version->blob_files();
  for (auto each = blob_files.rbegin(); each != blob_files.rend(); ++each) {
    const uint64_t number = kv::ToInt(each->file->number);
    next = std::max(next, number + 1);
    if (each->file->bytes > budget) break;
    budget -= each->file->bytes;
    if (number < warmed_below) continue;
    if (auto reader = parts_.values.Open(*each->file)) (*reader)->Warm();
  }
  warmed_below_.store(next);
}

}  // namespace mergedb::db
