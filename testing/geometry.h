// The sizes and limits that decide how often a database flushes, compacts, evicts and changes files: drawn from a seed, printed as one word,
// and read back. No promise may depend on them, so the tests of crashes, kills, models, races and mutants draw them.
//
//     const Geometry geometry = GeometryFor(seed);              // MERGEDB_GEOMETRY=... of the environment, else what the seed says
//     SCOPED_TRACE(ReplayOf(geometry));                         // MERGEDB_GEOMETRY=lazy,mapped,buffer=65536,...
//     Choose(geometry, &options);
//
// Half of all draws have the least write buffer or nearly so; the others go up to the default. The least buffer also makes the smallest
// tables, value files and WAL segments, whose sizes follow from it.
//
// Tests: tests/unit/testing/geometry_test.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mergedb/options.h"

namespace mergedb::testing {

struct Geometry {
  Style style = Style::kLazy;
  bool use_mapping = true;
  size_t write_buffer_bytes = 64 << 10;
  size_t memory_bytes = 128 << 10;  // all that is beyond twice the write buffer is cache
  size_t block_bytes = 4096;
  size_t blob_value_bytes_min = 64;
  size_t open_tables_max = 16;
  uint64_t descriptors_max = 0;  // of the process, for tests that give the database a process of its own; 0: as it is
  int bloom_bits = 10;
  CompressionByTier compression = {Compression::kNone, Compression::kNone};
  bool finish_compactions_on_close = false;
  friend bool operator==(const Geometry& a, const Geometry& b);
};

inline constexpr size_t kWriteBufferBytesDefault = size_t{32} << 20;

// What a test may not draw.
struct GeometryLimits {
  size_t write_buffer_bytes_max = kWriteBufferBytesDefault;
  bool may_limit_descriptors = false;
};

Geometry DrawGeometry(uint64_t seed, const GeometryLimits& limits = {});
// The one that MERGEDB_GEOMETRY names, if it is set: a failure is had again without the others.
Geometry GeometryFor(uint64_t seed, const GeometryLimits& limits = {});

// "lazy,mapped,buffer=65536,memory=131072,block=4096,values=64,tables=16,descriptors=0,bloom=10,codecs=0/0,finish=0"
std::string Print(const Geometry& geometry);
// Nothing if the text is not what Print writes.
std::optional<Geometry> ParseGeometry(std::string_view text);
std::string ReplayOf(const Geometry& geometry);

// The geometry's choices in `options`; the comparator, the mode and the env are left alone.
void Choose(const Geometry& geometry, Options* options);
// The calling process's limit of open files. REQUIRES: the process ends with the database.
void LimitDescriptors(const Geometry& geometry);

}  // namespace mergedb::testing
