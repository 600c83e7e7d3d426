// The hot and cold ranges of keys on the page of `mergedb inspect`, from the file LIVE.
#pragma once

#include <string>

#include "inspect_page.h"

namespace mergedb::tool {

// Columns of reads and writes along the keys, and what they say in words. Without a state of a process: a sentence that
// says so.
std::string PrintHeat(const InspectPage& page, const KeyScale& scale);

}  // namespace mergedb::tool
