// FORMAT: the bytes of a frame, and of the block at the head of a WAL segment (docs/formats/wal.md). Encodes
// and decodes; opens no file.
//
//   frame          0 crc u32 | 4 check u32 | 8 length u32 | 12 undurable u32 | 16 sequence u64 | 24 payload, zeros to 8
//   segment head   0 magic u64 | 8 version u32 | 12 salt check u32 | 16 database id u64 | 24 epoch u64
//                  32 generation u64 | 40 start u64 | 48 capacity u64 | 56 flags u32 | 60 crc u32 of bytes 0..60
//                  with flag 2: 64 chain u32 | 68 zero u32 | 72 sequence u64 | 80 crc u32 of bytes 0..80
//
// WHY a frame has two checksums: `crc` proves that the frame follows its predecessor. If one frame is lost, all
// later frames fail; so replay yields a prefix. `check` needs no predecessor: with it replay finds the frames
// above a break and reads what was durable when they were written. That distinguishes damage from a torn tail.
// WHY the fields of a segment head end before byte 512: a power cut tears files at multiples of 512 bytes, so
// a rewritten head is the new one or the old one, never a mixture.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/coding.h"
#include "base/crc32c.h"
#include "kv/key.h"
#include "wal/wal_options.h"

namespace mergedb::wal {

inline constexpr uint64_t kBlockBytes = kDirectIoAlign;
inline constexpr size_t kFrameHeaderBytes = 24;
inline constexpr size_t kBufferBytesMax = size_t{256} << 20;  // of STAGING; replay reads it whole
inline constexpr uint64_t kPayloadBytesMax = uint64_t{1} << 31;
// Sums of positions and lengths below it do not overflow.
inline constexpr uint64_t kPositionMax = uint64_t{1} << 62;

// REQUIRES: `unit` is a power of two.
constexpr uint64_t RoundDown(uint64_t value, uint64_t unit) { return value & ~(unit - 1); }
constexpr uint64_t RoundUp(uint64_t value, uint64_t unit) { return RoundDown(value + unit - 1, unit); }

// The bytes of the whole frame. REQUIRES: payload_bytes <= kPayloadBytesMax, so that nothing overflows.
constexpr uint64_t FrameBytes(uint64_t payload_bytes) { return RoundUp(kFrameHeaderBytes + payload_bytes, 8); }

// The checksum of an epoch's salt: the start of its chain, and the initial value of every `check` in it.
uint32_t SaltCrc(uint64_t salt);

struct FrameHeader {
  uint32_t crc = 0;
  uint32_t check = 0;
  uint32_t length = 0;
  uint32_t undurable = 0;
  kv::Sequence sequence = 0;

  uint64_t length_and_undurable() const { return length | uint64_t{undurable} << 32; }  // as they are stored
};

// A larger distance to the durable position does not fit in a frame; the frame then says nothing about it.
inline constexpr uint64_t kUndurableMax = UINT32_MAX - 1;
// Without the crc, which depends on the payload.
inline FrameHeader MakeFrameHeader(uint32_t salt_crc, uint64_t position, uint32_t length, uint64_t durable,
                                   kv::Sequence sequence) {
  const uint64_t undurable = std::min(position - durable, kUndurableMax + 1);
  FrameHeader header = {.length = length, .undurable = static_cast<uint32_t>(undurable), .sequence = sequence};
  header.check = base::Crc32cExtendNumbers(salt_crc, position, header.length_and_undurable(), sequence);
  return header;
}
// The crc of a frame before its payload.
inline uint32_t HeaderCrc(uint32_t chain, const FrameHeader& header) {
  return base::Crc32cExtendNumbers(chain, header.check, header.length_and_undurable(), header.sequence);
}
inline void StoreFrameHeader(char* frame, const FrameHeader& header) {
  base::StoreFixed64(frame, header.crc | uint64_t{header.check} << 32);
  base::StoreFixed64(frame + 8, header.length_and_undurable());
  base::StoreFixed64(frame + 16, header.sequence);
}
// The crc of a frame whose first `bytes` bytes (at least the header) are contiguous at `frame`.
inline uint32_t FrameCrc(uint32_t chain, const char* frame, size_t bytes) {
  return base::Crc32cExtend(chain, frame + 4, bytes - 4);
}

FrameHeader LoadFrameHeader(const char* frame);
// The durable position when the frame at `position` was written, as far as the frame says.
inline uint64_t DurableMark(const FrameHeader& header, uint64_t position) {
  return header.undurable > kUndurableMax ? 0 : position - std::min<uint64_t>(header.undurable, position);
}
// True if the header of a frame of this epoch is whole here.
bool HeaderBelongs(const char* frame, uint32_t salt_crc, uint64_t position);

struct SegmentHead {
  uint64_t database_id = 0;
  uint64_t epoch = 0;
  uint32_t salt_crc = 0;
  uint64_t generation = 0;   // counts the segments of an epoch in the order of their use; 0: not in use
  uint64_t start = 0;        // the first position that the segment holds
  uint64_t capacity = 0;     // stream bytes in the file, from position RoundDown(start, kBlockBytes) on
  bool is_appended = false;  // the file grows as it is written: it may hold less than its capacity
  // The mark at `start`, if tables held everything below `start` when the segment was begun.
  std::optional<Mark> mark = {};

  uint64_t base() const { return RoundDown(start, kBlockBytes); }
  uint64_t limit() const { return base() + capacity; }
};

// Writes block[0, kBlockBytes).
void StoreSegmentHead(char* block, const SegmentHead& head);
// Corruption or NotSupported; the message does not name the file.
Result<SegmentHead> LoadSegmentHead(std::string_view block);

}  // namespace mergedb::wal
