// What a simulated disk remembers: for each file what programs see and what would survive, and everything in between in
// the order in which it happened. No locks, no errors, no handles: fault_file_system adds those. crash_image turns a
// Disk into the Disk that a crash would leave.
//
//     file:       durable --change--change--change--> live        Sync: durable catches up
//                    \__ mapped: durable --capture--capture--> memory, in pieces, in any order
//     directory:  durable_entries --name op--name op--> entries   SyncDirectory: durable_entries catches up
//
// Lost: a failed sync drops the changes that it covered without undoing them in `live`: programs go on seeing them, the
// disk never will, and the next sync says OK (what Linux does).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "testing/cow_bytes.h"

namespace mergedb::testing {

// Memory mapped twice in a row, as the real file system does it.
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

// A write or, without bytes, a truncation to `offset`.
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
  void Sync();
  void LoseUnsynced();  // a sync that failed
  void Map();
  void Unmap();
  const CowBytes& LastCapture() const;
  void Capture();  // remember the mapped memory as it is now: write-back might have begun here

  const bool is_directory;
  CowBytes live;
  CowBytes durable;
  CowBytes durable_before;  // what the last sync found
  std::vector<Change> pending;
  bool is_synced_ever = false;
  bool has_lost = false;     // live holds what the disk never will
  bool size_changed = true;  // since the last sync; true at birth: the sync must write metadata
  CowBytes lost;             // a mapped file at the time of the sync that failed
  std::shared_ptr<MirroredMemory> memory;
  std::vector<CowBytes> captures;
  int mappings = 0;
  int links = 0;  // in entries, not in durable_entries
  int handles = 0;

  // ---- a directory ----
  using Entries = std::map<std::string, std::shared_ptr<Inode>>;
  Entries entries;
  Entries durable_entries;
};

// A name that appeared in a directory or went. A rename is two of them with one op number.
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
    std::shared_ptr<Inode> directory;  // null: no such directory
    std::string name;
    std::shared_ptr<Inode> inode;  // null: no such entry
  };
  Place Find(const std::string& path) const;

  void Link(const Place& place, const std::shared_ptr<Inode>& inode);
  void Unlink(const Place& place);
  void SyncDirectory(const std::shared_ptr<Inode>& directory);
  void SyncFile(const std::shared_ptr<Inode>& inode);

  // Call around whatever changes an inode's allocation, links or handles.
  void Account(const Inode& inode, uint64_t before) { used_bytes += Occupied(inode) - before; }
  static uint64_t Occupied(const Inode& inode) {
    return inode.links > 0 || inode.handles > 0 ? inode.live.allocated_bytes() : 0;
  }

  uint64_t op = 0;                    // the number of the operation under way
  uint64_t journal_op = 0;            // a journaling file system keeps every name op up to this one
  std::vector<NameOp> pending_names;  // in order, not yet durable for a strict file system
  std::shared_ptr<Inode> root;
  uint64_t used_bytes = 0;
};

}  // namespace mergedb::testing
