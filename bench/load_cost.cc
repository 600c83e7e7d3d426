#include "bench/load_cost.h"

#include <cstdio>

namespace mergedb::bench {
namespace {

std::string Text(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string Megabytes(const DirectorySize& size) {
  return Text("%.1f MB", static_cast<double>(size.allocated) / 1048576.0) +
         Text(" (apparent %.1f)", static_cast<double>(size.apparent) / 1048576.0);
}

}  // namespace

std::optional<double> LoadMeter::Row::DevicePerUserByte(std::optional<uint64_t> device_written) const {
  if (!device_written || cost->user_bytes == 0) return std::nullopt;
  return static_cast<double>(*device_written - device_written_before) / static_cast<double>(cost->user_bytes);
}

void LoadMeter::AddRow(LoadCost* cost, int64_t user_bytes, uint64_t device_written_before, DirectorySize size_peak) {
  if (cost) rows_.push_back({.cost = cost, .device_written_before = device_written_before});
  for (const Row& row : rows_) {
    row.cost->user_bytes += user_bytes;
    row.cost->size_peak = LargestOf(row.cost->size_peak, size_peak);
  }
}

void LoadMeter::Drain(std::optional<uint64_t> device_written, DirectorySize size) {
  for (const Row& row : rows_) {
    if (row.cost->size_drained) continue;
    row.cost->size_drained = size;
    row.cost->device_drained = row.DevicePerUserByte(device_written);
  }
}

void LoadMeter::Close(std::optional<uint64_t> device_written, DirectorySize size) {
  for (const Row& row : rows_) {
    row.cost->size_peak = LargestOf(row.cost->size_peak, size);
    row.cost->size_closed = size;
    row.cost->device_closed = row.DevicePerUserByte(device_written);
  }
  rows_.clear();
}

std::string LoadCostLine(const std::string& name, const LoadCost& cost) {
  std::string line = name + ":";
  if (cost.device_drained) line += Text(" %.2f device bytes per user byte until drained,", *cost.device_drained);
  if (cost.device_closed) line += Text(" %.2f after close and sync,", *cost.device_closed);
  line += " directory " + Megabytes(cost.size_peak) + " at its largest";
  if (cost.size_drained) line += ", " + Megabytes(*cost.size_drained) + " drained";
  if (cost.size_closed) line += ", " + Megabytes(*cost.size_closed) + " closed";
  return line + "\n";
}

}  // namespace mergedb::bench
