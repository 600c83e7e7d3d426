// CRC-32C (Castagnoli, polynomial 0x1EDC6F41 reflected). RFC 3720, appendix B.4, has test vectors. The code uses
// the processor's instruction if there is one (SSE4.2 with PCLMUL, AVX-512 with VPCLMULQDQ for 1 KiB and more, ARMv8
// CRC; chosen at run time), else tables.
//
// The result is finalized: Extend(Extend(0, "ab"), "cd") == Extend(0, "abcd").
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mergedb::base {

uint32_t Crc32cExtend(uint32_t crc, const char* bytes, size_t count);
inline uint32_t Crc32c(std::string_view bytes) { return Crc32cExtend(0, bytes.data(), bytes.size()); }

// Copies the bytes, and returns the checksum of the copies: each byte is loaded once, so the two agree even if another
// thread changes the source meanwhile. The ranges do not overlap.
uint32_t Crc32cCopy(uint32_t crc, char* to, const char* from, size_t count);

// The checksum of the numbers' little-endian bytes. WHY not of bytes in memory: a load of bytes that several
// stores have just written waits until these stores and all earlier ones are in the cache.
uint32_t Crc32cExtendNumbers(uint32_t crc, uint64_t first, uint64_t second, uint64_t third);
uint32_t Crc32cExtendNumbers(uint32_t crc, uint32_t first, uint64_t second, uint64_t third);

// The implementation for processors without AVX-512, and for tests to compare with.
uint32_t Crc32cExtendUnfolded(uint32_t crc, const char* bytes, size_t count);

// The implementation with tables: for processors without the instruction, and for tests to compare with.
uint32_t Crc32cExtendPortable(uint32_t crc, const char* bytes, size_t count);

}  // namespace mergedb::base
