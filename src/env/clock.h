// The machine's steady clock: never set back, not even when somebody corrects the date.
#pragma once

#include <cstdint>

#include "mergedb/env.h"

namespace mergedb::env {

// Lives for ever.
Clock* SteadyClock();

// Microseconds since 1970 by the calendar, which people may set back: for dates in messages, not for differences.
uint64_t WallMicros();

}  // namespace mergedb::env
