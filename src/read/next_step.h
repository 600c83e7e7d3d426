// The last words of an error, added once, where it leaves the engine: what to do about it. The places that find damage know the file, the
// offset, what was expected and what was found; none of them needs to know the directory and the tools.
// Tests: tests/db/next_step_test.cc.
#pragma once

#include <string_view>

#include "mergedb/status.h"

namespace mergedb::read {

// Of an open or a read. Corruption: the commands that find and repair damage, unless the message names one already.
Status WithNextStep(Status status, std::string_view directory);

// Of a write, a flush, a merge or a check. As above; and NotFound, which only a file system says there, is IOError that names the directory: it says that a
// file of the open database is gone, and never that a key is.
Status OfWrite(Status status, std::string_view directory);

}  // namespace mergedb::read
