// The order of an active memtable, made when an iterator is created.
//
//   arena    [ . . . . . . . . . . . . . . . . . . . ][ . . . . ][ . . ] . . |
//   pieces         4096                                  512        256  tail   cut
//
// A piece is a sorted array of refs to the records of one part of the arena. 256 new records or more make a
// new piece. A piece is combined with the next older one until that is at least twice as long, as in a binary
// counter; there are never more than nine. The tail, less than a piece, is sorted for the iterators of one
// cut. Pieces are immutable and shared: an iterator keeps the pieces that it uses.
//
// THREADS: all methods, any thread, while records are added behind the cut.
#pragma once

#include <memory>
#include <vector>

#include "base/sync.h"
#include "kv/iterator.h"
#include "memtable/radix_sort.h"

namespace mergedb::memtable {

struct Piece {
  size_t skip = 0;  // leading bytes that all its keys share; the ranks leave them out
  size_t key_bytes_min = 0;
  size_t key_bytes_max = 0;
  std::vector<Ref> refs;

  Ranking RankingIn(const char* arena) const {
    return {arena, skip, key_bytes_min == key_bytes_max && key_bytes_max <= skip + 8};
  }
};
using PiecePtr = std::shared_ptr<const Piece>;

class SortedPieces {
 public:
  static constexpr size_t kPieceRefs = 256;
  static constexpr size_t kPiecesMax = 9;

  // Records lie in the arena from offset `begin` on, one behind the other. Offsets count units.
  SortedPieces(const char* arena, uint32_t begin) : arena_(arena), begin_(begin), covered_(begin), tail_end_(begin) {}

  // The pieces of all records before offset `end`, newest first.
  std::vector<PiecePtr> Cut(uint64_t end);
  // The same as one piece. `count` is about the number of records.
  PiecePtr Whole(uint64_t end, size_t count);

 private:
  void MergeSmallLocked() REQUIRES_LOCK(mutex_);

  const char* const arena_;
  const uint32_t begin_;

  base::Mutex mutex_;
  std::vector<PiecePtr> pieces_ GUARDED_BY(mutex_);  // oldest first; they have the records in [begin_, covered_)
  uint64_t covered_ GUARDED_BY(mutex_);
  PiecePtr tail_ GUARDED_BY(mutex_);  // has the records in [covered_, tail_end_); null if empty
  uint64_t tail_end_ GUARDED_BY(mutex_);
};

// Shows the records of a piece, in bytewise order.
std::unique_ptr<kv::Iterator> NewPieceIterator(const char* arena, PiecePtr piece);

}  // namespace mergedb::memtable
