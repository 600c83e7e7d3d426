// CRC-32C (Castagnoli, polynomial 0x1EDC6F41 reflected; RFC 3720 appendix B.4 has the test vectors), with the
// processor's instruction where there is one (SSE4.2, ARMv8 CRC; chosen once at run time) and tables elsewhere.
//
// The result is finalized: Extend(Extend(0, "ab"), "cd") == Extend(0, "abcd").
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mergedb::base {

uint32_t Crc32cExtend(uint32_t crc, const char* bytes, size_t count);
inline uint32_t Crc32c(std::string_view bytes) { return Crc32cExtend(0, bytes.data(), bytes.size()); }

// Of numbers as their little-endian bytes. WHY not of bytes in memory: a load of what several stores have just written waits until they are
// in the cache, and with them all stores before.
uint32_t Crc32cExtendNumbers(uint32_t crc, uint64_t first, uint64_t second, uint64_t third);
uint32_t Crc32cExtendNumbers(uint32_t crc, uint32_t first, uint64_t second, uint64_t third);

// The portable implementation, for tests to compare with.
uint32_t Crc32cExtendPortable(uint32_t crc, const char* bytes, size_t count);

}  // namespace mergedb::base
