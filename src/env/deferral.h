// Lets a point read stop before it waits for the device, so that one thread has reads for many keys in flight
// (docs/decisions/0059-multiget.md).
//
//   key a   search ─► miss: WillRead │                          │ ReadAt, verify ─► value
//   key b                            │ search ─► miss: WillRead │                  ReadAt, verify ─► value
//
// A reader that misses the block cache asks Waits. If the answer is true, it gives the file a hint, and the search
// returns Progress::kWaits. The caller keeps the search, looks up other keys, and calls Continue. The search then asks
// again, reads the bytes, and calls Pass. Each step of a search waits at most once, so every search ends.
// THREADS: one at a time. Tests: tests/unit/env/deferral_test.cc, tests/db/multi_get_test.cc.
#pragma once

#include <cstdint>
#include <utility>

#include "mergedb/status.h"

namespace mergedb::env {

// What a read without an error has come to. kWaits: it has no result, and goes on after Deferral::Continue.
enum class Progress { kDone, kWaits };

// An error, or what the read has come to. WHY not Result<Progress>: its moves and destructors were 4 % of the
// instructions of a get (callgrind, readrandom).
class [[nodiscard]] ReadResult {
 public:
  ReadResult(Progress progress) : progress_(progress) {}   // NOLINT: implicit, as a Result
  ReadResult(Status error) : status_(std::move(error)) {}  // NOLINT: the same. REQUIRES: an error
  bool has_value() const { return status_.ok(); }
  explicit operator bool() const { return has_value(); }
  Progress value() const { return progress_; }
  bool waits() const { return progress_ == Progress::kWaits; }
  const Status& error() const& { return status_; }
  Status error() && { return std::move(status_); }
  // OK, or the error of a read that does not wait.
  Status status() && { return std::move(status_); }

 private:
  Status status_;
  Progress progress_ = Progress::kDone;
};

class Deferral {
 public:
  struct Extent {  // of a file
    uint64_t file = ~uint64_t{0};
    uint64_t offset = 0;
    uint64_t bytes = 0;
  };

  // True: the caller hints that it will read the extent, and returns Progress::kWaits.
  bool Waits(const Extent& extent) {
    if (!WouldWait(extent.file, extent.offset)) return false;
    hinted_ = extent;
    return true;
  }
  // Waits would return true.
  bool WouldWait(uint64_t file, uint64_t offset) const {
    return !reads_ && (hinted_.file != file || hinted_.offset != offset);
  }

  // REQUIRES: the last step waits. All reads up to the next Pass are done at once.
  void Continue() { reads_ = true; }
  // The step that waited is done: the next read may wait again.
  void Pass() { reads_ = false; }

  uint64_t hinted_bytes() const { return hinted_.bytes; }

 private:
  Extent hinted_;
  bool reads_ = false;
};

}  // namespace mergedb::env
