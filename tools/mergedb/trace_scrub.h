// Makes a copy of a trace without keys and values: docs/decisions/0058-traces.md says what is kept.
//
//   key of the source      rank among all keys of the trace, in the order of bytes, as big-endian bytes, then
//                          random bytes up to the length of the key
//   value                  its size
//
// Equal keys stay equal, and a smaller key stays smaller. An empty key stays empty.
#pragma once

#include <string>

#include "mergedb/env.h"
#include "output_file.h"

namespace mergedb::tool {

// Writes the copy into `target`. If the source is cut or damaged, the copy has what comes before, and *source_status is
// the error. `seed`: of the random bytes.
Status ScrubTrace(FileSystem* files, const std::string& source, OutputFile* target, uint64_t seed,
                  Status* source_status);

}  // namespace mergedb::tool
