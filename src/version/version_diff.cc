#include "version/version_diff.h"

#include <algorithm>
#include <string>

namespace mergedb::version {
namespace {

bool SameVirtualTable(const VirtualTable& a, const VirtualTable& b) {
  return a.file->number == b.file->number && a.bounds == b.bounds;
}

// Replaces the differing virtual tables in the middle: one cut and some adds.
//
//   source  [a][b][c]   [d][e]
//   target  [a][b]  [x y][d][e]         cut [c.smallest, d.smallest), add x y
void DiffRun(const kv::Order& order, const Run& source, const Run& target, format::VersionEdit* edit) {
  const auto& from = source.virtual_tables();
  const auto& to = target.virtual_tables();
  const size_t shared = std::min(from.size(), to.size());
  size_t head = 0;
  while (head < shared && SameVirtualTable(from[head], to[head])) ++head;
  size_t tail = 0;
  while (tail < shared - head && SameVirtualTable(from[from.size() - 1 - tail], to[to.size() - 1 - tail])) ++tail;

  if (head + tail < from.size()) {
    format::Bounds cut;
    if (head > 0) {
      std::string_view lower = from[head].smallest();
      if (head + tail < to.size() && order.CompareKeys(to[head].smallest(), lower) < 0) lower = to[head].smallest();
      cut.lower = std::string(lower);
    }
    if (tail > 0) cut.upper = std::string(from[from.size() - tail].smallest());
    edit->cuts.push_back({.position = source.position(), .bounds = std::move(cut)});
  }
  for (size_t i = head; i + tail < to.size(); ++i) {
    edit->adds.push_back(
        {.position = target.position(), .level = target.level(), .file = to[i].file, .bounds = to[i].bounds});
  }
  if (source.level() != target.level())
    edit->levels.push_back({.position = target.position(), .level = target.level()});
}

}  // namespace

format::VersionEdit DiffVersions(const kv::Order& order, const Version& source, const Version& target) {
  format::VersionEdit edit;
  for (const RunPtr& run : source.runs()) {
    if (target.FindRun(run->position()) == nullptr) edit.cuts.push_back({.position = run->position(), .bounds = {}});
  }
  for (const RunPtr& run : target.runs()) {
    const RunPtr before = source.FindRun(run->position());
    if (before == run) continue;
    DiffRun(order, before != nullptr ? *before : Run(run->position(), run->level(), {}), *run, &edit);
  }
  for (const BlobFile& each : target.blob_files()) {
    if (source.FindBlobFile(each.file->number) == nullptr) edit.blob_files.push_back({each.file});
  }
  return edit;
}

}  // namespace mergedb::version
