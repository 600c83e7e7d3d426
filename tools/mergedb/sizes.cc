#include "sizes.h"

#include <cstdio>

#include "text.h"

namespace mergedb::tool {

nlohmann::ordered_json SizesJson(const Sizes& sizes) {
  nlohmann::ordered_json buckets = nlohmann::ordered_json::array();
  for (size_t bits = 0; bits < sizes.counts.size(); ++bits) {
    if (sizes.counts[bits] == 0) continue;
    const uint64_t from = bits == 0 ? 0 : uint64_t{1} << (bits - 1);
    buckets.push_back(
        {{"from_bytes", from}, {"to_bytes", bits == 0 ? 0 : 2 * from - 1}, {"count", sizes.counts[bits]}});
  }
  return {{"count", sizes.count}, {"mean_bytes", sizes.Mean()}, {"largest_bytes", sizes.largest}, {"sizes", buckets}};
}

void PrintSizes(const char* title, const Sizes& sizes) {
  char line[128];
  std::snprintf(line, sizeof line, "%s: mean %.1f bytes, largest %s\n", title, sizes.Mean(),
                PrintBytes(sizes.largest).c_str());
  Print(line);
  const uint64_t most = std::max<uint64_t>(1, *std::ranges::max_element(sizes.counts));
  for (size_t bits = 0; bits < sizes.counts.size(); ++bits) {
    if (sizes.counts[bits] == 0) continue;
    const uint64_t to = bits == 0 ? 0 : (uint64_t{1} << (bits - 1)) * 2 - 1;
    const size_t columns = (sizes.counts[bits] * 40 + most - 1) / most;
    std::snprintf(line, sizeof line, "  up to %10llu bytes %6.2f %%  %s\n", static_cast<unsigned long long>(to),
                  100.0 * static_cast<double>(sizes.counts[bits]) / static_cast<double>(sizes.count),
                  std::string(columns, '#').c_str());
    Print(line);
  }
}

}  // namespace mergedb::tool
