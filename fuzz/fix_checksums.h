// Recomputes the checksums of mutated bytes, so that mutations also reach the code behind a checksum, as a
// forged file would. Each function goes on as long as the bytes are valid and leaves the rest unchanged.
#pragma once

#include <cstdint>
#include <string>

#include "wal/replay.h"

namespace mergedb::fuzz {

void FixTableChecksums(std::string* bytes);     // footer, index, properties, filter, and the blocks in the index
void FixManifestChecksums(std::string* bytes);  // header and records; also copies the first copy to the second
void FixCurrentChecksums(std::string* bytes);
void FixSegmentHeadChecksums(std::string* bytes);  // the first block of a segment file
// Frames from offset 0 of `stream` (the WAL's position 0), chained from the salt of the epoch.
void FixFramesChecksums(uint64_t salt, std::string* stream);
// Any file; the name in `path` tells its kind.
void FixFileChecksums(const std::string& path, std::string* bytes);

}  // namespace mergedb::fuzz
