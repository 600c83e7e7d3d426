#include "picker/partitions.h"

#include <algorithm>
#include <map>

#include "picker/survey.h"

namespace mergedb::picker {

double Partition::GainBytes() const {
  const double upper = upper_bytes + upper_value_bytes;
  if (oldest_entries == 0) return upper;
  const double deleted = std::min(upper_tombstones, static_cast<double>(oldest_entries));
  const auto oldest = static_cast<double>(oldest_bytes + oldest_value_bytes);
  const double dead = deleted * oldest / static_cast<double>(oldest_entries);
  return upper + std::min(dead + upper_masked_bytes, oldest);
}

uint64_t PartitionBytes(uint64_t bytes) { return std::clamp(bytes / 32, 8 * kMebibyte, 256 * kMebibyte); }

uint64_t OutputBytes(const PickInput& input, uint64_t partition_bytes) {
  return std::clamp(input.flushed_bytes != 0 ? input.flushed_bytes : FlushBytes(input),
                    std::max(partition_bytes / 8, kMebibyte), partition_bytes);
}

std::vector<Partition> MakePartitions(const version::Run& oldest, uint64_t partition_bytes) {
  std::vector<Partition> partitions(1);
  for (const version::VirtualTable& virtual_table : oldest.virtual_tables()) {
    Partition* last = &partitions.back();
    // WHY half of the next table: the partitions then come closest to their size, for any table size.
    if (last->oldest_bytes > 0 && last->oldest_bytes + virtual_table.file->bytes / 2 >= partition_bytes) {
      const std::string border(virtual_table.smallest());
      last->bounds.upper = border;
      partitions.emplace_back();
      last = &partitions.back();
      last->bounds.lower = border;
    }
    last->oldest_bytes += virtual_table.file->bytes;
    last->oldest_value_bytes += virtual_table.file->value_bytes();
    last->oldest_entries += virtual_table.file->entries;
  }
  return partitions;
}

void AddUpper(const kv::Order& order, const version::Run& run, std::vector<Partition>* partitions) {
  const VirtualTableShares shares(run);
  size_t first = 0;
  for (const version::VirtualTable& virtual_table : run.virtual_tables()) {
    const auto ends_before_virtual_table = [&](const Partition& partition) {
      return partition.bounds.upper && order.CompareKeys(*partition.bounds.upper, virtual_table.smallest()) <= 0;
    };
    while (ends_before_virtual_table((*partitions)[first])) ++first;
    size_t last = first;
    while ((*partitions)[last].bounds.upper && !virtual_table.IsBefore(order, *(*partitions)[last].bounds.upper))
      ++last;
    const double share = 1.0 / (static_cast<double>(last - first + 1) * static_cast<double>(shares.Of(virtual_table)));
    for (size_t i = first; i <= last; ++i) {
      (*partitions)[i].upper_bytes += static_cast<double>(virtual_table.file->bytes) * share;
      (*partitions)[i].upper_value_bytes += static_cast<double>(virtual_table.file->value_bytes()) * share;
      (*partitions)[i].upper_tombstones += static_cast<double>(virtual_table.file->tombstones) * share;
      (*partitions)[i].upper_masked_bytes += static_cast<double>(virtual_table.file->masked_bytes) * share;
    }
  }
}

std::vector<std::string> CutKeys(const std::vector<Partition>& partitions, uint64_t input_bytes, uint64_t piece_bytes) {
  const uint64_t pieces = std::clamp<uint64_t>(input_bytes / piece_bytes, 1, partitions.size());
  std::vector<std::string> keys;
  for (uint64_t piece = 1; piece < pieces; ++piece) {
    keys.push_back(*partitions[piece * partitions.size() / pieces].bounds.lower);
  }
  return keys;
}

}  // namespace mergedb::picker
