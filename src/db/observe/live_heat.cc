#include "db/observe/live_heat.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace mergedb::db {
namespace {

constexpr size_t kBordersOfBytes = 32;
constexpr size_t kBordersOfSamples = 16;

using Samples = std::vector<read::Heat::Sample>;

class Borders {
 public:
  explicit Borders(const kv::Order& order) : order_(order) {}

  bool Before(std::string_view a, std::string_view b) const { return order_.CompareKeys(a, b) < 0; }

  // Keys that cut the tables into parts of about equal bytes.
  void AddOfBytes(const version::Version& version) {
    std::vector<std::pair<std::string_view, uint64_t>> tables;
    uint64_t all = 0;
    for (const version::RunPtr& run : version.runs()) {
      for (const version::VirtualTable& table : run->virtual_tables()) {
        const uint64_t bytes = table.file->bytes + table.file->value_bytes();
        tables.emplace_back(table.smallest(), bytes);
        all += bytes;
      }
    }
    std::ranges::sort(tables, [this](const auto& a, const auto& b) { return Before(a.first, b.first); });
    uint64_t bytes = 0, next = all / kBordersOfBytes;
    for (const auto& [key, table_bytes] : tables) {
      if (bytes >= next) {
        Add(key);
        next = bytes + all / kBordersOfBytes;
      }
      bytes += table_bytes;
    }
  }

  // Keys that cut the samples into parts of about equal size.
  void AddOfSamples(const Samples& samples) {
    std::vector<std::string_view> keys;
    for (const auto& sample : samples) keys.push_back(sample.key);
    std::ranges::sort(keys, [this](std::string_view a, std::string_view b) { return Before(a, b); });
    for (size_t i = 0; i < kBordersOfSamples && !keys.empty(); ++i) Add(keys[i * keys.size() / kBordersOfSamples]);
  }

  std::vector<std::string> Sorted() {
    std::ranges::sort(keys_, [this](std::string_view a, std::string_view b) { return Before(a, b); });
    const auto same = [this](std::string_view a, std::string_view b) { return order_.SameKey(a, b); };
    keys_.erase(std::unique(keys_.begin(), keys_.end(), same), keys_.end());
    return std::move(keys_);
  }

 private:
  // WHY a limit: the ranges must fit in LIVE. A cut key is a good border under the bytewise order only.
  void Add(std::string_view key) {
    if (key.size() > read::Heat::kKeyBytesMax && !order_.is_bytewise()) return;
    keys_.emplace_back(key.substr(0, read::Heat::kKeyBytesMax));
  }

  const kv::Order& order_;
  std::vector<std::string> keys_;
};

}  // namespace

std::vector<format::LiveHeat> HeatRanges(const HeatInput& input) {
  if (input.reads.empty() && input.writes.empty()) return {};
  Borders borders(input.order);
  borders.AddOfBytes(input.version);
  borders.AddOfSamples(input.reads);
  borders.AddOfSamples(input.writes);
  std::vector<format::LiveHeat> ranges(1);
  for (std::string& key : borders.Sorted()) {
    if (!key.empty()) ranges.push_back({.from = std::move(key)});
  }
  const auto count = [&](const Samples& samples, uint64_t format::LiveHeat::*calls) {
    for (const auto& sample : samples) {
      // The first range has no border: every key lies in it or behind it.
      const auto after = std::upper_bound(
          ranges.begin() + 1, ranges.end(), sample.key,
          [&](std::string_view key, const format::LiveHeat& range) { return borders.Before(key, range.from); });
      (*(after - 1)).*calls += sample.calls;
    }
  };
  count(input.reads, &format::LiveHeat::reads);
  count(input.writes, &format::LiveHeat::writes);
  return ranges;
}

}  // namespace mergedb::db
