// fuzz/reseal.h for LevelDB's files: their checksums made right again after a mutation.
#pragma once

#include <string>

namespace mergedb::fuzz {

void ResealLevelDbLog(std::string* bytes);    // fragments as their lengths say; a MANIFEST is one, too
void ResealLevelDbTable(std::string* bytes);  // what the footer names, and the blocks that the index names

}  // namespace mergedb::fuzz
