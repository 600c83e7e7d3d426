#include "damage_report.h"

#include "text.h"

namespace mergedb::tool {

nlohmann::ordered_json DamageJson(const Damage& damage) {
  nlohmann::ordered_json object = {{"offset", damage.offset},
                                   {"bytes", damage.bytes},
                                   {"what", damage.what},
                                   {"loses_entries", damage.loses_entries}};
  if (damage.smallest_key) SetBytes(HexOption(), &object, "smallest_key", *damage.smallest_key);
  if (damage.largest_key) SetBytes(HexOption(), &object, "largest_key", *damage.largest_key);
  return object;
}

nlohmann::ordered_json DamagesJson(const std::vector<Damage>& damages) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Damage& damage : damages) {
    list.push_back({{"file", damage.file}});
    list.back().update(DamageJson(damage));
  }
  return list;
}

void PrintList(const char* title, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  Print(std::string(title) + ":\n");
  for (const std::string& line : lines) Print("  " + ToLine(line) + "\n");
}

void PrintList(const char* title, const std::vector<Damage>& damages) {
  std::vector<std::string> lines;
  for (const Damage& damage : damages) lines.push_back(ToText(damage));
  PrintList(title, lines);
}

}  // namespace mergedb::tool
