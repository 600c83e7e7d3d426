#include "show_as.h"

#include <charconv>

#include "mergedb/merge.h"

namespace mergedb::tool {

namespace {

template <typename Number>
std::string PrintNumber(const std::optional<Number>& number) {
  if (!number) return "?";
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, *number).ptr};
}

constexpr int kShownJsonDepthMax = 512;

// The value as ASCII. `indent` below 0: on one line. WHY a limit of the depth: the library prints by recursion.
std::string ShowJson(std::string_view value, int indent) {
  bool is_too_deep = false;
  const auto count = [&is_too_deep](int depth, nlohmann::json::parse_event_t event, const nlohmann::json&) {
    using Event = nlohmann::json::parse_event_t;
    const bool is_start = event == Event::array_start || event == Event::object_start;
    is_too_deep = is_too_deep || (is_start && depth >= kShownJsonDepthMax);
    return !is_too_deep;
  };
  const auto json = nlohmann::json::parse(value, count, false);
  return is_too_deep || json.is_discarded() ? "?" : json.dump(indent, ' ', true);
}

}  // namespace

std::optional<std::string> ShowAs(const std::string& as, std::string_view value, int indent) {
  if (as.empty()) return std::nullopt;
  if (as == "u64") return PrintNumber(merge::ToU64(value));
  if (as == "i64") return PrintNumber(merge::ToI64(value));
  if (as == "f64") return PrintNumber(merge::ToF64(value));
  return ShowJson(value, indent);
}

CLI::Option* AddAs(CLI::App* verb, std::string& as) {
  return verb
      ->add_option(
          "--as", as,
          "Print values in this format: u64, i64 or f64 (numbers of 8 bytes), or json (as ASCII; `get` indents it; "
          "numbers "
          "outside of 64 bits are rounded, and of members with one name the last is printed); ? if a value has "
          "another format, or JSON of more than 512 levels")
      ->check(CLI::IsMember({"u64", "i64", "f64", "json"}));
}

}  // namespace mergedb::tool
