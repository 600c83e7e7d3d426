// Makes the checksums of mutated bytes right again, as somebody who forges a file would: what is behind a checksum is fuzzed,
// too. Each function goes as far as the bytes make sense and leaves the rest.
#pragma once

#include <cstdint>
#include <string>

#include "wal/wal.h"

namespace mergedb::fuzz {

void ResealTable(std::string* bytes);     // footer, index, properties, filter, and the blocks that the index names
void ResealManifest(std::string* bytes);  // header and records; the second copy becomes the first
void ResealCurrent(std::string* bytes);
void ResealSegmentHead(std::string* bytes);  // the first block of a segment file
// Frames from offset 0 of `stream`, which is the log's position 0, chained from the epoch's salt.
void ResealFrames(uint64_t salt, std::string* stream);
// Whatever the name says the file is.
void ResealFile(const std::string& path, std::string* bytes);

}  // namespace mergedb::fuzz
