// A trace (trace.h) on the model of a disk that mergedb's own crash tests use (testing/fault_disk.h, testing/crash_image.h): step by
// step, so that a crash can be had after any record.
#pragma once

#include <map>
#include <string>

#include "testing/crash_image.h"
#include "torture/trace.h"
#include "torture/workload.h"

namespace mergedb::torture {

class Replay {
 public:
  // `directory`, as the trace names it, is there and durable before the first record.
  Replay(std::string trace, const std::string& directory);

  // Take in the next record. False at the end. `*changed`: a crash may now leave something that it could not before.
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

// Write what is below `path` of the image into the real directory `target`, which is emptied first.
void Materialise(const testing::Disk& image, const std::string& path, const std::string& target);
// Equal contents have equal fingerprints.
uint64_t FingerprintOf(const testing::Disk& image);

}  // namespace mergedb::torture
