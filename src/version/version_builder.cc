#include "version/version_builder.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/heap_sort.h"
#include "base/zoo.h"
#include "version/invariants.h"

namespace mergedb::version {

namespace {

// A run while an edit is applied to it.
struct Draft {
  RunPtr base = nullptr;           // null: made by this edit
  format::Level level = 0;
  bool slices_changed = false;
  std::vector<Slice> slices = {};  // valid if slices_changed
  std::vector<Slice> adds = {};

  std::vector<Slice>& Slices() {
    if (!slices_changed && base) slices = base->slices();
    slices_changed = true;
    return slices;
  }
};
using Drafts = std::map<kv::Position, Draft, std::greater<>>;  // newest first

Draft* FindDraft(const Version& version, kv::Position position, Drafts* drafts) {
  if (const auto it = drafts->find(position); it != drafts->end()) return &it->second;
  RunPtr run = version.FindRun(position);
  if (!run) return nullptr;
  const format::Level level = run->level();
  return &drafts->emplace(position, Draft{.base = std::move(run), .level = level}).first->second;
}

// What of `slice` lies below and above the cut stays.
void Keep(const kv::Order& order, const Slice& slice, const format::Bounds& cut, std::vector<Slice>* kept) {
  if (cut.lower) {
    auto below = Clip(order, slice.file, Intersection(order, slice.bounds, {.upper = cut.lower}));
    if (below) kept->push_back(*std::move(below));
  }
  if (cut.upper) {
    auto above = Clip(order, slice.file, Intersection(order, slice.bounds, {.lower = cut.upper}));
    if (above) kept->push_back(*std::move(above));
  }
}

// REQUIRES: cut.lower < cut.upper
void CutSlices(const kv::Order& order, const format::Bounds& cut, std::vector<Slice>* slices) {
  const auto begin = std::partition_point(slices->begin(), slices->end(), [&](const Slice& slice) {
    return cut.lower && slice.IsBefore(order, *cut.lower);
  });
  const auto end = std::partition_point(begin, slices->end(), [&](const Slice& slice) {
    return !cut.upper || order.CompareKeys(slice.smallest(), *cut.upper) < 0;
  });
  std::vector<Slice> kept;  // of the first and the last slice that the cut meets, which may be one
  for (auto it = begin; it != end; ++it) {
    if (it == begin || it + 1 == end) Keep(order, *it, cut, &kept);
  }
  const auto at = slices->erase(begin, end);
  slices->insert(at, std::make_move_iterator(kept.begin()), std::make_move_iterator(kept.end()));
}

Status Overlaps(const Slice& slice, kv::Position position) {
  return Status::Corruption("edit shows table " + std::to_string(kv::ToInt(slice.file->number)) + " at '" +
                            base::Escape(slice.smallest()) + "' over another one in the run at position " +
                            std::to_string(kv::ToInt(position)));
}

// Both lists are in key order; compares only around the additions.
Status InsertSlices(const kv::Order& order, kv::Position position, Draft* draft) {
  base::HeapSort(draft->adds.begin(), draft->adds.end(), [&](const Slice& a, const Slice& b) {
    return order.CompareKeys(a.smallest(), b.smallest()) < 0;
  });
  std::vector<Slice>& old_slices = draft->Slices();
  std::vector<Slice> merged;
  merged.reserve(old_slices.size() + draft->adds.size());
  auto next = old_slices.begin();
  for (Slice& add : draft->adds) {
    const auto place = std::partition_point(
        next, old_slices.end(), [&](const Slice& slice) { return slice.IsBefore(order, add.smallest()); });
    std::move(next, place, std::back_inserter(merged));
    next = place;
    if (!merged.empty() && !merged.back().IsBefore(order, add.smallest())) return Overlaps(add, position);
    if (next != old_slices.end() && !add.IsBefore(order, next->smallest())) return Overlaps(add, position);
    merged.push_back(std::move(add));
  }
  std::move(next, old_slices.end(), std::back_inserter(merged));
  draft->slices = std::move(merged);
  draft->adds.clear();
  return Status::Ok();
}

Status DraftAdds(const kv::Order& order, const Version& base, const format::Edit& edit, Drafts* drafts) {
  for (const format::Edit::Add& add : edit.adds) {
    if (!add.file) return Status::Corruption("edit adds no table");
    RETURN_IF_ERROR(CheckFile(order, *add.file));
    auto slice = Clip(order, add.file, add.bounds);
    if (!slice) {
      return Status::Corruption("edit adds table " + std::to_string(kv::ToInt(add.file->number)) +
                                " with bounds that show nothing of it");
    }
    Draft* draft = FindDraft(base, add.position, drafts);
    if (!draft) draft = &drafts->emplace(add.position, Draft{.level = add.level}).first->second;
    draft->adds.push_back(*std::move(slice));
  }
  for (auto& [position, draft] : *drafts) {
    if (!draft.adds.empty()) RETURN_IF_ERROR(InsertSlices(order, position, &draft));
  }
  return Status::Ok();
}

RunPtr Finish(kv::Position position, Draft&& draft) {
  if (draft.slices_changed) {
    if (draft.slices.empty()) return nullptr;
    return std::make_shared<Run>(position, draft.level, std::move(draft.slices));
  }
  if (draft.level == draft.base->level()) return draft.base;
  return std::make_shared<Run>(*draft.base, draft.level);
}

// By number: those that `base` has and those that `edit` adds.
std::vector<format::ValueFilePtr> ValueFilesOf(const Version& base, const format::Edit& edit) {
  std::vector<format::ValueFilePtr> files;
  files.reserve(base.value_files().size() + edit.value_files.size());
  for (const ValueFile& each : base.value_files()) files.push_back(each.file);
  for (const auto& add : edit.value_files) files.push_back(add.file);
  if (!edit.value_files.empty()) {
    std::ranges::stable_sort(files, {}, [](const format::ValueFilePtr& file) { return file->number; });
  }
  return files;
}

// By number, each once: one number has one description.
Status KeepEachOnce(std::vector<format::ValueFilePtr>* files) {
  const auto is_same = [](const format::ValueFilePtr& a, const format::ValueFilePtr& b) { return a->number == b->number; };
  for (auto at = files->begin(); (at = std::adjacent_find(at, files->end(), is_same)) != files->end(); ++at) {
    if (**at != **(at + 1)) {
      return Status::Corruption("edit adds value file " + std::to_string(kv::ToInt((*at)->number)) + ", which is there already, another one");
    }
  }
  files->erase(std::unique(files->begin(), files->end(), is_same), files->end());
  return {};
}

VersionPtr Assemble(const Version& base, const std::vector<format::ValueFilePtr>& value_files, Drafts&& drafts) {
  std::vector<RunPtr> runs;
  runs.reserve(base.runs().size() + drafts.size());
  auto draft = drafts.begin();
  const auto finish = [&] {
    if (RunPtr run = Finish(draft->first, std::move(draft->second))) runs.push_back(std::move(run));
    ++draft;
  };
  for (const RunPtr& run : base.runs()) {
    while (draft != drafts.end() && draft->first > run->position()) finish();
    if (draft != drafts.end() && draft->first == run->position()) {
      finish();
    } else {
      runs.push_back(run);
    }
  }
  while (draft != drafts.end()) finish();
  return std::make_shared<Version>(std::move(runs), value_files);
}

}  // namespace

Result<VersionPtr> ApplyEdit(const kv::Order& order, const Version& base, const format::Edit& edit) {
  Drafts drafts;
  for (const format::Edit::Cut& cut : edit.cuts) {
    const bool is_closed = cut.bounds.lower && cut.bounds.upper;
    const int limits = is_closed ? order.CompareKeys(*cut.bounds.lower, *cut.bounds.upper) : -1;
    if (limits == 0) continue;
    if (limits > 0) {
      return Status::Corruption("edit cuts from '" + base::Escape(*cut.bounds.lower) + "' back to '" +
                                base::Escape(*cut.bounds.upper) + "'");
    }
    if (Draft* draft = FindDraft(base, cut.position, &drafts)) CutSlices(order, cut.bounds, &draft->Slices());
  }
  RETURN_IF_ERROR(DraftAdds(order, base, edit, &drafts));
  for (const format::Edit::SetLevel& change : edit.levels) {
    if (Draft* draft = FindDraft(base, change.position, &drafts)) draft->level = change.level;
  }
  std::vector<format::ValueFilePtr> value_files = ValueFilesOf(base, edit);
  if (!edit.value_files.empty()) RETURN_IF_ERROR(KeepEachOnce(&value_files));
  VersionPtr next = Assemble(base, value_files, std::move(drafts));
  if (next->missing_value_file() != kv::FileNumber{}) RETURN_IF_ERROR(CheckValueFilesThere(*next));
  return next;
}

format::Edit EditFromEmpty(const Version& version) {
  format::Edit edit;
  for (const RunPtr& run : version.runs()) {
    for (const Slice& slice : run->slices()) {
      edit.adds.push_back({.position = run->position(), .level = run->level(), .file = slice.file, .bounds = slice.bounds});
    }
  }
  if (ZOO(kValueFileNotNamed)) return edit;
  for (const ValueFile& each : version.value_files()) edit.value_files.push_back({each.file});
  return edit;
}

}  // namespace mergedb::version
