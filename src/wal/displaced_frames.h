// Frames away from their position: damage inserted bytes into the WAL buffer, or removed some, and moved all
// bytes after that point.
//
//     written     |frame 7|frame 8|frame 9|
//     found       |frame 7|..|frame 8|frame 9|        no moved frame fits its position
//
// WHY such a frame proves a loss: sequences only grow, so replay has not seen a header of this epoch with a
// sequence beyond the end of the chain. The check of a header covers its position, so the original position
// can be calculated from the check. Other bytes may fit a check by chance; therefore the next frame or the
// chain must confirm the header.
#pragma once

#include <cstdint>
#include <string_view>

#include "wal/replay.h"

namespace mergedb::wal {

// The largest distance between a frame and its position at which replay still finds it.
inline constexpr uint64_t kDisplacedBytesMax = uint64_t{64} << 10;

// True if `bytes` hold a header of a frame of this epoch, after `end`, away from its position. bytes[0] is
// the byte at `position`.
bool HoldsDisplacedFrame(std::string_view bytes, uint64_t position, const Mark& end, uint32_t salt_crc);

// The same of the bytes `front`, and `back` after them: the two parts of the WAL buffer, where they lie.
bool HoldsDisplacedFrame(std::string_view front, std::string_view back, uint64_t position, const Mark& end,
                         uint32_t salt_crc);

// True if `bytes`, which begin at `end`, hold the header of the frame at `end`, split by inserted bytes.
bool HoldsSplitHeader(std::string_view bytes, const Mark& end, uint32_t salt_crc);

}  // namespace mergedb::wal
