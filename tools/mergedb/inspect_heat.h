// The hot and cold ranges of keys on the page of `mergedb inspect`, from the file LIVE.
#pragma once

#include <nlohmann/json.hpp>

#include "format/live_state.h"
#include "key_scale.h"

namespace mergedb::tool {

// For reads and for writes: calls, their columns along the keys, and the hottest range, if one is hot. Null if the
// process has noted no call.
nlohmann::ordered_json HeatJson(const format::LiveState& state, const KeyScale& scale);

}  // namespace mergedb::tool
