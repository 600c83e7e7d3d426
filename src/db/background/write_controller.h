// Keeps the tree within its space bound while writes come: sets the rate of delayed writes from the backlog, and
// says how many bytes of recycled files the bound leaves room for.
//
//   memory in use, sorted runs, bytes above the space bound ──> picker::DelayNanos ──> write::WriteDelay
//   bytes that the space bound allows, less those of other files ──> recycled files that may stay
//
// THREADS: any. Tests: tests/unit/db/write_controller_test.cc.
#pragma once

#include <atomic>
#include <cstdint>

#include "db/state/events.h"
#include "db/state/obsolete_files.h"
#include "db/state/options_check.h"
#include "db/state/version_set.h"
#include "picker/picker.h"
#include "read/super_version.h"
#include "wal/current_wal.h"
#include "write/write_delay.h"

namespace mergedb::db {

class WriteController {
 public:
  // Where the backlog is read, and who is told of each rate.
  struct Gauges {
    const VersionSet& version_set;  // what waits for a commit
    const ObsoleteFiles& obsolete;  // what waits to be recycled or removed
    Stalls& stalls;
    const wal::CurrentWal& wal;
  };
  WriteController(const Options& options, const MemoryPlan& memory, const Gauges& gauges,
                  write::WriteDelay& write_delay);

  // `input` describes the version of `super_version`, the current one; its urgency does not count.
  void UpdateTree(const read::SuperVersion& super_version, picker::PickInput input);
  // Sets the rate of delayed writes from the memory in use, the files that wait for a commit or a purge and the running
  // compactions of now, and from the state of the tree at the last UpdateTree.
  void UpdateDelay(const read::SuperVersion& super_version);

  // Output bytes of a compaction job between two publications: large, but a small database must not hold its data
  // twice.
  uint64_t publication_bytes() const { return publication_bytes_; }
  // The running compactions may write so many bytes before they publish again.
  void NoteRunning(uint64_t output_bytes_max) { output_bytes_max_.store(output_bytes_max, std::memory_order_relaxed); }
  // The running compactions have written so many bytes that are not published yet.
  void NoteUnpublished(uint64_t output_bytes) { output_bytes_.store(output_bytes, std::memory_order_relaxed); }
  // Near the space bound while files wait for a commit that would release them.
  bool NeedsCommit() const { return gauges_.version_set.unreleased_bytes() > 0 && UpperBytes() > 0; }
  // Near the space bound while released files wait to be recycled or removed.
  bool NeedsPurge() const { return gauges_.obsolete.unpurged_bytes() > 0 && UpperBytes() > 0; }
  // Writes are delayed by the maximum because of the space bound.
  bool IsFull() const;
  // What the space bound allows for tables, blob files and recycled files while writes come.
  uint64_t limit_bytes() const { return limit_bytes_.load(std::memory_order_relaxed); }
  // Bytes of recycled files that may stay, if all other files have `other_bytes`.
  uint64_t RecycledBytesMax(picker::Urgency urgency, uint64_t other_bytes) const;
  // How long to rest after the removal of a recycled file, with `backlog_bytes` left to remove.
  uint64_t RemovalRestNanos(uint64_t took_nanos, uint64_t backlog_bytes) const;

 private:
  uint64_t UnflushedBytesMax() const { return memory_.memtables_max * memory_.memtable_bytes; }
  // Bytes on disk, with the outputs that running compactions may write, above those where the delay begins to count.
  uint64_t UpperBytes() const;

  const Options& options_;
  const MemoryPlan& memory_;
  const Gauges gauges_;
  write::WriteDelay& write_delay_;
  const uint64_t publication_bytes_;

  // Of the tree at the last UpdateTree.
  std::atomic<uint64_t> limit_bytes_{0};          // picker::SpaceLimit
  std::atomic<uint64_t> allowed_quiet_bytes_{0};  // on disk, by the space bound at urgency kQuiet
  std::atomic<uint64_t> runs_{0};
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> collected_bytes_max_{0};
  std::atomic<uint64_t> upper_bytes_max_{0};  // where the delay reaches its maximum
  // Of the running compactions.
  std::atomic<uint64_t> output_bytes_{0};  // not published
  std::atomic<uint64_t> output_bytes_max_{0};
};

}  // namespace mergedb::db
