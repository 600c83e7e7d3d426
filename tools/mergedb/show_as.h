// The option --as of the verbs that print values: numbers and JSON instead of bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "command.h"

namespace mergedb::tool {

CLI::Option* AddAs(CLI::App* verb, std::string& as);
// The value in the format `as`; nullopt if that is empty. JSON: indented by `indent`, on one line if it is below 0.
std::optional<std::string> ShowAs(const std::string& as, std::string_view value, int indent);

}  // namespace mergedb::tool
