#include "compaction/flush.h"

#include <utility>

#include "base/zoo.h"

namespace mergedb::compaction {

Result<format::FileMetaPtr> Flush(const TableFactory& factory, memtable::Memtable& sealed,
                                  std::vector<kv::Sequence> snapshots, Compression compression,
                                  stream::CollapseCounts* counts) {
  if (ZOO(kSnapshotIgnoredByFlush)) snapshots.clear();
  auto input = stream::NewCollapsingIterator(factory.order, {.snapshots = std::move(snapshots), .operators = factory.operators},
                                             sealed.NewFlushIterator(), counts);
  Outputs outputs(factory, {.compression = compression, .bytes_expected = sealed.bytes_used()});
  for (input->SeekToFirst(); input->Valid(); input->Next()) RETURN_IF_ERROR(outputs.Add(input->entry()));
  RETURN_IF_ERROR(input->status());
  RETURN_IF_ERROR(outputs.Finish());
  auto tables = outputs.Take();
  return tables.empty() ? nullptr : tables.front();
}

}  // namespace mergedb::compaction
