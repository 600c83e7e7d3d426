// What the writer and the reader of a mirror file share: the offsets and checksums of mirror_file.h.
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
// This many zeros stand behind the last record at least: a file that ends earlier lost a pair of pages with records in it.
inline constexpr uint64_t kRoomBehind = kRecordHeaderBytes;
// Of a record's payload, in any file: builds before there were parts wrote so much at most.
inline constexpr uint64_t kRecordBytesMax = uint64_t{1} << 30;
// In a record's length: the payload goes on in the next record.
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

// Where byte `offset` of the stream lies in copy 0 or 1.
inline uint64_t MirrorOffset(uint64_t offset, int copy) {
  return offset / kPageBytes * (2 * kPageBytes) + static_cast<uint64_t>(copy) * kPageBytes + offset % kPageBytes;
}

}  // namespace mergedb::manifest
