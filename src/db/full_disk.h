// An open that found no disk space: what a killed process left on the disk without need.
#pragma once

#include <string>

#include "mergedb/options.h"

namespace mergedb::db {

// Gives back recycled files, tables and blob files that the MANIFEST does not name, and the bytes of STAGING that
// replay does not need. False if there is nothing, if another process has the database open, or if a part of it is
// damaged: then the next open reports what it drops, and keeps these files for a repair.
// WHY before a second open, and not within the first one: nothing of the first one is left then.
bool FreeSpaceForOpen(const Options& options, const std::string& path);

}  // namespace mergedb::db
