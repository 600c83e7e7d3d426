// Damages and other findings of `verify`, `repair` and the verbs that read one file, as JSON and as lines.
#pragma once

#include <string>
#include <vector>

#include "command.h"

namespace mergedb::tool {

// Without the file, which the report names.
nlohmann::ordered_json DamageJson(const Damage& damage);
// A list of damages with their files.
nlohmann::ordered_json DamagesJson(const std::vector<Damage>& damages);
// The title, then the lines; nothing if there are none.
void PrintList(const char* title, const std::vector<std::string>& lines);
void PrintList(const char* title, const std::vector<Damage>& damages);

}  // namespace mergedb::tool
