// Option sets at the corners of the option space. No answer may depend on the options: the model tests run every list
// of operations with each of these sets and compare the answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mergedb/options.h"
#include "testing/geometry.h"

namespace mergedb::testing {

// The place of a set's databases. Only a SimulatedEnv in memory supports kills and lets the list control the background
// work; the other places use real threads.
enum class Place : uint8_t { kSimulated, kRealFiles, kCInterface };

struct OptionSet {
  std::string name = "Plain";
  Style style = Style::kLazy;
  bool use_mapping = true;
  int bloom_bits = 10;
  size_t block_bytes = 4096;
  CompressionByTier compression = {Compression::kNone, Compression::kNone};
  size_t write_buffer_bytes = 64 << 10;
  size_t memory_bytes = 1 << 20;
  size_t open_tables_max = 1000;
  uint64_t write_delay_us_max = 10'000;
  bool finish_compactions_on_close = false;
  const Comparator* comparator = BytewiseComparator();
  int parallelism = 2;
  Place place = Place::kSimulated;
  size_t blob_value_bytes_min = 64;
  uint64_t mapped_read_bytes_max = 0;
};

const std::vector<OptionSet>& SimulatedOptionSets();  // all in a SimulatedEnv
const std::vector<OptionSet>& RealOptionSets();       // all in the other places
// A set in a SimulatedEnv; its name is the printed geometry and the turn. `turn` chooses the comparator and the
// parallelism.
OptionSet OptionSetOf(const Geometry& geometry, uint64_t turn);
// Finds a set by name, or makes one from a geometry and a turn, "lazy,mapped,...,finish=0,turn=3". Else nullopt.
std::optional<OptionSet> FindOptionSet(std::string_view name);

// Writes the set to `options`; leaves the env and the mode unchanged.
void Choose(const OptionSet& set, Options* options);

}  // namespace mergedb::testing
