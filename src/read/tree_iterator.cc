#include "read/tree_iterator.h"

#include <algorithm>
#include <utility>

#include "iterator/snapshot_filter.h"
#include "read/range_tombstones.h"
#include "read/run_iterator.h"

namespace mergedb::read {

std::unique_ptr<kv::Iterator> NewTreeIterator(const TreeIteratorContext& context, const SuperVersion& super_version,
                                              kv::Sequence sequence, const format::Bounds& bounds,
                                              const table::ReadControl& control, Overlay overlay) {
  iterator::MaskingInput input{.children = {}, .masks = {}, .lower = bounds.lower, .upper = bounds.upper};
  auto& children = input.children;
  children.reserve(2 + super_version.immutable.size() + super_version.version->runs().size());
  const bool is_shared = overlay.is_shared && overlay.versions != nullptr;
  const auto add_child = [&](std::unique_ptr<kv::Iterator> child) {
    if (is_shared) child = iterator::NewSnapshotFilter(context.order, sequence, std::move(child));
    children.push_back(std::move(child));
  };
  if (overlay.versions != nullptr) children.push_back(std::move(overlay.versions));
  if (overlay.masks != nullptr)
    input.masks.push_back({.source = std::move(overlay.masks), .first_older = children.size()});
  const auto add_memtable = [&](const std::shared_ptr<memtable::Memtable>& memtable) {
    memtable::Memtable& table = *memtable;
    if (context.kept != nullptr && table.HasUpTo(sequence)) context.kept->Keep(memtable);
    if (table.entries() > 0) add_child(table.NewIterator());
    if (table.range_deletes().empty()) return;
    input.masks.push_back({.source = NewMemtableMasks(table, sequence), .first_older = children.size()});
  };
  add_memtable(super_version.active);
  for (const auto& table : super_version.immutable) add_memtable(table);
  for (const version::RunPtr& run : super_version.version->runs()) {
    const auto [first, last] = run->Overlap(context.order, bounds);
    if (first == last) continue;
    if (run->entries() > 0)
      add_child(NewRunIterator(
          context.order, run, bounds,
          [&tables = context.tables, kept = context.kept, control](const version::VirtualTable& virtual_table) {
            auto reader = tables.Open(virtual_table.file);
            if (!reader) return kv::NewEmptyIterator(reader.error());
            if (kept != nullptr) kept->Keep(virtual_table.file, *reader);
            return (*reader)->NewIterator(control, *reader);
          },
          control.skipped));
    const auto& with_ranges = run->virtual_tables_with_ranges();
    const auto in_bounds = std::lower_bound(with_ranges.begin(), with_ranges.end(), first);
    if (in_bounds == with_ranges.end() || *in_bounds >= last) continue;
    input.masks.push_back({.source = NewRunMasks(context.order, context.tables, run, sequence, control.skipped),
                           .first_older = children.size()});
  }
  return iterator::NewMaskingIterator(context.order, std::move(input));
}

}  // namespace mergedb::read
