// A geometry: the sizes and limits that decide how often a database flushes, compacts, evicts and switches files. It
// is drawn from a seed, printed as one word, and parsed back. No promise of the database may depend on it, so the
// tests of crashes, kills, models, races and mutants draw it.
//
//     const Geometry geometry = GeometryFor(seed);              // MERGEDB_GEOMETRY, else drawn from the seed
//     SCOPED_TRACE(ReplayOf(geometry));                         // MERGEDB_GEOMETRY=lazy,mapped,buffer=65536,...
//     Choose(geometry, &options);
//
// Half of all draws have the smallest write buffer or nearly so; the others have up to the default. The sizes of
// tables, blob files and WAL segments follow from the write buffer, so the smallest buffer makes them smallest.
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
  size_t memory_bytes = 128 << 10;  // everything beyond twice the write buffer is cache
  size_t block_bytes = 4096;
  size_t blob_value_bytes_min = 64;
  size_t open_tables_max = 16;
  // limit of the process, for tests that run the database in a process of its own; 0: unchanged
  uint64_t descriptors_max = 0;
  int bloom_bits = 10;
  CompressionByTier compression = {Compression::kNone, Compression::kNone};
  bool finish_compactions_on_close = false;
  uint64_t mapped_read_bytes_max = 0;
  friend bool operator==(const Geometry& a, const Geometry& b);
};

inline constexpr size_t kWriteBufferBytesDefault = size_t{32} << 20;

struct GeometryLimits {
  size_t write_buffer_bytes_max = kWriteBufferBytesDefault;
  bool may_limit_descriptors = false;
};

Geometry DrawGeometry(uint64_t seed, const GeometryLimits& limits = {});
// The geometry of the variable MERGEDB_GEOMETRY if it is set, to replay a failure; else drawn from the seed.
Geometry GeometryFor(uint64_t seed, const GeometryLimits& limits = {});

// "lazy,mapped,buffer=65536,memory=131072,block=4096,values=64,tables=16,descriptors=0,bloom=10,codecs=0/0,finish=0,reads=0"
std::string Print(const Geometry& geometry);
// Returns nullopt if Print cannot have written the text.
std::optional<Geometry> ParseGeometry(std::string_view text);
std::string ReplayOf(const Geometry& geometry);

// Writes the geometry to `options`; leaves the comparator, the mode and the env unchanged.
void Choose(const Geometry& geometry, Options* options);
// Sets the limit of open files of the calling process. REQUIRES: the process ends with the database.
void LimitDescriptors(const Geometry& geometry);

}  // namespace mergedb::testing
