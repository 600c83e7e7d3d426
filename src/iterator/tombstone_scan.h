// Detects tombstone-heavy scans: moves of a reader that pass over many hidden entries (deleted keys and their
// tombstones).
//
//   SeekToFirst   [x x x x x x x x x x x x x x x x x x x x x] shown        x: hidden
//                        lower ....................... upper
//
// The front of a queue looks like this: every move that starts there passes over all keys popped since the
// last compaction. The callback lets the database start a scan-triggered compaction of [lower, upper). No
// entry of the range remains after it, so the compaction costs about as much as one such move.
// INVARIANT: at the reader's sequence no key in [lower, upper) is visible, except perhaps `lower`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/perf.h"

namespace mergedb::iterator {

struct TombstoneScan {
  std::optional<std::string> lower = {};  // inclusive; nullopt: open
  std::optional<std::string> upper = {};  // exclusive; nullopt: open
  uint64_t entries = 0;                   // that the move passed over
};

// MEASURED: full_size_test Queue: passing over an entry costs 60-100 ns, so a move that is not reported takes
// less than 0.1 ms.
inline constexpr uint64_t kTombstoneScanEntries = 1024;

// THREADS: not for two threads at once.
class TombstoneScanMeter {
 public:
  explicit TombstoneScanMeter(std::function<void(TombstoneScan)> on_tombstone_scan)
      : on_tombstone_scan_(std::move(on_tombstone_scan)) {}

  void Begin() { hidden_ = 0; }
  void Pass(std::string_view key) {
    if (PerfContext* const perf = base::thread_perf) [[unlikely]]
      ++perf->tombstones_skipped;
    if (++hidden_ == kUnmeasured) [[unlikely]]
      from_ = key;
  }
  // The move ends. `key`: the key shown, or the bound that ends the move; nullopt: the input has no more entries.
  void EndForward(std::optional<std::string_view> key) {
    if (hidden_ >= kTombstoneScanEntries && on_tombstone_scan_) [[unlikely]]
      on_tombstone_scan_({.lower = from_, .upper = Copy(key), .entries = hidden_});
  }
  void EndBackward(std::optional<std::string_view> key) {
    if (hidden_ >= kTombstoneScanEntries && on_tombstone_scan_) [[unlikely]]
      on_tombstone_scan_({.lower = Copy(key), .upper = from_, .entries = hidden_});
  }

 private:
  // WHY not the first hidden key: a copy in each move that hides an entry would be measurable; a copy only
  // after this many hidden entries is not.
  static constexpr uint64_t kUnmeasured = 64;

  static std::optional<std::string> Copy(std::optional<std::string_view> key) {
    return key ? std::optional<std::string>(*key) : std::nullopt;
  }

  const std::function<void(TombstoneScan)> on_tombstone_scan_;
  uint64_t hidden_ = 0;
  std::string from_;
};

}  // namespace mergedb::iterator
