// A schedule as text: the choices that are not the default, "decision>thread" each, `c` for the clock: "12>3 57>c".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "testing/scheduler.h"

namespace mergedb::testing {

std::string PrintSchedule(const std::vector<Scheduler::Deviation>& deviations);
// Words that are none are left out.
std::vector<Scheduler::Deviation> ParseSchedule(std::string_view text);

}  // namespace mergedb::testing
