#include "testing/geometry.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "base/assert.h"
#include "base/random.h"

namespace mergedb::testing {
namespace {

constexpr size_t kKiB = 1 << 10, kMiB = 1 << 20;
constexpr size_t kLeastWriteBufferBytes = 64 * kKiB;
// Half of the draws take a small buffer: flushes, compactions and evictions are rare with large buffers.
constexpr std::array<size_t, 2> kSmallBuffers = {kLeastWriteBufferBytes, 100'001};
constexpr std::array<size_t, 6> kBuffers = {256 * kKiB, kMiB, 3 * kMiB, 4 * kMiB, 8 * kMiB, kWriteBufferBytesDefault};
constexpr std::array<size_t, 5> kSeparated = {1, 64, 400, 768, 0};
constexpr std::array<size_t, 4> kBlocks = {256, 1000, 4096, 64 * kKiB};
constexpr std::array<size_t, 3> kTables = {16, 17, 1000};
constexpr std::array<uint64_t, 4> kMappedReads = {0, 0, 100'000, UINT64_MAX};
// WHY at least 128: the test itself, its pipes and the C library use up to a quarter of that.
constexpr std::array<uint64_t, 3> kDescriptors = {0, 128, 256};

template <typename T, size_t n>
T OneOf(const std::array<T, n>& choices, base::Random& random) {
  return choices[random.Uniform(n)];
}

size_t DrawBuffer(base::Random& random, size_t bytes_max) {
  const size_t small = OneOf(kSmallBuffers, random), large = OneOf(kBuffers, random);
  const size_t bytes = random.OneIn(2) ? small : large;
  return bytes <= bytes_max ? bytes : small <= bytes_max ? small : kLeastWriteBufferBytes;
}

// No cache, a cache of two blocks, or an ordinary cache.
size_t DrawMemory(base::Random& random, size_t buffer_bytes) {
  const uint64_t choice = random.Uniform(3);
  return choice == 0 ? 2 * buffer_bytes : choice == 1 ? 2 * buffer_bytes + 8 * kKiB : 8 * buffer_bytes;
}

}  // namespace

bool operator==(const Geometry& a, const Geometry& b) { return Print(a) == Print(b); }

Geometry DrawGeometry(uint64_t seed, const GeometryLimits& limits) {
  base::Random random(seed * 0x9E3779B97F4A7C15u + 41);
  Geometry geometry;
  geometry.style = random.OneIn(2) ? Style::kLazy : Style::kCascade;
  geometry.use_mapping = random.Uniform(3) != 0;
  geometry.write_buffer_bytes = DrawBuffer(random, limits.write_buffer_bytes_max);
  geometry.memory_bytes = DrawMemory(random, geometry.write_buffer_bytes);
  geometry.block_bytes = OneOf(kBlocks, random);
  geometry.blob_value_bytes_min = OneOf(kSeparated, random);
  geometry.open_tables_max = OneOf(kTables, random);
  const uint64_t descriptors = OneOf(kDescriptors, random);
  geometry.descriptors_max = limits.may_limit_descriptors ? descriptors : 0;
  geometry.bloom_bits = random.OneIn(3) ? 0 : 10;
  geometry.compression = {static_cast<Compression>(random.Uniform(4)), static_cast<Compression>(random.Uniform(4))};
  geometry.finish_compactions_on_close = random.OneIn(4);
  geometry.mapped_read_bytes_max = OneOf(kMappedReads, random);
  return geometry;
}

Geometry GeometryFor(uint64_t seed, const GeometryLimits& limits) {
  const char* text = std::getenv("MERGEDB_GEOMETRY");
  if (text == nullptr) return DrawGeometry(seed, limits);
  const auto geometry = ParseGeometry(text);
  ASSERT(geometry.has_value(), "MERGEDB_GEOMETRY is what a failing test printed");
  return *geometry;
}

std::string Print(const Geometry& g) {
  char text[300];
  std::snprintf(
      text, sizeof text,
      "%s,%s,buffer=%zu,memory=%zu,block=%zu,values=%zu,tables=%zu,descriptors=%llu,bloom=%d,codecs=%d/%d,finish=%d,"
      "reads=%llu",
      g.style == Style::kLazy ? "lazy" : "cascade", g.use_mapping ? "mapped" : "written", g.write_buffer_bytes,
      g.memory_bytes, g.block_bytes, g.blob_value_bytes_min, g.open_tables_max,
      static_cast<unsigned long long>(g.descriptors_max), g.bloom_bits, static_cast<int>(g.compression.upper),
      static_cast<int>(g.compression.bottom), g.finish_compactions_on_close ? 1 : 0,
      static_cast<unsigned long long>(g.mapped_read_bytes_max));
  return text;
}

std::optional<Geometry> ParseGeometry(std::string_view text) {
  Geometry g;
  char style[16] = "", staging[16] = "";
  unsigned long long descriptors = 0;
  unsigned long long reads = 0;
  int upper = 0, bottom = 0, finish = 0;
  const std::string copy(text);
  const int fields =
      std::sscanf(copy.c_str(),
                  "%15[a-z],%15[a-z],buffer=%zu,memory=%zu,block=%zu,values=%zu,tables=%zu,descriptors=%llu,bloom=%d,"
                  "codecs=%d/%d,finish=%d,reads=%llu",
                  style, staging, &g.write_buffer_bytes, &g.memory_bytes, &g.block_bytes, &g.blob_value_bytes_min,
                  &g.open_tables_max, &descriptors, &g.bloom_bits, &upper, &bottom, &finish, &reads);
  if (fields != 13) return std::nullopt;
  g.style = std::string_view(style) == "lazy" ? Style::kLazy : Style::kCascade;
  g.use_mapping = std::string_view(staging) == "mapped";
  g.descriptors_max = descriptors;
  g.compression = {static_cast<Compression>(upper), static_cast<Compression>(bottom)};
  g.finish_compactions_on_close = finish != 0;
  g.mapped_read_bytes_max = reads;
  return Print(g) == text ? std::optional(g) : std::nullopt;
}

std::string ReplayOf(const Geometry& geometry) { return "MERGEDB_GEOMETRY=" + Print(geometry); }

void Choose(const Geometry& geometry, Options* options) {
  options->style = geometry.style;
  options->use_mapped_wal_buffer = geometry.use_mapping;
  options->write_buffer_bytes = geometry.write_buffer_bytes;
  options->memory_bytes = geometry.memory_bytes;
  options->block_bytes = geometry.block_bytes;
  options->blob_value_bytes_min = geometry.blob_value_bytes_min;
  options->open_tables_max = geometry.open_tables_max;
  options->bloom_bits_per_key = geometry.bloom_bits;
  options->compression = geometry.compression;
  options->finish_compactions_on_close = geometry.finish_compactions_on_close;
  options->mapped_read_bytes_max = geometry.mapped_read_bytes_max;
}

void LimitDescriptors(const Geometry& geometry) {
  rlimit limit{};
  if (geometry.descriptors_max == 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, geometry.descriptors_max);
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace mergedb::testing
