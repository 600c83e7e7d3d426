#include "inspect_heat.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "env/latencies.h"
#include "page_text.h"
#include "text.h"

namespace mergedb::tool {
namespace {

constexpr size_t kColumns = 96;
constexpr double kWidthMin = 0.0005;  // of a part, so that one without data has a finite density

// The calls of one kind in a range of the keys. `first` and `last` are places on the scale.
struct Part {
  const format::LiveHeat* range;
  double first, last;
  uint64_t calls;

  double width() const { return std::max(last - first, kWidthMin); }
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

// The smallest share of the data that gets at least half of the calls. `calls` and `widths` are those of the parts.
double WidthOfHalf(const std::vector<double>& calls, const std::vector<double>& widths) {
  std::vector<size_t> order(calls.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, std::ranges::greater(), [&](size_t i) { return calls[i] / widths[i]; });
  const double all = std::accumulate(calls.begin(), calls.end(), 0.0);
  double sum = 0, width = 0;
  for (const size_t i : order) {
    if (sum >= all / 2) break;
    sum += calls[i];
    width += widths[i];
  }
  return width;
}

// The WidthOfHalf of `samples` calls that go evenly to all keys, if they are counted in `parts` parts. Half of the
// borders lie between samples, as those of db/observe/live_heat.cc do, so that the densest places become parts of their
// own.
double WidthOfHalfByChance(size_t samples, size_t parts, base::Random* random) {
  std::vector<double> places(samples);
  for (double& place : places) place = static_cast<double>(random->Next() >> 11) * 0x1p-53;
  std::ranges::sort(places);
  std::vector<double> borders{1.0};
  for (size_t i = 0; i < parts / 2; ++i) {
    borders.push_back(places[i * samples / (parts / 2)]);
    borders.push_back(static_cast<double>(i) / (static_cast<double>(parts) / 2));
  }
  std::ranges::sort(borders);
  std::vector<double> calls, widths;
  double from = 0;
  for (const double border : borders) {
    const auto count = std::ranges::lower_bound(places, border) - std::ranges::lower_bound(places, from);
    calls.push_back(static_cast<double>(count));
    widths.push_back(std::max(border - from, kWidthMin));
    from = border;
  }
  return WidthOfHalf(calls, widths);
}

// Half of the calls go to `width` of the data: true if that is little, and less than chance makes of so few samples.
bool IsHot(double width, double calls, size_t parts) {
  constexpr double kLittle = 0.25;
  constexpr int kDraws = 200;
  if (width > kLittle || parts < 2) return false;
  const auto samples = static_cast<size_t>(calls / static_cast<double>(env::Latencies::kSampleInterval));
  base::Random random(1);
  for (int draw = 0; draw < kDraws; ++draw) {
    if (samples == 0 || WidthOfHalfByChance(samples, parts, &random) <= width) return false;
  }
  return true;
}

// The least data that gets half of the calls, and the hottest range: the one with the most calls above its share, in
// standard deviations.
std::string InWords(const std::vector<Part>& parts, const Kind& kind) {
  const auto all = static_cast<double>(Sum(parts));
  std::vector<double> calls, widths;
  for (const Part& part : parts) {
    calls.push_back(static_cast<double>(part.calls));
    widths.push_back(part.width());
  }
  const double width = WidthOfHalf(calls, widths);
  if (!IsHot(width, all, parts.size())) return "They go about evenly to all keys.";
  size_t hottest = 0;
  const auto surplus = [&](size_t i) { return (calls[i] - all * widths[i]) / std::sqrt(all * widths[i]); };
  for (size_t i = 1; i < parts.size(); ++i) {
    if (surplus(i) > surplus(hottest)) hottest = i;
  }
  return "Half of them go to " + Percent(width) + " of the data. The hottest range is " + RangeText(parts, hottest) +
         ", with " + Percent(calls[hottest] / all) + " of the " + kind.noun + ".";
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
