#include "testing/fault_disk.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/sync.h"

namespace mergedb::testing {
namespace {

constexpr size_t kCapturesMax = 6;

// Calls visit(offset, bytes) for each chunk of `current` that differs from `base`.
template <typename Visit>
void ForEachChangedChunk(const CowBytes& current, const CowBytes& base, Visit&& visit) {
  char now[kChunkBytes];
  char then[kChunkBytes];
  for (uint64_t offset = 0; offset < current.size(); offset += kChunkBytes) {
    const size_t bytes = current.Read(offset, kChunkBytes, now);
    const bool is_same = base.Read(offset, kChunkBytes, then) == bytes && std::memcmp(now, then, bytes) == 0;
    if (!is_same) visit(offset, std::string_view(now, bytes));
  }
}

char* MapTwice(size_t bytes) {
  const int fd = memfd_create("mergedb_test", MFD_CLOEXEC);
  ASSERT(fd >= 0 && ftruncate(fd, static_cast<off_t>(bytes)) == 0, "no memory to mirror");
  void* reserved = mmap(nullptr, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT(reserved != MAP_FAILED, "no addresses to mirror");
  char* const base = static_cast<char*>(reserved);
  for (char* half : {base, base + bytes}) {
    ASSERT(mmap(half, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == half, "cannot mirror");
  }
  close(fd);
  return base;
}

// Mirrored memory for reuse. A crash test maps files ten thousands of times, and page faults in new memory would be a
// third of its time. After a fork, parent and child share the memory, so only the process that kept it takes it.
class MirroredPool {
 public:
  // Returns null if there is none of this size.
  char* Take(size_t bytes) {
    base::Lock lock(mutex_);
    const auto found = std::find_if(spare_.begin(), spare_.end(),
                                    [&](const Spare& each) { return each.bytes == bytes && each.process == getpid(); });
    if (found == spare_.end()) return nullptr;
    char* const base = found->base;
    *found = spare_.back();
    spare_.pop_back();
    return base;
  }
  // Returns false if there are enough.
  bool Keep(char* base, size_t bytes) {
    base::Lock lock(mutex_);
    if (spare_.size() == kSpareMax || bytes > kSpareBytesMax) return false;
    spare_.push_back({.base = base, .bytes = bytes, .process = getpid()});
    return true;
  }

 private:
  struct Spare {
    char* base;
    size_t bytes;
    pid_t process;
  };
  static constexpr size_t kSpareMax = 16;
  static constexpr size_t kSpareBytesMax = size_t{1} << 20;

  base::Mutex mutex_;
  std::vector<Spare> spare_;
};

// WHY never destroyed: a static object of a test may hold mapped files until the process ends.
MirroredPool& SpareMemory() {
  static MirroredPool& pool = *new MirroredPool;
  return pool;
}

}  // namespace

MirroredMemory::MirroredMemory(const CowBytes& content) : bytes_(content.size()) {
  base_ = SpareMemory().Take(bytes_);
  if (base_ == nullptr) base_ = MapTwice(bytes_);
  content.Read(0, bytes_, base_);  // overwrites all bytes
}

MirroredMemory::~MirroredMemory() {
  if (!SpareMemory().Keep(base_, bytes_)) munmap(base_, 2 * bytes_);
}

void ApplyChange(const Change& change, CowBytes* content) {
  if (change.bytes) {
    content->Write(change.offset, *change.bytes);
  } else {
    content->Resize(change.offset);
  }
}

const CowBytes& Inode::LastCapture() const {
  if (!captures.empty()) return captures.back();
  return durable.size() == size() ? durable : live;
}

CowBytes Inode::Current() const {
  if (!memory) return live;
  CowBytes current = LastCapture();
  current.Follow(memory->view());
  return current;
}

void Inode::WriteAt(uint64_t offset, std::string_view bytes) {
  if (memory) {
    ASSERT(offset + bytes.size() <= memory->view().size(), "a write behind the end of a mapped file");
    std::memcpy(memory->data() + offset, bytes.data(), bytes.size());
    return;
  }
  size_changed |= offset + bytes.size() > live.size();
  pending.push_back({.offset = offset, .bytes = std::make_shared<const std::string>(bytes)});
  ApplyChange(pending.back(), &live);
}

void Inode::Truncate(uint64_t size) {
  ASSERT(!memory, "a truncation of a mapped file");
  size_changed |= size != live.size();
  pending.push_back({.offset = size});
  ApplyChange(pending.back(), &live);
}

void Inode::Deallocate(uint64_t offset, uint64_t bytes) {
  if (memory) {
    std::memset(memory->data() + offset, 0, bytes);
  } else {
    pending.push_back({.offset = offset, .bytes = std::make_shared<const std::string>(bytes, '\0')});
    ApplyChange(pending.back(), &live);
  }
  live.Deallocate(offset, bytes);
}

void Inode::Sync() {
  durable_before = durable;
  is_synced_ever = true;
  const CowBytes current = Current();
  if (!has_lost) {
    durable = current;
  } else if (memory) {
    // Pages with stores since the failure are dirty again, so they are written. The other pages count as clean.
    ForEachChangedChunk(current, lost,
                        [this](uint64_t offset, std::string_view bytes) { durable.Write(offset, bytes); });
    lost = current;
  } else {
    for (const Change& change : pending) ApplyChange(change, &durable);
  }
  pending.clear();
  captures.clear();
  size_changed = false;
}

void Inode::LoseUnsynced() {
  has_lost = true;
  lost = Current();
  pending.clear();
  captures.clear();
}

void Inode::ForgetLossIfRewritten() {
  if (!has_lost || memory) return;
  std::map<uint64_t, uint64_t> written;  // offset -> end
  for (const Change& change : pending)
    if (change.bytes) written[change.offset] = std::max(written[change.offset], change.offset + change.bytes->size());
  uint64_t end = 0;
  for (const auto& [offset, write_end] : written) {
    if (offset > end) return;
    end = std::max(end, write_end);
  }
  has_lost = end < live.size();
}

void Inode::Map() {
  if (mappings++ == 0) memory = std::make_shared<MirroredMemory>(live);
}

void Inode::Unmap() {
  if (--mappings > 0) return;
  live = Current();
  memory.reset();
  captures.clear();
  // The differences to the disk become unsynced writes.
  size_changed |= live.size() != durable.size();
  ForEachChangedChunk(live, has_lost ? lost : durable, [this](uint64_t offset, std::string_view bytes) {
    pending.push_back({.offset = offset, .bytes = std::make_shared<const std::string>(bytes)});
  });
}

void Inode::Capture() {
  CowBytes now = LastCapture();
  if (!now.Follow(memory->view())) return;
  if (captures.size() == kCapturesMax) captures.erase(captures.begin());
  captures.push_back(std::move(now));
}

void ApplyNameOp(const NameOp& op, Inode::Entries* entries) {
  if (op.is_link) {
    (*entries)[op.name] = op.inode;
    return;
  }
  const auto found = entries->find(op.name);
  if (found != entries->end() && found->second == op.inode) entries->erase(found);
}

Disk::Place Disk::Find(const std::string& path) const {
  Place place{.directory = nullptr, .name = "", .inode = root};
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    std::string name = path.substr(begin, end - begin);
    begin = end + 1;
    if (name.empty() || name == ".") continue;
    if (!place.inode || !place.inode->is_directory) return {nullptr, std::move(name), nullptr};
    place.directory = std::exchange(place.inode, nullptr);
    const auto found = place.directory->entries.find(name);
    if (found != place.directory->entries.end()) place.inode = found->second;
    place.name = std::move(name);
  }
  return place;
}

void Disk::Link(const Place& place, const std::shared_ptr<Inode>& inode) {
  if (place.inode) {  // a rename onto an existing name: the link operation replaces the entry atomically
    const uint64_t before = Occupied(*place.inode);
    --place.inode->links;
    Account(*place.inode, before);
  }
  const uint64_t before = Occupied(*inode);
  ++inode->links;
  Account(*inode, before);
  place.directory->entries[place.name] = inode;
  pending_names.push_back({.op = op, .directory = place.directory, .name = place.name, .inode = inode});
}

void Disk::Unlink(const Place& place) {
  const uint64_t before = Occupied(*place.inode);
  --place.inode->links;
  Account(*place.inode, before);
  place.directory->entries.erase(place.name);
  pending_names.push_back(
      {.op = op, .directory = place.directory, .name = place.name, .inode = place.inode, .is_link = false});
}

void Disk::SyncDirectory(const std::shared_ptr<Inode>& directory) {
  std::erase_if(pending_names, [&](const NameOp& name_op) {
    if (name_op.directory != directory) return false;
    ApplyNameOp(name_op, &directory->durable_entries);
    return true;
  });
  journal_op = op;
}

void Disk::SyncFile(const std::shared_ptr<Inode>& inode) {
  // the sync writes metadata, so it commits the journal and the names in it
  if (inode->size_changed) journal_op = op;
  inode->Sync();
}

}  // namespace mergedb::testing
