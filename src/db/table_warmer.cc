#include "db/table_warmer.h"

#include <algorithm>

namespace mergedb::db {
namespace {

// Of one Warm. WHY not all at once: a compaction or a Close may wait for the thread.
constexpr uint64_t kStepBytes = uint64_t{32} << 20;

uint64_t FirstNewNumber(const version::Version& version) {
  uint64_t next = 0;
  for (const auto& run : version.runs()) {
    for (const auto& virtual_table : run->virtual_tables())
      next = std::max(next, kv::ToInt(virtual_table.file->number) + 1);
  }
  for (const auto& each : version.blob_files()) next = std::max(next, kv::ToInt(each.file->number) + 1);
  return next;
}

}  // namespace

TableWarmer::TableWarmer(const BackgroundParts& parts, base::Mutex& mutex, const CompactionRequests& requests,
                         const CompactionRunner& compactions, BackgroundCounters& counters)
    : parts_(parts),
      requests_(requests),
      compactions_(compactions),
      counters_(counters),
      first_new_(FirstNewNumber(*parts.version_set.Current()->version)),
      mutex_(mutex) {}

BackgroundScheduler::Task TableWarmer::NextLocked() {
  const uint64_t generation = compactions_.IdleGenerationLocked();
  if (is_warming_ || compactions_.IsRunningLocked() || !requests_.IsAtRestLocked() ||
      (generation_ == generation && !has_more_))
    return nullptr;
  generation_ = generation;
  is_warming_ = true;
  return [this] { Warm(); };
}

uint64_t TableWarmer::OldBytes(const version::Version& version) const {
  std::unordered_set<uint64_t> counted;
  uint64_t sum = 0;
  const auto add = [&](kv::FileNumber file, uint64_t bytes) {
    const uint64_t number = kv::ToInt(file);
    if (number < first_new_ && !warm_.contains(number) && counted.insert(number).second) sum += bytes;
  };
  for (const auto& run : version.runs()) {
    for (const auto& virtual_table : run->virtual_tables()) add(virtual_table.file->number, virtual_table.file->bytes);
  }
  for (const auto& each : version.blob_files()) add(each.file->number, each.file->bytes);
  return sum;
}

bool TableWarmer::Takes(uint64_t number, uint64_t bytes, Budget* budget) {
  if (number < first_new_ && !budget->takes_old) return false;
  uint64_t* const room = bytes <= budget->of_all || number < first_new_ ? &budget->of_all : &budget->of_new;
  if (bytes > *room) return false;
  *room -= bytes;
  counters_.warmed_bytes.fetch_add(bytes, std::memory_order_relaxed);
  budget->of_step -= std::min(budget->of_step, bytes);
  return true;
}

void TableWarmer::Warm() {
  const read::SuperVersionPtr super_version = parts_.version_set.Current();
  const uint64_t half_of_free = parts_.options.env.file_system->FreeMemoryBytes() / 2;
  Budget budget{.of_all = BytesMax(parts_.options),
                .of_new = half_of_free,
                .takes_old = OldBytes(*super_version->version) <= half_of_free,
                .of_step = kStepBytes};
  std::unordered_set<uint64_t> considered;
  bool has_more = false;
  const auto wants = [&](uint64_t number, uint64_t bytes) {
    const bool is_warm = warm_.contains(number);
    if (!is_warm && budget.of_step == 0) {
      has_more = true;
      return false;
    }
    if (!considered.insert(number).second) return false;
    if (!is_warm) return Takes(number, bytes, &budget);
    budget.of_all -= std::min(budget.of_all, bytes);
    return false;
  };
  // Tables first, those of the newest runs before others.
  for (const auto& run : super_version->version->runs()) {
    for (const auto& virtual_table : run->virtual_tables()) {
      if (!wants(kv::ToInt(virtual_table.file->number), virtual_table.file->bytes)) continue;
      if (auto reader = parts_.tables.Open(virtual_table.file)) (*reader)->Warm();
    }
  }
  // Then blob files, the newest first.
  const auto& blob_files = super_version->version->blob_files();
  for (auto each = blob_files.rbegin(); each != blob_files.rend(); ++each) {
    if (!wants(kv::ToInt(each->file->number), each->file->bytes)) continue;
    if (auto reader = parts_.values.Open(*each->file)) (*reader)->Warm();
  }
  warm_ = std::move(considered);
  base::Lock lock(mutex_);
  is_warming_ = false;
  has_more_ = has_more;
}

}  // namespace mergedb::db
