// What a benchmark that writes costs the disk: bytes to the device for each user byte, and the size of the
// directory. The cost of a row lasts beyond the row: it ends with the wait for compactions, and again with the
// close of the database.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/measure.h"

namespace mergedb::bench {

// All figures count from the start of the row. User bytes include those of later rows in the same interval.
struct LoadCost {
  int64_t user_bytes = 0;
  DirectorySize size_peak;  // until the close
  // At the end of the next wait for compactions, without a sync: dirty pages are not counted.
  std::optional<DirectorySize> size_drained;
  std::optional<double> device_drained;  // bytes for each user byte; absent without a block device
  // After the close of the database and a sync of the file system.
  std::optional<DirectorySize> size_closed;
  std::optional<double> device_closed;
};

// The rows of one database whose costs are still counted.
class LoadMeter {
 public:
  // A row has ended. `cost` is null if the row wrote nothing. REQUIRES: `cost` is valid until Close.
  void AddRow(LoadCost* cost, int64_t user_bytes, uint64_t device_written_before, DirectorySize size_peak);
  // The wait for compactions has ended; `device_written` is absent without a block device.
  void Drain(std::optional<uint64_t> device_written, DirectorySize size);
  // The database is closed and the file system synced. Forgets all rows.
  void Close(std::optional<uint64_t> device_written, DirectorySize size);
  bool has_rows() const { return !rows_.empty(); }

 private:
  struct Row {
    LoadCost* cost;
    uint64_t device_written_before;
    std::optional<double> DevicePerUserByte(std::optional<uint64_t> device_written) const;
  };
  std::vector<Row> rows_;
};

// One line: "fillrandom: device 2.31 bytes ...".
std::string LoadCostLine(const std::string& name, const LoadCost& cost);

}  // namespace mergedb::bench
