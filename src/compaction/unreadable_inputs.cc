#include "compaction/unreadable_inputs.h"

#include <algorithm>

namespace mergedb::compaction {
namespace {

constexpr uint64_t kFirstPauseNanos = 100'000'000;
constexpr uint64_t kFirstPauseOfDamageNanos = 5'000'000'000;
constexpr uint64_t kLastPauseNanos = 600'000'000'000;
// Of one table. With more damaged blocks, all of its keys are left alone. WHY few: each costs a failed compaction.
constexpr size_t kBlocksMax = 4;

// Calls `visit` with the run and the index of each virtual table of the file; true ends the visits.
template <typename Visit>
bool AnyTableOf(const version::Version& version, kv::FileNumber file, const Visit& visit) {
  for (const version::RunPtr& run : version.runs()) {
    for (size_t i = 0; i < run->virtual_tables().size(); ++i) {
      if (run->virtual_tables()[i].file->number == file && visit(*run, i)) return true;
    }
  }
  return false;
}

// The keys that the virtual table shows, up to the next one.
format::Bounds ShownBy(const version::Run& run, size_t index) {
  const version::VirtualTable& virtual_table = run.virtual_tables()[index];
  format::Bounds shown{.lower = std::string(virtual_table.smallest()), .upper = virtual_table.bounds.upper};
  if (!shown.upper && index + 1 < run.virtual_tables().size()) {
    shown.upper = std::string(run.virtual_tables()[index + 1].smallest());
  }
  return shown;
}

}  // namespace

bool UnreadableInputs::Note(const FailedInput& input, const Status& status, uint64_t now_nanos) {
  base::Lock lock(mutex_);
  auto found = std::ranges::find_if(records_, [&](const Record& each) {
    return each.sources.empty() && each.input.file == input.file && each.input.is_blob_file == input.is_blob_file;
  });
  const bool is_new = found == records_.end();
  if (is_new) {
    found = records_.emplace(records_.end());
    found->input = input;
    if (!(input.keys == format::Bounds{})) found->keys.push_back(input.keys);
  } else if (input.keys == format::Bounds{}) {
    found->keys.clear();
  } else if (!found->keys.empty() && std::ranges::find(found->keys, input.keys) == found->keys.end()) {
    found->keys.size() < kBlocksMax ? found->keys.push_back(input.keys) : found->keys.clear();
  }
  Pause(&*found, status, now_nanos);
  NoteCountLocked();
  return is_new;
}

bool UnreadableInputs::NotePick(const picker::CompactionPick& pick, const Status& status, uint64_t now_nanos) {
  base::Lock lock(mutex_);
  auto found = std::ranges::find_if(records_, [&](const Record& each) {
    return each.sources == pick.sources && !each.keys.empty() && each.keys.front() == pick.bounds;
  });
  const bool is_new = found == records_.end();
  if (is_new) {
    found = records_.emplace(records_.end());
    found->keys.push_back(pick.bounds);
    found->sources = pick.sources;
  }
  Pause(&*found, status, now_nanos);
  NoteCountLocked();
  return is_new;
}

void UnreadableInputs::Pause(Record* record, const Status& status, uint64_t now_nanos) {
  const uint64_t first = status.IsIOError() ? kFirstPauseNanos : kFirstPauseOfDamageNanos;
  record->status = status;
  record->pause_nanos = std::clamp(2 * record->pause_nanos, first, kLastPauseNanos);
  record->due_nanos = now_nanos + record->pause_nanos;
  record->may_pick = false;
}

void UnreadableInputs::AddTable(const version::Version& version, const Record& record,
                                picker::Unreadable* unreadable) const {
  AnyTableOf(version, record.input.file, [&](const version::Run& run, size_t index) {
    const format::Bounds shown = ShownBy(run, index);
    if (record.keys.empty()) unreadable->keys.push_back({.position = run.position(), .bounds = shown});
    for (const format::Bounds& keys : record.keys) {
      if (!version::Intersect(order_, keys, shown)) continue;
      unreadable->keys.push_back(
          {.position = run.position(), .bounds = version::Intersection(order_, keys, shown), .is_block = true});
    }
    return false;
  });
}

std::shared_ptr<const picker::Unreadable> UnreadableInputs::In(const version::Version& version) const {
  if (empty()) return nullptr;
  auto unreadable = std::make_shared<picker::Unreadable>();
  base::Lock lock(mutex_);
  for (const Record& record : records_) {
    if (record.may_pick) continue;
    if (record.is_table()) {
      AddTable(version, record, unreadable.get());
    } else if (record.input.is_blob_file) {
      unreadable->blob_files.push_back(record.input.file);
    } else {
      for (const kv::Position position : record.sources) {
        if (version.FindRun(position) != nullptr)
          unreadable->keys.push_back({.position = position, .bounds = record.keys.front()});
      }
    }
  }
  std::ranges::sort(unreadable->blob_files);
  return unreadable;
}

bool UnreadableInputs::IsIn(const version::Version& version, const Record& record) const {
  if (record.input.is_blob_file) return version.FindBlobFile(record.input.file) != nullptr;
  if (!record.is_table()) {
    return std::ranges::all_of(record.sources,
                               [&](kv::Position position) { return version.FindRun(position) != nullptr; });
  }
  return AnyTableOf(version, record.input.file, [&](const version::Run& run, size_t index) {
    const format::Bounds shown = ShownBy(run, index);
    return record.keys.empty() || std::ranges::any_of(record.keys, [&](const format::Bounds& keys) {
             return version::Intersect(order_, keys, shown);
           });
  });
}

void UnreadableInputs::Prune(const std::function<version::VersionPtr()>& current) {
  base::Lock lock(mutex_);
  if (records_.empty()) return;
  const version::VersionPtr version = current();
  std::erase_if(records_, [&](const Record& each) { return !IsIn(*version, each); });
  NoteCountLocked();
}

std::optional<UnreadableInputs::Probe> UnreadableInputs::NextDue(uint64_t now_nanos) {
  if (empty()) return std::nullopt;
  base::Lock lock(mutex_);
  std::optional<Probe> probe;
  for (Record& record : records_) {
    if (record.may_pick || record.due_nanos > now_nanos) continue;
    if (!record.is_table()) {
      record.may_pick = true;
    } else if (!probe) {
      probe = Probe{.file = record.input.file, .keys = record.keys};
      record.due_nanos = now_nanos + std::max(record.pause_nanos, kFirstPauseNanos);
    }
  }
  NoteCountLocked();
  return probe;
}

void UnreadableInputs::NoteProbe(kv::FileNumber file, bool is_readable, uint64_t now_nanos) {
  base::Lock lock(mutex_);
  const auto found =
      std::ranges::find_if(records_, [&](const Record& each) { return each.is_table() && each.input.file == file; });
  if (found == records_.end()) return;
  if (is_readable) {
    records_.erase(found);
  } else {
    Pause(&*found, Status(found->status), now_nanos);
  }
  NoteCountLocked();
}

void UnreadableInputs::MakeDue() {
  base::Lock lock(mutex_);
  for (Record& record : records_) record.due_nanos = record.pause_nanos = 0;
}

std::optional<uint64_t> UnreadableInputs::NanosToNextDue(uint64_t now_nanos) const {
  base::Lock lock(mutex_);
  std::optional<uint64_t> nanos;
  for (const Record& record : records_) {
    if (record.may_pick) continue;
    const uint64_t left = record.due_nanos - std::min(now_nanos, record.due_nanos);
    nanos = std::min(nanos.value_or(left), left);
  }
  return nanos;
}

Status UnreadableInputs::status() const {
  if (empty()) return {};
  base::Lock lock(mutex_);
  const auto found = std::ranges::find_if(records_, [](const Record& each) { return !each.may_pick; });
  return found == records_.end() ? Status() : found->status;
}

}  // namespace mergedb::compaction
