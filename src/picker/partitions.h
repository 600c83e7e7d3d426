// The oldest run as a list of partitions: key ranges of about one size, with the bytes in each range and above it.
//
//   newer runs    [- - - - - - - - -][- - - - - - - -]     upper: bytes that a compaction of the partition removes
//                 [- - - -][- - - - - - - - - -][- - ]
//   oldest run    [ 0 ][ 1 ][2][ 3   ][ 4  ][ 5 ][6 ]      virtual tables
//   partitions    |    |    |         |     |       |      borders: smallest keys of virtual tables; the ends are open
//
// The bytes of a newer run in a partition are an estimate: a virtual table that spans several partitions counts in
// equal shares. Compactions cut the tables of newer runs at partition borders, so most tables lie in one partition.
#pragma once

#include <cstdint>
#include <vector>

#include "picker/picker.h"

namespace mergedb::picker {

struct Partition {
  format::Bounds bounds;
  uint64_t oldest_bytes = 0;
  uint64_t oldest_value_bytes = 0;  // that the tables of the partition refer to
  uint64_t oldest_entries = 0;
  // Sums over the newer runs.
  double upper_bytes = 0;
  double upper_value_bytes = 0;
  double upper_tombstones = 0;
  double upper_masked_bytes = 0;  // bytes of older runs that range tombstones mask
  bool is_unreadable = false;     // some run has unreadable keys here
  bool is_block = false;          // no more than a block of a table is unreadable: few bytes

  double input_bytes() const { return static_cast<double>(oldest_bytes) + upper_bytes; }
  // Bytes that a compaction of the partition removes at best: the upper bytes and the bytes that tombstones delete.
  double GainBytes() const;
};

// The partition size of a database of `bytes`: 32 partitions, of 8 to 256 MiB each.
uint64_t PartitionBytes(uint64_t bytes);

// The size at which a compaction cuts its outputs: the size of a flushed table, at least an eighth of a
// partition and 1 MiB, at most a partition.
// WHY not whole partitions: files of one size can be recycled for each other (db/state/recycled_files.h), and a
// compaction releases small input tables one by one.
uint64_t OutputBytes(const PickInput& input, uint64_t partition_bytes);

// REQUIRES: `oldest` is not empty.
std::vector<Partition> MakePartitions(const version::Run& oldest, uint64_t partition_bytes);
// The same, and a border at each bound of unreadable keys. The bytes of a partition that such a border cuts are halved.
std::vector<Partition> PartitionsOf(const PickInput& input, uint64_t partition_bytes);
void AddUpper(const kv::Order& order, const version::Run& run, std::vector<Partition>* partitions);

// An estimate of the bytes above the oldest run that no compaction can take into it, because keys there are unreadable.
uint64_t BytesBlocked(const PickInput& input);

// Borders at which to cut the outputs of a compaction of upper runs: each piece has about `piece_bytes` or more.
std::vector<std::string> CutKeys(const std::vector<Partition>& partitions, uint64_t input_bytes, uint64_t piece_bytes);

}  // namespace mergedb::picker
