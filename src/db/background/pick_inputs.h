// What a pick depends on, besides the version and the running compactions: the settings, the oldest snapshot, the size
// of the last flush, an estimate of the live bytes, what reads have paid for (scattered values, visits of runs), what
// cannot be read, and how many sources have file descriptors. A
// generation counts the changes of the tree and of the requests: if it is the same, a pick that found nothing need not
// be repeated.
//
// THREADS: any; one thread at a time calls BeginSample and NoteFlush.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "compaction/flush_job.h"
#include "compaction/live_sample.h"
#include "compaction/unreadable_inputs.h"
#include "db/state/snapshots.h"
#include "mergedb/options.h"
#include "picker/picker.h"

namespace mergedb::db {

class PickInputs {
 public:
  PickInputs(const Options& options, uint64_t flush_bytes, const kv::Order& order, const Snapshots& snapshots)
      : options_(options), flush_bytes_(flush_bytes), order_(order), snapshots_(snapshots), unreadable_(order) {}

  picker::PickInput For(const version::Version& version, std::span<const picker::RunningCompaction> running,
                        picker::Urgency urgency) const;
  kv::Sequence OldestSnapshot() const;  // kSequenceMax if there is none

  uint64_t generation() const { return generation_.load(std::memory_order_relaxed); }
  void NoteChange() { generation_.fetch_add(1, std::memory_order_relaxed); }

  // Scans read `bytes` of scattered values.
  void AddScattered(uint64_t bytes) { scattered_bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  // A compaction for them begins, or none can help.
  void ResetScattered() { scattered_bytes_.store(0, std::memory_order_relaxed); }

  // Seeks visited `visits` runs beside the first one: a credit for compactions.
  void AddRunVisits(uint64_t visits) { run_visits_.fetch_add(visits, std::memory_order_relaxed); }
  void CapRunVisits(uint64_t visits_max);
  // A compaction for reads begins.
  void SpendRunVisits(uint64_t visits);

  compaction::UnreadableInputs& unreadable() { return unreadable_; }
  const compaction::UnreadableInputs& unreadable() const { return unreadable_; }

  // A compaction of so many sources found too few file descriptors: the next ones have at most half as many. False: it
  // had the fewest already.
  bool HalveSources(size_t sources);
  // A compaction has ended well. After several of them in a row, compactions may have twice as many sources.
  void NoteCompacted();

  compaction::LiveSample::Changes BeginSample() const { return live_sample_.Begin(); }
  // The flush is installed.
  void NoteFlush(const compaction::LiveSample::Changes& sampled, const compaction::Flushed& flushed);

 private:
  const Options& options_;
  const uint64_t flush_bytes_;  // size of a memtable
  const kv::Order& order_;
  const Snapshots& snapshots_;
  std::atomic<uint64_t> generation_{1};
  std::atomic<uint64_t> flushed_bytes_{0};  // of the last flush
  std::atomic<uint64_t> scattered_bytes_{0};
  std::atomic<uint64_t> run_visits_{0};
  std::atomic<size_t> sources_max_{picker::kSourcesMax};
  std::atomic<size_t> compacted_in_row_{0};
  compaction::LiveSample live_sample_;
  compaction::UnreadableInputs unreadable_;
};

}  // namespace mergedb::db
