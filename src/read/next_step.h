// Adds to an error what the user can do about it, once, where the error leaves the engine. The code that finds damage
// knows the file, the offset, what it expected and what it found; it need not know the directory and the tools.
// Tests: tests/db/next_step_test.cc.
#pragma once

#include <string_view>

#include "mergedb/status.h"

namespace mergedb::read {

// For the error of an open or a read. Corruption: adds the commands that find and repair damage, unless the
// message already names one.
Status WithNextStep(Status status, std::string_view directory);

// For the error of a write, a flush, a compaction, a check, or the part of an open that writes. Corruption:
// as WithNextStep. NotFound becomes an IOError that names the directory: on these paths only the file system
// returns NotFound, for a file of the open database that is gone.
Status OfWrite(Status status, std::string_view directory);

}  // namespace mergedb::read
