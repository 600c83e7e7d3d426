// fuzz/fix_checksums.h for LevelDB's files: recomputes their checksums after a mutation.
#pragma once

#include <string>

namespace mergedb::fuzz {

void FixLevelDbLogChecksums(std::string* bytes);    // fragments, by their lengths; also for a MANIFEST
void FixLevelDbTableChecksums(std::string* bytes);  // the parts in the footer and the blocks in the index

}  // namespace mergedb::fuzz
