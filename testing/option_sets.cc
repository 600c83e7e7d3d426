#include "testing/option_sets.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iterator>

#include "testing/reverse_comparator.h"

namespace mergedb::testing {
namespace {

// Under this comparator "apple" and "Apple" are one key.
class CaseFoldingComparator final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override {
    const size_t shared = std::min(a.size(), b.size());
    for (size_t i = 0; i < shared; ++i) {
      const int order = std::tolower(static_cast<unsigned char>(a[i])) - std::tolower(static_cast<unsigned char>(b[i]));
      if (order != 0) return order;
    }
    return a.size() < b.size() ? -1 : a.size() > b.size() ? 1 : 0;
  }
  std::string_view Name() const override { return "test.case_folding"; }
};

// Orders short keys first, so that the keys with a common prefix are not neighbours.
class ShortFirstComparator final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override {
    if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
    return a.compare(b);
  }
  std::string_view Name() const override { return "test.short_first"; }
};

// The bytewise order, but not BytewiseComparator() itself, so that the engine does not recognise it.
class PlainComparator final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return a.compare(b); }
  std::string_view Name() const override { return "test.plain"; }
};

const ReverseComparator kReverse;
const CaseFoldingComparator kCaseFolding;
const ShortFirstComparator kShortFirst;
const PlainComparator kPlainOrder;

constexpr Compression kRaw = Compression::kNone, kSnappy = Compression::kSnappy, kZstd = Compression::kZstd,
                      kLz4 = Compression::kLz4;
constexpr Style kCascade = Style::kCascade;
constexpr size_t kKiB = 1 << 10, kMiB = 1 << 20;
const std::string kTurn = ",turn=";

}  // namespace

const std::vector<OptionSet>& SimulatedOptionSets() {
  static const std::vector<OptionSet> sets = {
      {.name = "Plain"},
      {.name = "Cascade", .style = kCascade},
      {.name = "Unmapped", .use_mapping = false},
      {.name = "CascadeUnmapped", .style = kCascade, .use_mapping = false},
      {.name = "NoFilter", .bloom_bits = 0},
      {.name = "OneBitFilter", .bloom_bits = 1},
      {.name = "WideFilter", .bloom_bits = 64},
      {.name = "SmallBlocks", .block_bytes = 256},
      {.name = "CascadeSmallBlocks", .style = kCascade, .block_bytes = 256},
      {.name = "LargeBlocks", .block_bytes = kMiB},
      {.name = "LargestBlocks", .block_bytes = 4 * kMiB, .compression = {kLz4, kLz4}},
      {.name = "Snappy", .compression = {kSnappy, kSnappy}},
      {.name = "SmallBlocksZstd", .block_bytes = 256, .compression = {kZstd, kZstd}},
      {.name = "BottomZstd", .compression = {kRaw, kZstd}, .finish_compactions_on_close = true},
      {.name = "CascadeLz4ZstdNoFilter",
       .style = kCascade,
       .bloom_bits = 0,
       .block_bytes = 512,
       .compression = {kLz4, kZstd}},
      {.name = "NoCache", .memory_bytes = 128 * kKiB},
      {.name = "CascadeNoCacheOneThread", .style = kCascade, .memory_bytes = 128 * kKiB, .parallelism = 1},
      {.name = "TinyCacheSmallBlocks", .block_bytes = 256, .memory_bytes = 136 * kKiB},
      {.name = "FewTables", .open_tables_max = 16},
      {.name = "CascadeFewTablesNoCache", .style = kCascade, .memory_bytes = 128 * kKiB, .open_tables_max = 16},
      {.name = "NormalBuffers", .write_buffer_bytes = kMiB, .memory_bytes = 8 * kMiB},
      {.name = "CascadeNormalBuffersLz4",
       .style = kCascade,
       .compression = {kLz4, kLz4},
       .write_buffer_bytes = kMiB,
       .memory_bytes = 8 * kMiB},
      {.name = "LargeBuffersUnmapped", .use_mapping = false, .write_buffer_bytes = 8 * kMiB, .memory_bytes = 32 * kMiB},
      {.name = "NoPause", .write_delay_us_max = 0},
      {.name = "CascadeLongPause", .style = kCascade, .write_delay_us_max = 1'000'000},
      {.name = "FinishOneThread", .finish_compactions_on_close = true, .parallelism = 1},
      {.name = "CascadeFinishManyThreads", .style = kCascade, .finish_compactions_on_close = true, .parallelism = 8},
      {.name = "OddBuffers",
       .block_bytes = 1000,
       .write_buffer_bytes = 100'001,
       .memory_bytes = 777'777,
       .parallelism = 3},
      {.name = "NoValueFiles", .blob_value_bytes_min = 0},
      {.name = "CascadeNoValueFiles", .style = kCascade, .block_bytes = 512, .blob_value_bytes_min = 0},
      {.name = "EveryValueInAValueFile",
       .compression = {kSnappy, kZstd},
       .open_tables_max = 16,
       .blob_value_bytes_min = 1},
      {.name = "LargeValuesInValueFiles",
       .compression = {kLz4, kLz4},
       .write_buffer_bytes = 256 * kKiB,
       .memory_bytes = 2 * kMiB,
       .blob_value_bytes_min = 400},
      {.name = "Reverse", .comparator = &kReverse},
      {.name = "CascadeReverseSmallBlocks", .style = kCascade, .block_bytes = 256, .comparator = &kReverse},
      {.name = "CaseFolding", .comparator = &kCaseFolding},
      {.name = "CascadeCaseFoldingSmallBlocks",
       .style = kCascade,
       .block_bytes = 256,
       .compression = {kSnappy, kZstd},
       .comparator = &kCaseFolding},
      {.name = "ShortFirst", .compression = {kLz4, kLz4}, .comparator = &kShortFirst},
      {.name = "CascadeShortFirstNoCache", .style = kCascade, .memory_bytes = 128 * kKiB, .comparator = &kShortFirst},
      {.name = "PlainOrderUnmapped", .use_mapping = false, .comparator = &kPlainOrder},
  };
  return sets;
}

