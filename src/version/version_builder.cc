#include "version/version_builder.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/bytes.h"
#include "base/heap_sort.h"
#include "version/invariants.h"

namespace mergedb::version {

namespace {

// A run while an edit is applied to it.
struct Draft {
  RunPtr base = nullptr;  // null: this edit creates the run
  format::Level level = 0;
  bool virtual_tables_changed = false;
  std::vector<VirtualTable> virtual_tables = {};  // valid if virtual_tables_changed
  std::vector<VirtualTable> adds = {};

  std::vector<VirtualTable>& Slices() {
    if (!virtual_tables_changed && base) virtual_tables = base->virtual_tables();
    virtual_tables_changed = true;
    return virtual_tables;
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

// Keeps the keys of `virtual_table` that lie below or above the cut.
void Keep(const kv::Order& order, const VirtualTable& virtual_table, const format::Bounds& cut,
          std::vector<VirtualTable>* kept) {
  if (cut.lower) {
    auto below = Clip(order, virtual_table.file, Intersection(order, virtual_table.bounds, {.upper = cut.lower}));
    if (below) kept->push_back(*std::move(below));
  }
  if (cut.upper) {
    auto above = Clip(order, virtual_table.file, Intersection(order, virtual_table.bounds, {.lower = cut.upper}));
    if (above) kept->push_back(*std::move(above));
  }
}

// REQUIRES: cut.lower < cut.upper
void CutVirtualTables(const kv::Order& order, const format::Bounds& cut, std::vector<VirtualTable>* virtual_tables) {
  const auto begin = std::partition_point(
      virtual_tables->begin(), virtual_tables->end(),
      [&](const VirtualTable& virtual_table) { return cut.lower && virtual_table.IsBefore(order, *cut.lower); });
  const auto end = std::partition_point(begin, virtual_tables->end(), [&](const VirtualTable& virtual_table) {
    return !cut.upper || order.CompareKeys(virtual_table.smallest(), *cut.upper) < 0;
  });
  std::vector<VirtualTable> kept;  // remains of the first and the last virtual table in the cut
  for (auto it = begin; it != end; ++it) {
    if (it == begin || it + 1 == end) Keep(order, *it, cut, &kept);
  }
  const auto at = virtual_tables->erase(begin, end);
  virtual_tables->insert(at, std::make_move_iterator(kept.begin()), std::make_move_iterator(kept.end()));
}

Status Overlaps(const VirtualTable& virtual_table, kv::Position position) {
  return Status::Corruption("VersionEdit adds table " + std::to_string(kv::ToInt(virtual_table.file->number)) +
                            " at '" + base::Escape(virtual_table.smallest()) +
                            "', where it overlaps another table of the run at position " +
                            std::to_string(kv::ToInt(position)));
}

// Both lists are in key order. Compares keys only near the added virtual tables.
Status InsertVirtualTables(const kv::Order& order, kv::Position position, Draft* draft) {
  base::HeapSort(draft->adds.begin(), draft->adds.end(), [&](const VirtualTable& a, const VirtualTable& b) {
    return order.CompareKeys(a.smallest(), b.smallest()) < 0;
  });
  std::vector<VirtualTable>& old_virtual_tables = draft->Slices();
  std::vector<VirtualTable> merged;
  merged.reserve(old_virtual_tables.size() + draft->adds.size());
  auto next = old_virtual_tables.begin();
  for (VirtualTable& add : draft->adds) {
    const auto place = std::partition_point(next, old_virtual_tables.end(), [&](const VirtualTable& virtual_table) {
      return virtual_table.IsBefore(order, add.smallest());
    });
    std::move(next, place, std::back_inserter(merged));
    next = place;
    if (!merged.empty() && !merged.back().IsBefore(order, add.smallest())) return Overlaps(add, position);
    if (next != old_virtual_tables.end() && !add.IsBefore(order, next->smallest())) return Overlaps(add, position);
    merged.push_back(std::move(add));
  }
  std::move(next, old_virtual_tables.end(), std::back_inserter(merged));
  draft->virtual_tables = std::move(merged);
  draft->adds.clear();
  return Status::Ok();
}

Status DraftAdds(const kv::Order& order, const Version& base, const format::VersionEdit& edit, Drafts* drafts) {
  for (const format::VersionEdit::Add& add : edit.adds) {
    if (!add.file) return Status::Corruption("VersionEdit adds no table");
    RETURN_IF_ERROR(CheckFile(order, *add.file));
    auto virtual_table = Clip(order, add.file, add.bounds);
    if (!virtual_table) {
      return Status::Corruption("VersionEdit adds table " + std::to_string(kv::ToInt(add.file->number)) +
                                " with bounds that contain none of its keys");
    }
    Draft* draft = FindDraft(base, add.position, drafts);
    if (!draft) draft = &drafts->emplace(add.position, Draft{.level = add.level}).first->second;
    draft->adds.push_back(*std::move(virtual_table));
  }
  for (auto& [position, draft] : *drafts) {
    if (!draft.adds.empty()) RETURN_IF_ERROR(InsertVirtualTables(order, position, &draft));
  }
  return Status::Ok();
}

RunPtr Finish(kv::Position position, Draft&& draft) {
  if (draft.virtual_tables_changed) {
    if (draft.virtual_tables.empty()) return nullptr;
    return std::make_shared<Run>(position, draft.level, std::move(draft.virtual_tables));
  }
  if (draft.level == draft.base->level()) return draft.base;
  return std::make_shared<Run>(*draft.base, draft.level);
}

// The blob files of `base` and those that `edit` adds, sorted by number.
std::vector<format::BlobFilePtr> BlobFilesOf(const Version& base, const format::VersionEdit& edit) {
  std::vector<format::BlobFilePtr> files;
  files.reserve(base.blob_files().size() + edit.blob_files.size());
  for (const BlobFile& each : base.blob_files()) files.push_back(each.file);
  for (const auto& add : edit.blob_files) files.push_back(add.file);
  if (!edit.blob_files.empty()) {
    std::ranges::stable_sort(files, {}, [](const format::BlobFilePtr& file) { return file->number; });
  }
  return files;
}

// Removes duplicates from files sorted by number. Two different descriptions of one number are Corruption.
Status KeepEachOnce(std::vector<format::BlobFilePtr>* files) {
  const auto is_same = [](const format::BlobFilePtr& a, const format::BlobFilePtr& b) {
    return a->number == b->number;
  };
  for (auto at = files->begin(); (at = std::adjacent_find(at, files->end(), is_same)) != files->end(); ++at) {
    if (**at != **(at + 1)) {
      return Status::Corruption("VersionEdit adds blob file " + std::to_string(kv::ToInt((*at)->number)) +
                                ", but the version has another blob file of this number");
    }
  }
  files->erase(std::unique(files->begin(), files->end(), is_same), files->end());
  return {};
}

VersionPtr Assemble(const Version& base, const std::vector<format::BlobFilePtr>& blob_files, Drafts&& drafts) {
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
  return std::make_shared<Version>(std::move(runs), blob_files);
}

}  // namespace

Result<VersionPtr> ApplyEdit(const kv::Order& order, const Version& base, const format::VersionEdit& edit) {
  Drafts drafts;
  for (const format::VersionEdit::Cut& cut : edit.cuts) {
    const bool is_closed = cut.bounds.lower && cut.bounds.upper;
    const int limits = is_closed ? order.CompareKeys(*cut.bounds.lower, *cut.bounds.upper) : -1;
    if (limits == 0) continue;
    if (limits > 0) {
      return Status::Corruption("VersionEdit has a cut with lower bound '" + base::Escape(*cut.bounds.lower) +
                                "' and upper bound '" + base::Escape(*cut.bounds.upper) + "'");
    }
    if (Draft* draft = FindDraft(base, cut.position, &drafts)) CutVirtualTables(order, cut.bounds, &draft->Slices());
  }
  RETURN_IF_ERROR(DraftAdds(order, base, edit, &drafts));
  for (const format::VersionEdit::SetLevel& change : edit.levels) {
    if (Draft* draft = FindDraft(base, change.position, &drafts)) draft->level = change.level;
  }
  std::vector<format::BlobFilePtr> blob_files = BlobFilesOf(base, edit);
  if (!edit.blob_files.empty()) RETURN_IF_ERROR(KeepEachOnce(&blob_files));
  VersionPtr next = Assemble(base, blob_files, std::move(drafts));
  if (next->missing_blob_file() != kv::FileNumber{}) RETURN_IF_ERROR(CheckBlobFilesThere(*next));
  return next;
}

format::VersionEdit VersionEditFromEmpty(const Version& version) {
  format::VersionEdit edit;
  for (const RunPtr& run : version.runs()) {
    for (const VirtualTable& virtual_table : run->virtual_tables()) {
      edit.adds.push_back({.position = run->position(),
                           .level = run->level(),
                           .file = virtual_table.file,
                           .bounds = virtual_table.bounds});
    }
  }
  for (const BlobFile& each : version.blob_files()) edit.blob_files.push_back({each.file});
  return edit;
}

}  // namespace mergedb::version
