#include "compaction/range_inputs.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

namespace mergedb::compaction {

Result<kv::RangeTombstones> GatherRangeTombstones(const kv::Order& order, table::Cache& tables,
                                                  const std::vector<version::RunPtr>& sources,
                                                  const format::Bounds& bounds, const kv::Stripes& stripes,
                                                  std::optional<FailedInput>* failed) {
  // Owners of the bytes that the views in `all` point to, until Fragment copies them. WHY a deque: its
  // elements do not move.
  std::vector<std::shared_ptr<table::Reader>> readers;
  std::deque<format::Bounds> limits;
  std::vector<kv::RangeTombstone> all;
  for (const version::RunPtr& run : sources) {
    const auto [first, last] = run->Overlap(order, bounds);
    for (const uint32_t index : run->virtual_tables_with_ranges()) {
      if (index < first || index >= last) continue;
      const version::VirtualTable& virtual_table = run->virtual_tables()[index];
      auto opened = tables.Open(virtual_table.file);
      if (!opened) {
        if (failed != nullptr) *failed = FailedInput{.file = virtual_table.file->number, .keys = {}};
        return opened.error();
      }
      std::shared_ptr<table::Reader> reader = std::move(*opened);
      const format::Bounds& shown = limits.emplace_back(version::Intersection(order, virtual_table.bounds, bounds));
      reader->range_tombstones().AppendTo(order, shown.lower, shown.upper, &all);
      readers.push_back(std::move(reader));
    }
  }
  return kv::RangeTombstones::Fragment(order, std::move(all), stripes, kv::RangeTombstones::Keys::kCopies);
}

kv::RangeTombstones PassedOn(const kv::Order& order, const kv::RangeTombstones& gathered, const kv::Stripes& stripes,
                             bool is_bottommost) {
  if (!is_bottommost || gathered.empty() || !gathered.is_complete()) return gathered;
  std::vector<kv::RangeTombstone> all;
  gathered.AppendTo(order, {}, {}, &all);
  std::erase_if(all, [&](const kv::RangeTombstone& each) { return stripes.Of(each.sequence) == 0; });
  return kv::RangeTombstones::Fragment(order, std::move(all), stripes, kv::RangeTombstones::Keys::kCopies);
}

bool IsHidden(const kv::Order& order, const kv::RangeTombstones& tombstones, const kv::Stripes& stripes,
              const version::VirtualTable& virtual_table) {
  const size_t stripe = stripes.Of(virtual_table.file->smallest_sequence);
  size_t i = tombstones.FindIndex(order, virtual_table.smallest());
  if (i == tombstones.size() || order.CompareKeys(tombstones.begin(i), virtual_table.smallest()) > 0) return false;
  for (;; ++i) {
    const auto sequences = tombstones.sequences(i);
    const bool hides = std::any_of(sequences.begin(), sequences.end(), [&](kv::Sequence each) {
      return each > virtual_table.file->largest_sequence && stripes.Of(each) == stripe;
    });
    if (!hides) return false;
    if (virtual_table.IsBefore(order, tombstones.end(i))) return true;
    if (i + 1 == tombstones.size() || !order.SameKey(tombstones.begin(i + 1), tombstones.end(i))) return false;
  }
}

}  // namespace mergedb::compaction
