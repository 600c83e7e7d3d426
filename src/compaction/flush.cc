#include "compaction/flush.h"

#include <algorithm>
#include <utility>

#include "base/zoo.h"

namespace mergedb::compaction {
namespace {

// A guess at what is left of an entry in the table when its value is not.
constexpr uint64_t kEntryBytes = 64;

}  // namespace

Result<Flushed> Flush(const TableFactory& factory, memtable::Memtable& sealed, std::vector<kv::Sequence> snapshots,
                      Compression compression, stream::CollapseCounts* counts) {
  if (ZOO(kSnapshotIgnoredByFlush)) snapshots.clear();
  auto input = stream::NewCollapsingIterator(factory.order, {.snapshots = std::move(snapshots)},
                                             sealed.NewFlushIterator(), counts);
  const uint64_t bytes = sealed.bytes_used();
  const bool separates = AreWorthAValueFile(factory, sealed.entries(), bytes);
  Outputs outputs(factory, {.compression = compression,
                            .bytes_expected = separates ? std::min(bytes, sealed.entries() * kEntryBytes) : bytes,
                            .value_bytes_expected = bytes,
                            .separates_values = separates});
  for (input->SeekToFirst(); input->Valid(); input->Next()) RETURN_IF_ERROR(outputs.Add(input->entry()));
  RETURN_IF_ERROR(input->status());
  RETURN_IF_ERROR(outputs.Finish());
  auto tables = outputs.Take();
  return Flushed{.table = tables.empty() ? nullptr : tables.front(), .value_files = outputs.TakeValueFiles()};
}

}  // namespace mergedb::compaction
