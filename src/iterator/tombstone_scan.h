// How much a reader's move passes over without showing any of it: deleted keys and what deleted them.
//
//   SeekToFirst   [x x x x x x x x x x x x x x x x x x x x x] shown        x: hidden
//                        lower ....................... upper
//
// A queue's front looks so: every move that starts there wades through all that was popped since the last merge. Whoever can
// merge those keys away is told of them: nothing of them is left by then, so the merge costs what one such move does.
// INVARIANT: at the reader's sequence no key in [lower, upper) shows, but perhaps `lower` itself.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace mergedb::iterator {

struct TombstoneScan {
  std::optional<std::string> lower = {};  // included
  std::optional<std::string> upper = {};  // not included
};

// MEASURED: full_size_test Queue: passing over an entry costs 60-100 ns, so a move that is not told of stays below 0.2 ms.
inline constexpr uint64_t kTombstoneScanEntries = 2048;

// THREADS: none.
class TombstoneScanMeter {
 public:
  explicit TombstoneScanMeter(std::function<void(TombstoneScan)> on_tombstone_scan)
      : on_tombstone_scan_(std::move(on_tombstone_scan)) {}

  void Begin() { hidden_ = 0; }
  void Pass(std::string_view key) {
    if (++hidden_ == kUnmeasured) [[unlikely]]
      from_ = key;
  }
  // The move ends: forward before `key`, or backward after it; nullopt: at the end or at a bound.
  void EndForward(std::optional<std::string_view> key) {
    if (hidden_ >= kTombstoneScanEntries && on_tombstone_scan_) [[unlikely]]
      on_tombstone_scan_({.lower = from_, .upper = Copy(key)});
  }
  void EndBackward(std::optional<std::string_view> key) {
    if (hidden_ >= kTombstoneScanEntries && on_tombstone_scan_) [[unlikely]]
      on_tombstone_scan_({.lower = Copy(key), .upper = from_});
  }

 private:
  // WHY not the first: a copy for each hidden key would be felt, one for each of this many is not.
  static constexpr uint64_t kUnmeasured = 64;

  static std::optional<std::string> Copy(std::optional<std::string_view> key) {
    return key ? std::optional<std::string>(*key) : std::nullopt;
  }

  const std::function<void(TombstoneScan)> on_tombstone_scan_;
  uint64_t hidden_ = 0;
  std::string from_;
};

}  // namespace mergedb::iterator
