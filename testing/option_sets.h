// The corners of the space of options: what no answer may depend on. The model tests run every list of operations under each
// of these sets, and compare.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mergedb/options.h"
#include "testing/geometry.h"

namespace mergedb::testing {

// Where a set's databases live. Only in a World in memory can the process be killed and background work be chosen by the list;
// in the others there are real threads.
enum class Place : uint8_t { kWorld, kRealFiles, kCInterface };

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
  Place place = Place::kWorld;
  size_t blob_value_bytes_min = 64;
};

const std::vector<OptionSet>& WorldOptionSets();  // all in a World
const std::vector<OptionSet>& RealOptionSets();   // the other places
// In a World; its name is the geometry, printed. `turn` chooses what a geometry leaves open: the comparator and the parallelism.
OptionSet OptionSetOf(const Geometry& geometry, uint64_t turn);
// Of either, or of a geometry by its name with its turn, as in "lazy,mapped,...,finish=0,turn=3". Nothing: there is none.
std::optional<OptionSet> FindOptionSet(std::string_view name);

// The set's choices in `options`, whose env and mode are left alone.
void Choose(const OptionSet& set, Options* options);

}  // namespace mergedb::testing
