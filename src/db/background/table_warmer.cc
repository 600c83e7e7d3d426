#include "db/background/table_warmer.h"

#include <algorithm>

#include "version/data_files.h"

namespace mergedb::db {
namespace {

// Of one Warm. WHY not all at once: a compaction or a Close may wait for the thread.
constexpr uint64_t kStepBytes = uint64_t{32} << 20;

// Bytes of the tables and blob files whose numbers fulfil the condition.
template <class Condition>
uint64_t BytesOf(const version::Version& version, const Condition& is_counted) {
  uint64_t sum = 0;
  for (const format::DataFile& file : version::DataFilesOf(version)) {
    if (is_counted(kv::ToInt(file.number))) sum += file.bytes;
  }
  return sum;
}

uint64_t FirstNewNumber(const version::Version& version) {
  uint64_t next = 0;
  for (const format::DataFile& file : version::DataFilesOf(version)) next = std::max(next, kv::ToInt(file.number) + 1);
  return next;
}

uint64_t Rest(uint64_t limit, uint64_t used) { return limit - std::min(limit, used); }

}  // namespace

TableWarmer::TableWarmer(BackgroundState& state, const CompactionRunner& compactions)
    : state_(state),
      store_(state.store),
      tree_(state.tree),
      compactions_(compactions),
      first_new_(FirstNewNumber(*state.CurrentVersion())) {}

BackgroundScheduler::Task TableWarmer::NextLocked() {
  const uint64_t generation = compactions_.IdleGenerationLocked();
  if (is_warming_ || compactions_.IsRunningLocked() || !state_.requests.IsAtRestLocked() ||
      (generation_ == generation && !has_more_))
    return nullptr;
  generation_ = generation;
  is_warming_ = true;
  return [this] { Warm(); };
}

TableWarmer::Room TableWarmer::FindRoom(const version::Version& version) {
  const uint64_t free = store_.options.env.file_system->FreeMemoryBytes();
  if (!reads_old_) reads_old_ = BytesOf(version, [&](uint64_t number) { return number < first_new_; }) <= free / 2;
  const uint64_t read = BytesOf(version, [&](uint64_t number) { return read_.contains(number); });
  const uint64_t bytes_max = BytesMax(store_.options);
  return {.of_old = *reads_old_ ? Rest(bytes_max, read) : 0,
          .of_new = Rest(std::max(bytes_max, free / 2 + read / 2), read),
          .of_step = kStepBytes};
}

bool TableWarmer::Takes(uint64_t number, uint64_t bytes, Room* room) {
  if (bytes > (number < first_new_ ? room->of_old : room->of_new)) return false;
  for (uint64_t* const each : {&room->of_old, &room->of_new, &room->of_step}) *each = Rest(*each, bytes);
  read_.insert(number);
  state_.counters.warmed_bytes.fetch_add(bytes, std::memory_order_relaxed);
  return true;
}

void TableWarmer::Warm() {
  const read::SuperVersionPtr super_version = tree_.version_set.Current();
  Room room = FindRoom(*super_version->version);
  Numbers existing;
  bool has_more = false;
  const auto wants = [&](const auto& file) {
    const uint64_t number = kv::ToInt(file.number);
    existing.insert(number);
    if (considered_.contains(number)) return false;
    if (room.of_step == 0) {
      has_more = true;
      return false;
    }
    considered_.insert(number);
    return Takes(number, file.bytes, &room);
  };
  for (const auto& run : super_version->version->runs()) {
    for (const auto& virtual_table : run->virtual_tables()) {
      if (!wants(*virtual_table.file)) continue;
      if (auto reader = store_.tables->Open(virtual_table.file)) (*reader)->Warm();
    }
  }
  const auto& blob_files = super_version->version->blob_files();
  for (auto each = blob_files.rbegin(); each != blob_files.rend(); ++each) {
    if (!wants(*each->file)) continue;
    if (auto reader = store_.values.Open(*each->file)) (*reader)->Warm();
  }
  const auto is_gone = [&](uint64_t number) { return !existing.contains(number); };
  std::erase_if(considered_, is_gone);
  std::erase_if(read_, is_gone);
  BackgroundLock lock(state_.scheduler.mutex());
  is_warming_ = false;
  has_more_ = has_more;
}

}  // namespace mergedb::db
