// The machine's steady clock: never set back, not even when somebody corrects the date.
#pragma once

#include "mergedb/env.h"

namespace mergedb::env {

// Lives for ever.
Clock* SteadyClock();

}  // namespace mergedb::env
