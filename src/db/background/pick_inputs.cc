#include "db/background/pick_inputs.h"

#include <algorithm>

namespace mergedb::db {

picker::PickInput PickInputs::For(const version::Version& version, std::span<const picker::RunningCompaction> running,
                                  picker::Urgency urgency) const {
  return {.version = version,
          .running = running,
          .style = options_.style,
          .urgency = urgency,
          .flush_bytes = flush_bytes_,
          .flushed_bytes = flushed_bytes_.load(std::memory_order_relaxed),
          .live_bytes_known = live_sample_.BytesAtLeast(),
          .scattered_bytes = scattered_bytes_.load(std::memory_order_relaxed),
          .extra_run_visits = run_visits_.load(std::memory_order_relaxed),
          .order = order_,
          .oldest_snapshot = OldestSnapshot(),
          .unreadable = unreadable_.In(version),
          .sources_max = sources_max_.load(std::memory_order_relaxed)};
}

// WHY relaxed, in both methods: a pick may have the old limit once more.
bool PickInputs::HalveSources(size_t sources) {
  constexpr size_t kSourcesLeast = 2;
  compacted_in_row_.store(0, std::memory_order_relaxed);
  if (sources <= kSourcesLeast) return false;
  const size_t before = sources_max_.load(std::memory_order_relaxed);
  sources_max_.store(std::max(kSourcesLeast, std::min(before, sources / 2)), std::memory_order_relaxed);
  NoteChange();
  return true;
}

void PickInputs::NoteCompacted() {
  constexpr size_t kInRow = 16;
  const size_t before = sources_max_.load(std::memory_order_relaxed);
  if (before == picker::kSourcesMax || compacted_in_row_.fetch_add(1, std::memory_order_relaxed) + 1 < kInRow) return;
  compacted_in_row_.store(0, std::memory_order_relaxed);
  sources_max_.store(std::min(2 * before, picker::kSourcesMax), std::memory_order_relaxed);
}

kv::Sequence PickInputs::OldestSnapshot() const {
  const Snapshots::Oldest oldest = snapshots_.oldest();
  return oldest.count > 0 ? oldest.sequence : kv::kSequenceMax;
}

void PickInputs::CapRunVisits(uint64_t visits_max) {
  if (run_visits_.load(std::memory_order_relaxed) > visits_max)
    run_visits_.store(visits_max, std::memory_order_relaxed);
}

void PickInputs::SpendRunVisits(uint64_t visits) {
  const uint64_t before = run_visits_.load(std::memory_order_relaxed);
  run_visits_.store(before - std::min(before, visits), std::memory_order_relaxed);
}

// No sample if bottommost tables use another codec: a full compaction may then leave fewer bytes than the flushed
// tables suggest.
void PickInputs::NoteFlush(const compaction::LiveSample::Changes& sampled, const compaction::Flushed& flushed) {
  const uint64_t bytes = flushed.bytes();
  const CompressionByTier& compression = options_.compression;
  if (compression.bottom == compression.upper || compression.bottom == Compression::kNone) {
    live_sample_.Apply(sampled, bytes);
    if (flushed.table != nullptr && flushed.table->range_tombstones > 0) live_sample_.Forget();
  }
  flushed_bytes_.store(bytes, std::memory_order_relaxed);
  NoteChange();
}

}  // namespace mergedb::db
