// Replays a trace (trace.h) on the disk model of mergedb's own crash tests (testing/fault_disk.h,
// testing/crash_image.h), record by record, so that a crash image can be taken after any record.
#pragma once

#include <map>
#include <string>

#include "testing/crash_image.h"
#include "torture/trace.h"
#include "torture/workload.h"

namespace mergedb::torture {

class Replay {
 public:
  // `directory`, as named in the trace, exists and is durable before the first record.
  Replay(std::string trace, const std::string& directory);

  // Applies the next record. False at the end of the trace. `*changed`: this record adds a new possible crash
  // image.
  bool Step(bool* changed);
  const testing::Disk& disk() const { return disk_; }

  uint64_t records() const { return records_; }
  uint64_t last_begun() const { return begun_; }
  uint64_t last_returned() const { return returned_; }
  uint64_t last_durable() const { return durable_; }
  uint64_t failed_syncs() const { return failed_syncs_; }

 private:
  void Take(const RecordHead& head, const std::string& path, const std::string& other_path, std::string_view data);
  void Open(const RecordHead& head, const std::string& path);
  void Write(const RecordHead& head, std::string_view data);
  void Rename(const std::string& source, const std::string& target, bool is_link);
  void Note(const RecordHead& head);

  struct Handle {
    std::shared_ptr<testing::Inode> inode;
    bool is_data_synced = false;
  };
  const std::string trace_;
  size_t at_ = 0;
  testing::Disk disk_;
  std::map<uint32_t, Handle> handles_;
  uint64_t records_ = 0, begun_ = 0, returned_ = 0, durable_ = 0, failed_syncs_ = 0;
};

// Writes the files below `path` of the image into the real directory `target`, after removing the contents of
// `target`.
void Materialise(const testing::Disk& image, const std::string& path, const std::string& target);
// Equal contents have equal fingerprints.
uint64_t FingerprintOf(const testing::Disk& image);

}  // namespace mergedb::torture
