// The state of a simulated disk. For each file it holds the content that programs see, the content that survives a
// power cut, and the changes between the two in their order. It has no locks, errors or handles: fault_file_system
// adds those. crash_image computes the Disk that a crash leaves.
//
//     file:       durable --change--change--change--> live        Sync: durable equals live
//                    \__ mapped: durable --capture--capture--> memory, in pieces, in any order
//     directory:  durable_entries --name op--name op--> entries   SyncDirectory: durable_entries equal entries
//
// A failed sync drops the changes that it covers, but leaves them in `live`: programs still see them, the disk never
// gets them, and the next sync returns OK. Linux behaves like this.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "testing/cow_bytes.h"

namespace mergedb::testing {

// Memory that is mapped twice in a row, as the real file system maps it.
class MirroredMemory {
 public:
  explicit MirroredMemory(const CowBytes& content);
  ~MirroredMemory();
  MirroredMemory(const MirroredMemory&) = delete;
  MirroredMemory& operator=(const MirroredMemory&) = delete;

  char* data() const { return base_; }
  std::string_view view() const { return {base_, bytes_}; }

 private:
  size_t bytes_;
  char* base_;
};

// A write; without `bytes` a truncation to `offset`.
struct Change {
  uint64_t offset = 0;
  std::shared_ptr<const std::string> bytes = {};
};
void ApplyChange(const Change& change, CowBytes* content);

struct Inode {
  explicit Inode(bool is_a_directory) : is_directory(is_a_directory) {}

  // ---- a file ----
  CowBytes Current() const;  // `live`, or the mapped memory
  uint64_t size() const { return memory ? memory->view().size() : live.size(); }
  void WriteAt(uint64_t offset, std::string_view bytes);
  void Truncate(uint64_t size);
  void Deallocate(uint64_t offset, uint64_t bytes);
  void Sync();
  void LoseUnsynced();  // a sync failed
  // If the whole file was written again since a sync failed, the disk can get it. Call it before a sync.
  void ForgetLossIfRewritten();
  void Map();
  void Unmap();
  const CowBytes& LastCapture() const;
  void Capture();  // remembers the mapped memory as it is now, because write-back may begin here

  const bool is_directory;
  CowBytes live;
  CowBytes durable;
  CowBytes durable_before;  // `durable` before the last sync
  std::vector<Change> pending;
  bool is_synced_ever = false;
  bool has_lost = false;     // `live` holds bytes that the disk never gets
  bool size_changed = true;  // since the last sync; true for a new file, because its first sync must write metadata
  CowBytes lost;             // the content of a mapped file at the time of the failed sync
  std::shared_ptr<MirroredMemory> memory;
  std::vector<CowBytes> captures;
  int mappings = 0;
  int holders = 0;  // open files of env::Holds
  int links = 0;    // number of names in `entries`, not in `durable_entries`
  int handles = 0;

  // ---- a directory ----
  using Entries = std::map<std::string, std::shared_ptr<Inode>>;
  Entries entries;
  Entries durable_entries;
};

// A name that was added to a directory or removed from it. A rename is two name operations with the same number.
struct NameOp {
  uint64_t op = 0;
  std::shared_ptr<Inode> directory = {};
  std::string name = {};
  std::shared_ptr<Inode> inode = {};
  bool is_link = true;
};
void ApplyNameOp(const NameOp& op, Inode::Entries* entries);

struct Disk {
  Disk() : root(std::make_shared<Inode>(true)) {}

  struct Place {
    std::shared_ptr<Inode> directory;  // null: the directory does not exist
    std::string name;
    std::shared_ptr<Inode> inode;  // null: the entry does not exist
  };
  Place Find(const std::string& path) const;

  void Link(const Place& place, const std::shared_ptr<Inode>& inode);
  void Unlink(const Place& place);
  void SyncDirectory(const std::shared_ptr<Inode>& directory);
  void SyncFile(const std::shared_ptr<Inode>& inode);

  // Call it after every change of an inode's allocation, links or handles. `before` is Occupied() before the change.
  void Account(const Inode& inode, uint64_t before) { used_bytes += Occupied(inode) - before; }
  static uint64_t Occupied(const Inode& inode) {
    return inode.links > 0 || inode.handles > 0 ? inode.live.allocated_bytes() : 0;
  }

  uint64_t op = 0;                    // the number of the current operation
  uint64_t journal_op = 0;            // a journaling file system keeps every name operation up to this one
  std::vector<NameOp> pending_names;  // in order; not yet durable on a strict file system
  std::shared_ptr<Inode> root;
  uint64_t used_bytes = 0;
};

}  // namespace mergedb::testing
