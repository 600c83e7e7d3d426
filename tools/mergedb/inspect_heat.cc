#include "inspect_heat.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "env/latencies.h"
#include "text.h"

namespace mergedb::tool {
namespace {

using Json = nlohmann::ordered_json;

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
  const char* noun;
  uint64_t format::LiveHeat::*calls;
  uint64_t format::LiveHeatAges::*age;
};
constexpr Kind kReads{"reads", &format::LiveHeat::reads, &format::LiveHeatAges::reads_nanos};
constexpr Kind kWrites{"writes", &format::LiveHeat::writes, &format::LiveHeatAges::writes_nanos};

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

// Spreads the calls of each part evenly over its columns.
std::vector<double> Columns(const std::vector<Part>& parts) {
  std::vector<double> calls(kColumns, 0);
  for (const Part& part : parts) {
    const double first = std::min(part.first, 1 - part.width()) * kColumns, width = part.width() * kColumns;
    for (auto i = static_cast<size_t>(first); i < kColumns && static_cast<double>(i) < first + width; ++i) {
      const double from = std::max(first, static_cast<double>(i));
      const double to = std::min(first + width, static_cast<double>(i) + 1);
      calls[i] += static_cast<double>(part.calls) * (to - from) / width;
    }
  }
  for (double& each : calls) each = std::round(each * 100) / 100;
  return calls;
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
// standard deviations. Null if no range is hot.
Json Hottest(const std::vector<Part>& parts) {
  const auto all = static_cast<double>(Sum(parts));
  std::vector<double> calls, widths;
  for (const Part& part : parts) {
    calls.push_back(static_cast<double>(part.calls));
    widths.push_back(part.width());
  }
  const double width = WidthOfHalf(calls, widths);
  if (!IsHot(width, all, parts.size())) return nullptr;
  size_t hottest = 0;
  const auto surplus = [&](size_t i) { return (calls[i] - all * widths[i]) / std::sqrt(all * widths[i]); };
  for (size_t i = 1; i < parts.size(); ++i) {
    if (surplus(i) > surplus(hottest)) hottest = i;
  }
  return {{"half_width", width},
          {"from", ToText(parts[hottest].range->from)},
          {"to", hottest + 1 == parts.size() ? "" : ToText(parts[hottest + 1].range->from)},
          {"share", calls[hottest] / all}};
}

}  // namespace

Json HeatJson(const format::LiveState& state, const KeyScale& scale) {
  if (state.heat.empty()) return nullptr;
  Json heat;
  for (const Kind& kind : {kReads, kWrites}) {
    const std::vector<Part> parts = PartsOf(state, scale, kind);
    const uint64_t calls = Sum(parts);
    heat[kind.noun] = {{"calls", calls},
                       {"age_seconds", static_cast<double>(state.heat_ages.*kind.age) / 1e9},
                       {"columns", Columns(parts)},
                       {"hottest", calls == 0 ? Json() : Hottest(parts)}};
  }
  return heat;
}

}  // namespace mergedb::tool
