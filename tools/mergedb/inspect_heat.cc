#include "inspect_heat.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "page_text.h"
#include "text.h"

namespace mergedb::tool {
namespace {

constexpr size_t kColumns = 96;

// The calls of one kind in a range of the keys. `first` and `last` are places on the scale.
struct Part {
  const format::LiveHeat* range;
  double first, last;
  uint64_t calls;

  double width() const { return std::max(last - first, 0.0005); }
};

struct Kind {
  const char* noun;   // "reads"
  const char* color;  // element of a column: b or u
  uint64_t format::LiveHeat::*calls;
  uint64_t format::LiveHeatAges::*age;
};
constexpr Kind kReads{"reads", "b", &format::LiveHeat::reads, &format::LiveHeatAges::reads_nanos};
constexpr Kind kWrites{"writes", "u", &format::LiveHeat::writes, &format::LiveHeatAges::writes_nanos};

std::vector<Part> PartsOf(const format::LiveState& state, const KeyScale& scale, const Kind& kind) {
  std::vector<Part> parts;
  for (size_t i = 0; i < state.heat.size(); ++i) {
    const double first = i == 0 ? 0 : scale.Within(state.heat[i].from);
    const double last = i + 1 == state.heat.size() ? 1 : scale.Within(state.heat[i + 1].from);
    parts.push_back({&state.heat[i], first, std::max(first, last), state.heat[i].*kind.calls});
  }
  return parts;
}

uint64_t Sum(const std::vector<Part>& parts) {
  return std::accumulate(parts.begin(), parts.end(), uint64_t{0},
                         [](uint64_t sum, const Part& part) { return sum + part.calls; });
}

std::string Percent(double share) {
  return share > 0 && share < 0.01 ? "less than 1 %" : Format("%.0f %%", 100 * share);
}

// Spreads the calls of each part evenly over its columns.
std::string Columns(const std::vector<Part>& parts, const Kind& kind) {
  std::vector<double> calls(kColumns, 0);
  for (const Part& part : parts) {
    const double first = std::min(part.first, 1 - part.width()) * kColumns, width = part.width() * kColumns;
    for (auto i = static_cast<size_t>(first); i < kColumns && static_cast<double>(i) < first + width; ++i) {
      const double from = std::max(first, static_cast<double>(i));
      const double to = std::min(first + width, static_cast<double>(i) + 1);
      calls[i] += static_cast<double>(part.calls) * (to - from) / width;
    }
  }
  const double most = std::max(1.0, *std::ranges::max_element(calls));
  const double all = std::max(1.0, std::accumulate(calls.begin(), calls.end(), 0.0));
  std::string out = "<div class=\"columns low\">";
  for (const double each : calls)
    out += "<i title=\"" + Percent(each / all) + " of the " + kind.noun + "\"><" + kind.color +
           Format(" style=\"height:%.1f%%\"></", 100 * each / most) + kind.color + "></i>";
  return out + "</div>";
}

std::string RangeText(const std::vector<Part>& parts, size_t i) {
  const auto key = [](std::string_view text) { return "<b>" + Html(ToText(text)) + "</b>"; };
  const std::string to = i + 1 == parts.size() ? "the end" : "before " + key(parts[i + 1].range->from);
  return (i == 0 ? std::string("the first key") : key(parts[i].range->from)) + " to " + to;
}

// The least data that gets half of the calls, and the hottest range.
std::string InWords(const std::vector<Part>& parts, const Kind& kind) {
  const auto all = static_cast<double>(Sum(parts));
  std::vector<size_t> order(parts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, std::ranges::greater(),
                    [&](size_t i) { return static_cast<double>(parts[i].calls) / parts[i].width(); });
  double calls = 0, width = 0;
  for (const size_t i : order) {
    if (calls >= all / 2) break;
    calls += static_cast<double>(parts[i].calls);
    width += parts[i].width();
  }
  constexpr double kEven = 0.4;  // half of the calls on so much of the data: no range is hot
  if (width >= kEven) return "They go about evenly to all keys.";
  return Percent(calls / all) + " of them go to " + Percent(width) + " of the data. The hottest range is " +
         RangeText(parts, order[0]) + ", with " + Percent(static_cast<double>(parts[order[0]].calls) / all) +
         " of the " + kind.noun + ".";
}

std::string PrintKind(const format::LiveState& state, const KeyScale& scale, const Kind& kind) {
  const std::vector<Part> parts = PartsOf(state, scale, kind);
  const uint64_t all = Sum(parts);
  if (all == 0) return std::string("<div class=name><span>No ") + kind.noun + " in the last ten minutes.</span></div>";
  return "<div class=name><span>" + std::string(kind.noun == kReads.noun ? "Reads" : "Writes") +
         " of the keys here: about " + Thousands(all) + " in the last " + PrintDuration(state.heat_ages.*kind.age) +
         ". " + InWords(parts, kind) + "</span></div>" + Columns(parts, kind);
}

}  // namespace

std::string PrintHeat(const InspectPage& page, const KeyScale& scale) {
  const std::string head = "<h3>Hot and cold keys</h3>";
  if (!page.live)
    return head +
           "<p>Which keys are read and written often is known only beside a process that has the database open for "
           "writes, "
           "and there is none.</p>";
  const format::LiveState& state = page.live->state();
  if (state.heat.empty())
    return head + "<p>The process has called too little so far: it notes about one of 64 calls.</p>";
  return head +
         "<p>Where the columns are high, the keys are hot: many calls go to little data. The process notes about one "
         "of 64 "
         "calls and keeps the last 512 reads and writes, so small columns are uncertain. Steps of a scan are not "
         "noted, "
         "only the key where it begins.</p>" +
         PrintKind(state, scale, kReads) + PrintKind(state, scale, kWrites);
}

}  // namespace mergedb::tool
