#include "compaction/masked_bytes.h"

#include <string>

namespace mergedb::compaction {
namespace {

// One tombstone and one run cost two index searches: 256 tombstones at 16 runs take 2 ms.
constexpr size_t kSampleMax = 256;

// The bytes of the run in `range`, with the values that it refers to. Assumes that the values are spread over
// a table as its own bytes are.
uint64_t BytesUnder(const kv::Order& order, table::Cache& tables, const version::Run& run,
                    const format::Bounds& range) {
  const auto [first, last] = run.Overlap(order, range);
  uint64_t bytes = 0;
  for (size_t i = first; i < last; ++i) {
    const version::VirtualTable& virtual_table = run.virtual_tables()[i];
    const format::Bounds shown = version::Intersection(order, virtual_table.bounds, range);
    const auto clipped = version::Clip(order, virtual_table.file, shown);
    if (!clipped) continue;
    if (clipped->is_whole()) {
      bytes += virtual_table.file->bytes + virtual_table.file->value_bytes();
      continue;
    }
    const auto reader = tables.Open(virtual_table.file);
    if (!reader) continue;  // the compaction that reads the table reports the error
    const uint64_t from = clipped->bounds.lower ? (*reader)->ApproximateOffset(*clipped->bounds.lower) : 0;
    const uint64_t to =
        clipped->bounds.upper ? (*reader)->ApproximateOffset(*clipped->bounds.upper) : virtual_table.file->bytes;
    if (to <= from) continue;
    const double share = static_cast<double>(to - from) / static_cast<double>(virtual_table.file->bytes);
    bytes += to - from + static_cast<uint64_t>(share * static_cast<double>(virtual_table.file->value_bytes()));
  }
  return bytes;
}

}  // namespace

uint64_t EstimateMaskedBytes(const kv::Order& order, table::Cache& tables, const version::Version& version,
                             kv::Position older_than, const kv::RangeTombstones& tombstones) {
  const size_t step = (tombstones.size() + kSampleMax - 1) / kSampleMax;
  uint64_t bytes = 0;
  for (size_t i = 0; i < tombstones.size(); i += step) {
    const format::Bounds range{.lower = std::string(tombstones.begin(i)), .upper = std::string(tombstones.end(i))};
    for (const version::RunPtr& run : version.runs()) {
      if (run->position() < older_than) bytes += BytesUnder(order, tables, *run, range);
    }
  }
  return bytes * step;
}

}  // namespace mergedb::compaction
