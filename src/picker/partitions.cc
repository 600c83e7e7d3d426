#include "picker/partitions.h"

#include <algorithm>

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

namespace {

// Cuts the partition with keys on both sides of `border`.
void CutAt(const kv::Order& order, const std::string& border, std::vector<Partition>* partitions) {
  const auto found = std::ranges::find_if(*partitions, [&](const Partition& each) {
    return !each.bounds.upper || order.CompareKeys(border, *each.bounds.upper) < 0;
  });
  if (found->bounds.lower && order.CompareKeys(border, *found->bounds.lower) <= 0) return;
  found->oldest_bytes /= 2;
  found->oldest_value_bytes /= 2;
  found->oldest_entries /= 2;
  Partition above = *found;
  found->bounds.upper = border;
  above.bounds.lower = border;
  partitions->insert(found + 1, std::move(above));
}

// Tables that show only their unreadable keys any more, and keep all of their bytes.
double BytesOfDamagedRests(const PickInput& input) {
  double bytes = 0;
  for (const UnreadableKeys& each : UnreadableOf(input)) {
    const version::RunPtr run = input.version.FindRun(each.position);
    if (run == nullptr) continue;
    const auto [first, last] = run->Overlap(input.order, each.bounds);
    for (size_t i = first; i < last; ++i) {
      const version::VirtualTable& virtual_table = run->virtual_tables()[i];
      if (!virtual_table.is_whole()) bytes += static_cast<double>(virtual_table.file->bytes);
    }
  }
  return bytes;
}

}  // namespace

std::vector<Partition> PartitionsOf(const PickInput& input, uint64_t partition_bytes) {
  std::vector<Partition> partitions = MakePartitions(*input.version.runs().back(), partition_bytes);
  for (const UnreadableKeys& each : UnreadableOf(input)) {
    if (each.bounds.lower) CutAt(input.order, *each.bounds.lower, &partitions);
    if (each.bounds.upper) CutAt(input.order, *each.bounds.upper, &partitions);
  }
  for (const UnreadableKeys& each : UnreadableOf(input)) {
    for (Partition& partition : partitions) {
      if (!version::Intersect(input.order, partition.bounds, each.bounds)) continue;
      partition.is_block = each.is_block && (partition.is_block || !partition.is_unreadable);
      partition.is_unreadable = true;
    }
  }
  return partitions;
}

uint64_t BytesBlocked(const PickInput& input) {
  const auto& runs = input.version.runs();
  if (UnreadableOf(input).empty()) return 0;
  const std::vector<Partition> partitions = PartitionsOf(input, PartitionBytes(runs.back()->bytes()));
  double bytes = BytesOfDamagedRests(input);
  for (size_t i = 0; i + 1 < runs.size(); ++i) {
    std::vector<Partition> of_run = partitions;
    AddUpper(input.order, *runs[i], &of_run);
    for (const Partition& each : of_run) {
      // Keys of this run, or of a run below it.
      if (each.is_unreadable && IsUnreadable(input, {.newest = i, .oldest = runs.size() - 1}, each.bounds))
        bytes += each.upper_bytes + each.upper_value_bytes;
    }
  }
  return static_cast<uint64_t>(bytes);
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
    const auto begin = partitions->begin() + static_cast<ptrdiff_t>(first);
    const auto end = partitions->begin() + static_cast<ptrdiff_t>(last) + 1;
    const auto blocks = std::count_if(begin, end, [](const Partition& each) { return each.is_block; });
    const bool skips_blocks = blocks < end - begin;
    const auto parts = static_cast<double>(skips_blocks ? end - begin - blocks : end - begin);
    const double share = 1.0 / (parts * static_cast<double>(shares.Of(virtual_table)));
    for (size_t i = first; i <= last; ++i) {
      if (skips_blocks && (*partitions)[i].is_block) continue;
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
