// Reads the neighbourhood of a cold block or value along with it. Tables and blob files are written past the
// page cache, so the first read goes to the disk, and the disk needs hardly longer for the neighbourhood.
//
//   file     |  0  |  1  |  2  |  3  |  4  |  5  |  6  |  7  |  8  |     pieces of 128 KiB
//                    asked             asked       asked asked
//
// A miss asks for one piece at first. After a sixteenth of the file was asked for, a miss asks for two pieces,
// then for four, eight and sixteen (one doubling per sixteenth): a reader that reads so much of a file reads
// the rest too. Each piece is asked for once in the life of a reader, so all requests together read the file at
// most once. A request only tells the system to fetch; the caller's own read follows, and waits for its bytes.
// MEASURED: cold readrandom, 20,000 of 600,000 entries of 1 KB: docs/benchmarks-journal.md, "Cold reads". The kernel
// does the same, for a megabyte and more, around each fault of a mapped file; LevelDB relies on that.
// THREADS: any.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "env/byte_budget.h"
#include "mergedb/env.h"

namespace mergedb::env {

class ReadAround {
 public:
  static constexpr uint64_t kPieceBytes = 128 << 10;
  static constexpr uint64_t kDoublingsMax = 4;

  ReadAround() = default;
  // `share`: of a budget, kept as long as this object; may be null.
  explicit ReadAround(uint64_t file_bytes, std::unique_ptr<ByteBudget::Share> share = nullptr)
      : pieces_(file_bytes / kPieceBytes + 1),
        was_asked_for_(new std::atomic<bool>[pieces_]()),
        share_(std::move(share)) {}
  // REQUIRES: no other thread uses either object yet.
  ReadAround(ReadAround&& other) noexcept
      : pieces_(other.pieces_), was_asked_for_(std::move(other.was_asked_for_)), share_(std::move(other.share_)) {}
  ReadAround& operator=(ReadAround&& other) noexcept {
    pieces_ = other.pieces_;
    was_asked_for_ = std::move(other.was_asked_for_);
    share_ = std::move(other.share_);
    return *this;
  }

  bool reads_around() const { return was_asked_for_ != nullptr; }
  // Call this before a read at `offset`.
  void Before(File* file, uint64_t offset) const {
    if (!reads_around()) return;
    const uint64_t piece = std::min(offset / kPieceBytes, pieces_ - 1);
    if (!was_asked_for_[piece].load(std::memory_order_relaxed))
      Ask(file, piece);  // WHY relaxed: asking twice is harmless
  }

 private:
  void Ask(File* file, uint64_t piece) const {
    const uint64_t sixteenths = 16 * asked_.load(std::memory_order_relaxed) / pieces_;
    const uint64_t count = uint64_t{1} << std::min(sixteenths, kDoublingsMax);
    // Asks for the pieces around `piece` in its aligned group, up to the nearest ones that were asked for before.
    const uint64_t group = piece / count * count, group_end = std::min(group + count, pieces_);
    uint64_t first = piece, last = piece + 1;
    while (first > group && !was_asked_for_[first - 1].load(std::memory_order_relaxed)) --first;
    while (last < group_end && !was_asked_for_[last].load(std::memory_order_relaxed)) ++last;
    for (uint64_t i = first; i < last; ++i) was_asked_for_[i].store(true, std::memory_order_relaxed);
    asked_.fetch_add(last - first, std::memory_order_relaxed);
    file->WillRead(first * kPieceBytes, (last - first) * kPieceBytes);
  }

  uint64_t pieces_ = 0;
  std::unique_ptr<std::atomic<bool>[]> was_asked_for_;
  std::unique_ptr<ByteBudget::Share> share_;
  mutable std::atomic<uint64_t> asked_{0};  // number of pieces
};

}  // namespace mergedb::env
