// Frames that are not where they were staged: bytes were put into the ring, or taken out of it, and all behind them moved.
//
//     staged      |frame 7|frame 8|frame 9|
//     found       |frame 7|..|frame 8|frame 9|        none of the moved ones fits its position
//
// WHY they prove a loss: sequences only grow, so a header of this epoch with a sequence beyond the chain's end was never replayed. A
// header's check covers its position; which one that was can be calculated from the check. Since other bytes can fit a check as well, the frame's
// successor or the chain must confirm it.
#pragma once

#include <cstdint>
#include <string_view>

#include "wal/wal.h"

namespace mergedb::wal {

inline constexpr uint64_t kDisplacedBytesMax = uint64_t{64} << 10;  // how far away from its place a frame is looked for

// Is there a frame header in `bytes` that belongs to the epoch, behind `end`, at another position? bytes[0] is what stands at `position`.
bool HoldsDisplacedFrame(std::string_view bytes, uint64_t position, const Mark& end, uint32_t salt_crc);

// The same of the header that should stand at `end`, where `bytes` begin, if bytes were put in between its own.
bool HoldsSplitHeader(std::string_view bytes, const Mark& end, uint32_t salt_crc);

}  // namespace mergedb::wal
