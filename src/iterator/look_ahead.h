// The entries after the one shown that a forward scan shows unchanged, without a move of its input (kv/iterator.h, R7).
//
//   shown  p p p p p p | p ...      p: a plain entry that lies ready; the input stands at `shown`
//          taken  ^    ^ count      until all are taken
//
// A look ahead asks for few entries at first, because a short scan would not use more, and for at most 1.5 KiB of them.
// If it finds none, some steps pass before the next one: sorted runs whose keys alternate, and values in blob files,
// have no usable entries ahead.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "kv/key.h"

namespace mergedb::iterator {

class LookAhead {
 public:
  // A scan begins.
  void Restart() {
    Drop();
    likely_ = pause_ = next_pause_ = 0;
  }
  // Forgets the entries that are ready.
  void Drop() { taken_ = count_ = 0; }

  bool has_next() const { return taken_ != count_; }
  const kv::Entry& Take() { return entries_[taken_++]; }
  // How many moves the input is behind the entry shown.
  size_t taken() const { return taken_; }

  // The scan makes a step, and nothing is ready. True: it is to look ahead.
  bool IsDue() {
    if (pause_ == 0) return true;
    --pause_;
    return false;
  }
  // Where the entries that the input has ready go.
  std::span<kv::Entry> Room() {
    const size_t wanted = std::clamp(2 * likely_, kCountFirst, kCountMax);
    if (entries_.size() < wanted) entries_.resize(wanted);
    return std::span(entries_).first(wanted);
  }
  // The scan looked ahead, and shows the first `count` entries of Room next.
  void Fill(size_t count) {
    taken_ = 0;
    count_ = count;
    likely_ = std::max(likely_ / 2, count);
    pause_ = count > 0 ? 0 : next_pause_;
    next_pause_ = count > 0 ? 0 : std::min(2 * next_pause_ + 1, kPauseMax);
  }

 private:
  static constexpr size_t kCountFirst = 4;
  static constexpr size_t kCountMax = 32;
  static constexpr size_t kPauseMax = 64;

  std::vector<kv::Entry> entries_;  // [taken_, count_) are shown next
  size_t taken_ = 0;
  size_t count_ = 0;
  size_t likely_ = 0;      // how many entries a look ahead is likely to find
  size_t pause_ = 0;       // steps until the next look ahead
  size_t next_pause_ = 0;  // after a look ahead that finds nothing
};

}  // namespace mergedb::iterator
