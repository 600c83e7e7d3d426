// The oldest run as a list of partitions: key ranges of about one size, each with what lies in it and above it.
//
//   newer runs    [- - - - - - - - -][- - - - - - - -]     upper: bytes that a merge of the partition takes away
//                 [- - - -][- - - - - - - - - -][- - ]
//   oldest run    [ 0 ][ 1 ][2][ 3   ][ 4  ][ 5 ][6 ]      slices
//   partitions    |    |    |         |     |       |      borders are smallest keys of slices; the ends are open
//
// What a slice weighs in a partition is an estimate: a slice that spans several is shared evenly. The borders of partitions
// are where upper runs are cut, so most slices lie in one.
#pragma once

#include <cstdint>
#include <vector>

#include "picker/picker.h"

namespace mergedb::picker {

struct Partition {
  format::Bounds bounds;
  uint64_t oldest_bytes = 0;
  uint64_t oldest_value_bytes = 0;  // that its tables refer to
  uint64_t oldest_entries = 0;
  // Of the newer runs.
  double upper_bytes = 0;
  double upper_value_bytes = 0;
  double upper_entries = 0;
  double upper_tombstones = 0;
  double upper_masked_bytes = 0;  // of older runs, by range tombstones

  double input_bytes() const { return static_cast<double>(oldest_bytes) + upper_bytes; }
  // Bytes that merging it would take off the disk at best: what is above, and what tombstones there delete.
  double GainBytes() const;
};

// The size of a partition when the database has `bytes`: 32 partitions, of 8 to 256 MiB each.
uint64_t PartitionBytes(uint64_t bytes);

// The size at which a merge cuts its outputs: that of a flushed table, or an eighth of a partition.
// WHY not whole partitions: tables of one size can be written over each other's files (db/recycled_files.h), and go one by one.
uint64_t OutputBytes(const PickInput& input, uint64_t partition_bytes);

// REQUIRES: `oldest` is not empty.
std::vector<Partition> MakePartitions(const version::Run& oldest, uint64_t partition_bytes);
void AddUpper(const kv::Order& order, const version::Run& run, std::vector<Partition>* partitions);

// Borders at which to cut the outputs of a merge of upper runs, so that each piece has about `piece_bytes` or more.
std::vector<std::string> CutKeys(const std::vector<Partition>& partitions, uint64_t input_bytes, uint64_t piece_bytes);

}  // namespace mergedb::picker
