// The machine's steady clock. A correction of the date does not set it back.
#pragma once

#include <cstdint>

#include "mergedb/env.h"

namespace mergedb::env {

// Lives forever.
Clock* SteadyClock();

// Microseconds since 1970 by the system clock, which may be set back. For dates in messages, not for differences.
uint64_t WallMicros();

}  // namespace mergedb::env
