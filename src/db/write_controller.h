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
#include <functional>

#include "db/options_check.h"
#include "picker/picker.h"
#include "read/super_version.h"
#include "write/write_delay.h"

namespace mergedb::db {

class WriteController {
 public:
  WriteController(const Options& options, const MemoryPlan& memory, std::function<uint64_t()> wal_backlog,
                  write::WriteDelay& write_delay);

  // `input` describes the version of `super_version`, the current one; its urgency does not count.
  void UpdateTree(const read::SuperVersion& super_version, picker::PickInput input);
  // Sets the rate of delayed writes from the memory in use now and the state of the tree at the last UpdateTree.
  void UpdateDelay(const read::SuperVersion& super_version);

  // Output bytes of a compaction job between two releases: large, but a small database must not hold its data twice.
  uint64_t release_bytes() const { return release_bytes_; }
  // Bytes of recycled files that may stay, if all other files have `other_bytes`.
  uint64_t RecycledBytesMax(picker::Urgency urgency, uint64_t other_bytes) const;
  // How long to rest after the removal of a recycled file, with `backlog_bytes` left to remove.
  uint64_t RemovalRestNanos(uint64_t took_nanos, uint64_t backlog_bytes) const;

 private:
  const Options& options_;
  const MemoryPlan& memory_;
  const std::function<uint64_t()> wal_backlog_;
  write::WriteDelay& write_delay_;
  const uint64_t release_bytes_;

  // Of the tree at the last UpdateTree.
  std::atomic<uint64_t> allowed_bytes_{0};        // on disk, by the space bound at urgency kWriting
  std::atomic<uint64_t> allowed_quiet_bytes_{0};  // and at urgency kQuiet
  std::atomic<uint64_t> runs_{0};
  std::atomic<uint64_t> upper_bytes_{0};  // above the space bound
  std::atomic<uint64_t> upper_bytes_max_{0};
};

}  // namespace mergedb::db
