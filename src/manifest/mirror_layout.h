// The offsets and checksums of mirror_file.h, which the writer and the reader share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/coding.h"
#include "base/crc32c.h"
#include "manifest/mirror_file.h"

namespace mergedb::manifest {

inline constexpr std::string_view kMirrorMagic = "mergedb manifest";
inline constexpr size_t kMirrorHeaderBytes = 40;
inline constexpr size_t kRecordHeaderBytes = 8;
// At least this many zeros follow the last record. A file that ends earlier has lost page pairs with records in them.
inline constexpr uint64_t kRoomBehind = kRecordHeaderBytes;
// The most bytes of a record's payload that the reader accepts. Older builds wrote larger records than kPartBytesMax.
inline constexpr uint64_t kRecordBytesMax = uint64_t{1} << 30;
// A bit of a record's length field: the payload continues in the next record.
inline constexpr uint32_t kGoesOn = uint32_t{1} << 31;
static_assert(kMirrorMagic.size() == 16);
static_assert(kPartBytesMax <= kRecordBytesMax && kRecordBytesMax < kGoesOn);

inline uint32_t HeaderChain(std::string_view header) { return base::LoadFixed32(header.data() + 32); }

// The checksum of a record before its payload: of the predecessor's checksum and the length field.
inline uint32_t RecordSeed(uint32_t chain, uint32_t length_field) {
  char bytes[8];
  base::StoreFixed32(bytes, chain);
  base::StoreFixed32(bytes + 4, length_field);
  return base::Crc32c({bytes, sizeof bytes});
}

// The file offset of the stream's byte `offset` in copy 0 or 1.
inline uint64_t MirrorOffset(uint64_t offset, int copy) {
  return offset / kPageBytes * (2 * kPageBytes) + static_cast<uint64_t>(copy) * kPageBytes + offset % kPageBytes;
}

}  // namespace mergedb::manifest
