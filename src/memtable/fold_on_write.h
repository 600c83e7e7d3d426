// What an operand leaves behind itself when it is added above an older version of its key: a fold of itself and of all that
// the memtable has below it. So a read of a hot counter meets one record, whichever sequence it reads at, and walks no chain.
//
//   newest  MERGE 9  +1   | fold: PUT-like u64 8        numbers: with every operand, beside it
//           MERGE 7  +2   | fold:          u64 7        others: after 32 operands or more, as soon as they weigh as much
//           MERGE 4  +4   | fold:          u64 5                as the last fold did (an append's fold grows; so do the gaps)
//           PUT   2  1
//
// Folds are immutable and beside the operands, not in their place: who reads at sequence 7 uses the fold of 7, and a flush
// that must keep versions apart for a snapshot has all of them.
// They are a shortcut: wherever one cannot be had (a program's operator, a clash, too much work for the leader's turn, no
// room), nothing is left, and reads walk.
#pragma once

#include <string>
#include <string_view>

#include "kv/fold.h"
#include "memtable/record.h"

namespace mergedb::memtable {

// Beyond so many bytes to fold nothing is folded on write: other writers wait meanwhile.
inline constexpr size_t kFoldOnWriteBytesMax = size_t{1} << 20;
inline constexpr size_t kJsonFoldOnWriteBytesMax = size_t{64} << 10;
inline constexpr uint32_t kOperandsBetweenFolds = 32;

// The trailer of an operand for `key` above `older`, in *trailer; false: none. The arena is where `older` lies.
bool MakeTrailer(const char* arena, const Record& older, std::string_view key, std::string_view operand,
                 std::string* trailer);

// What `record` and all older versions here amount to, if that is known at once: kMerge (an operand), or a base.
bool FoldOf(const Record& record, kv::Base* fold);

}  // namespace mergedb::memtable
