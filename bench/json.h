// All results as JSON: {"context": {...}, "benchmarks": [{"name", "ops", "seconds", ...}]}.
#pragma once

#include <string>
#include <vector>

#include "bench/flags.h"
#include "bench/runner.h"

namespace mergedb::bench {

std::string ToJson(const Flags& flags, const std::vector<std::string>& command_line, const Runner& runner);

}  // namespace mergedb::bench
