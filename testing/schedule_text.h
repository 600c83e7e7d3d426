// A schedule as text: its non-default choices, "decision>thread" each, with `c` for the clock: "12>3 57>c".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "testing/scheduler.h"

namespace mergedb::testing {

std::string PrintSchedule(const std::vector<Scheduler::Deviation>& deviations);
// Skips words that are not choices.
std::vector<Scheduler::Deviation> ParseSchedule(std::string_view text);

}  // namespace mergedb::testing
