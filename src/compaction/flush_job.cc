#include "compaction/flush_job.h"

#include <algorithm>
#include <utility>

#include "iterator/range_tombstone_filter.h"

namespace mergedb::compaction {
namespace {

// Estimated bytes of an entry in the table if its value goes to a blob file.
constexpr uint64_t kEntryBytes = 64;

}  // namespace

Result<Flushed> Flush(const TableFactory& factory, memtable::Memtable& immutable, std::vector<kv::Sequence> snapshots,
                      Compression compression, iterator::CompactionIteratorCounts* counts,
                      std::function<uint64_t(const kv::RangeTombstones&)> masked_bytes, LiveSample::Changes* sampled) {
  const kv::Stripes stripes(std::move(snapshots));
  const auto ranges = kv::RangeTombstones::Fragment(factory.order, immutable.range_deletes().All(), stripes,
                                                    kv::RangeTombstones::Keys::kViews);
  auto survivors =
      iterator::NewRangeTombstoneFilter(factory.order, ranges, stripes, immutable.NewFlushIterator(), &counts->masked);
  auto input = iterator::NewCompactionIterator(factory.order, {.stripes = stripes, .operators = factory.operators},
                                               std::move(survivors), counts);
  const uint64_t bytes = immutable.bytes_used();
  const bool separates = AreWorthABlobFile(factory, immutable.entries(), bytes);
  Outputs outputs(factory,
                  {.compression = compression,
                   .bytes_expected = separates ? std::min(bytes, immutable.entries() * kEntryBytes) : bytes,
                   .value_bytes_expected = bytes,
                   .range_tombstones = ranges,
                   .stripes = stripes,
                   .masked_bytes = std::move(masked_bytes),
                   // All changes of the database with these sequences are in this memtable.
                   .compacted_ranges = {{.from = immutable.oldest_sequence(), .sequence = immutable.newest_sequence()}},
                   .separates_values = separates});
  Flushed flushed;
  // The iterator passes the versions that it drops in the Next after the version that it kept.
  const auto note_dropped = [&](uint64_t dropped) {
    if (dropped <= flushed.hot_key_versions) return;
    flushed.hot_key_versions = dropped;
    flushed.hot_key = outputs.last_key();
  };
  uint64_t hidden = 0;
  for (input->SeekToFirst(); input->Valid(); input->Next()) {
    note_dropped(counts->hidden - std::exchange(hidden, counts->hidden));
    if (sampled != nullptr) sampled->Add(input->entry());
    RETURN_IF_ERROR(outputs.Add(input->entry()));
  }
  RETURN_IF_ERROR(input->status());
  note_dropped(counts->hidden - hidden);
  RETURN_IF_ERROR(outputs.Finish());
  auto tables = outputs.Take();
  flushed.table = tables.empty() ? nullptr : tables.front();
  flushed.blob_files = outputs.TakeBlobFiles();
  return flushed;
}

}  // namespace mergedb::compaction
