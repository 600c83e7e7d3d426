// Folds merge operands when they are added. An operand above an older version of its key gets a fold of
// itself and of all older versions in the memtable. So a read of a hot counter, at any sequence, needs one
// record and follows no chain.
//
//   newest  MERGE 9  +1   | fold: MERGED u64 8          numbers: with every operand, beside it
//           MERGE 7  +2   | fold: MERGED u64 7          other types: after 32 operands or more, when they are as large
//           MERGE 4  +4   | fold: MERGED u64 5                as the last fold (an append's fold grows; so do the gaps)
//           PUT   2  1
//
// A fold is immutable and stands beside its operand, not in its place. A reader at sequence 7 uses the fold
// of 7. A flush that must keep versions apart for a snapshot has all of them.
// Folds are a shortcut. If a fold is not possible (a program's operator, a clash, too much work for the
// leader, no room), the operand gets no fold, and reads follow the chain of versions.
#pragma once

#include <string>
#include <string_view>

#include "kv/fold.h"
#include "memtable/record.h"

namespace mergedb::memtable {

// More bytes than this are not folded on write, because other writers wait meanwhile.
inline constexpr size_t kFoldOnWriteBytesMax = size_t{1} << 20;
inline constexpr size_t kJsonFoldOnWriteBytesMax = size_t{64} << 10;
inline constexpr uint32_t kOperandsBetweenFolds = 32;

// Makes *trailer, the trailer of an operand for `key` above `older`. False: no trailer. `older` lies in `arena`.
bool MakeTrailer(const char* arena, const Record& older, std::string_view key, std::string_view operand,
                 std::string* trailer);

// If `record` alone tells the result of itself and all older versions here: true, and *fold is kMerge (an
// operand) or a base.
bool FoldOf(const Record& record, kv::Base* fold);

}  // namespace mergedb::memtable