const std::vector<OptionSet>& RealOptionSets() {
  static const std::vector<OptionSet> sets = {
      {.name = "RealFiles", .place = Place::kRealFiles},
      {.name = "RealFilesCascadeUnmapped",
       .style = kCascade,
       .use_mapping = false,
       .compression = {kLz4, kZstd},
       .finish_compactions_on_close = true,
       .place = Place::kRealFiles},
      {.name = "RealFilesCaseFolding", .block_bytes = 256, .comparator = &kCaseFolding, .place = Place::kRealFiles},
      {.name = "RealFilesMappedReads", .place = Place::kRealFiles, .mapped_read_bytes_max = UINT64_MAX},
      {.name = "RealFilesSomeMappedReads",
       .style = kCascade,
       .block_bytes = 512,
       .compression = {kLz4, kRaw},
       .place = Place::kRealFiles,
       .mapped_read_bytes_max = 200'000},
      {.name = "CInterface", .place = Place::kCInterface},
      {.name = "CInterfaceCascadeReverse",
       .style = kCascade,
       .bloom_bits = 0,
       .compression = {kSnappy, kZstd},
       .comparator = &kReverse,
       .place = Place::kCInterface},
  };
  return sets;
}

OptionSet OptionSetOf(const Geometry& geometry, uint64_t turn) {
  const Comparator* const comparators[] = {BytewiseComparator(), BytewiseComparator(), BytewiseComparator(), &kReverse,
                                           &kCaseFolding,        &kShortFirst};
  return {.name = Print(geometry) + kTurn + std::to_string(turn),
          .style = geometry.style,
          .use_mapping = geometry.use_mapping,
          .bloom_bits = geometry.bloom_bits,
          .block_bytes = geometry.block_bytes,
          .compression = geometry.compression,
          .write_buffer_bytes = geometry.write_buffer_bytes,
          .memory_bytes = geometry.memory_bytes,
          .open_tables_max = geometry.open_tables_max,
          .finish_compactions_on_close = geometry.finish_compactions_on_close,
          .comparator = comparators[turn % std::size(comparators)],
          .parallelism = 1 + static_cast<int>(turn % 3),
          .blob_value_bytes_min = geometry.blob_value_bytes_min,
          .mapped_read_bytes_max = geometry.mapped_read_bytes_max};
}

std::optional<OptionSet> FindOptionSet(std::string_view name) {
  for (const auto* sets : {&SimulatedOptionSets(), &RealOptionSets()}) {
    for (const OptionSet& set : *sets) {
      if (set.name == name) return set;
    }
  }
  const size_t turn_at = name.find(kTurn);
  const auto geometry = ParseGeometry(name.substr(0, turn_at));
  if (!geometry || turn_at == std::string_view::npos) return std::nullopt;
  return OptionSetOf(*geometry, std::strtoull(std::string(name.substr(turn_at + kTurn.size())).c_str(), nullptr, 10));
}

void Choose(const OptionSet& set, Options* options) {
  options->style = set.style;
  options->blob_value_bytes_min = set.blob_value_bytes_min;
  options->mapped_read_bytes_max = set.mapped_read_bytes_max;
  options->use_mapped_wal_buffer = set.use_mapping;
  options->bloom_bits_per_key = set.bloom_bits;
  options->block_bytes = set.block_bytes;
  options->compression = set.compression;
  options->write_buffer_bytes = set.write_buffer_bytes;
  options->memory_bytes = set.memory_bytes;
  options->open_tables_max = set.open_tables_max;
  options->write_delay_us_max = set.write_delay_us_max;
  options->finish_compactions_on_close = set.finish_compactions_on_close;
  options->comparator = set.comparator;
}

}  // namespace mergedb::testing
