#include "testing/fault_file_system.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "base/schedule_point.h"
#include "base/sync.h"
#include "env/descriptors.h"
#include "testing/fault_state.h"

namespace mergedb::testing {
namespace {

bool IsChange(FileOp op) {
  switch (op) {
    case FileOp::kCreate:
    case FileOp::kWrite:
    case FileOp::kTruncate:
    case FileOp::kSync:
    case FileOp::kAllocate:
    case FileOp::kDeallocate:
    case FileOp::kRemove:
    case FileOp::kRename:
    case FileOp::kLink:
    case FileOp::kCreateDirectory:
    case FileOp::kRemoveDirectory:
    case FileOp::kSyncDirectory: return true;
    default: return false;
  }
}

bool Contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Status NoDescriptor(const std::string& path) { return Status::Busy(path + ": open: Too many open files"); }

Status Missing(const std::string& path) { return Status::NotFound(path + ": No such file or directory"); }

}  // namespace

const char* OpName(FileOp op) {
  static constexpr const char* kNames[] = {"open",     "create",     "read",  "write", "truncate", "sync",
                                           "close",    "map",        "size",  "list",  "lock",     "remove",
                                           "rename",   "link",       "mkdir", "rmdir", "syncdir",  "unshare",
                                           "allocate", "deallocate", "any",   "change"};
  return kNames[static_cast<size_t>(op)];
}

std::optional<Fault> FaultFileSystem::State::Begin(FileOp op, const std::string& path, const std::string& second_path) {
  SCHEDULE_POINT(OpName(op));
  base::Lock lock(mutex);
  if (IsChange(op)) {
    const uint64_t number = ++disk.op;
    CaptureMappings();
    if (hook) {
      const OpHook call = hook;
      lock.Unlock();
      call(number, OpName(op), path);
      lock.Relock();
    }
  }
  return MatchFault(op, path, second_path);
}

std::optional<Fault> FaultFileSystem::State::MatchFault(FileOp op, const std::string& path,
                                                        const std::string& second_path) {
  std::optional<Fault> matched;
  for (ArmedFault& armed : faults) {
    const Fault& fault = armed.fault;
    const bool is_meant =
        fault.op == op || fault.op == FileOp::kAny || (fault.op == FileOp::kAnyChange && IsChange(op));
    const bool is_there = Contains(path, fault.path_contains) || Contains(second_path, fault.path_contains);
    if (!is_meant || !is_there) continue;
    const uint64_t call = ++armed.calls;
    if (!matched && (call == fault.nth || (fault.sticky && call > fault.nth))) matched = fault;
  }
  if (matched) {
    ++faults_hit;
    matched->status = matched->status.WithContext(path + ": " + OpName(op));
  }
  return matched;
}

// Closes idle files without the lock, because their Close() calls this file system.
bool FaultFileSystem::State::TakeDescriptor() {
  for (const bool may_make_room : {true, false}) {
    base::Lock lock(mutex);
    if (descriptors < descriptors_max) {
      ++descriptors;
      return true;
    }
    lock.Unlock();
    if (may_make_room) env::CloseIdleFiles();
  }
  return false;
}

// Captures a large mapping less often, so that the cost stays at one or two microseconds per operation.
void FaultFileSystem::State::CaptureMappings() {
  if (!options.capture_mappings) return;
  std::erase_if(mapped, [](const std::weak_ptr<Inode>& inode) { return inode.expired(); });
  for (const std::weak_ptr<Inode>& weak : mapped) {
    const std::shared_ptr<Inode> inode = weak.lock();
    if (!inode || !inode->memory) continue;
    const uint64_t period = std::max<uint64_t>(1, inode->size() >> 16);
    if (disk.op % period == 0) inode->Capture();
  }
}

// ---- names ----

FaultFileSystem::FaultFileSystem(const Options& options) : state_(std::make_shared<State>()) {
  state_->options = options;
}
FaultFileSystem::FaultFileSystem(std::shared_ptr<State> state) : state_(std::move(state)) {}
FaultFileSystem::~FaultFileSystem() = default;

bool FaultFileSystem::is_append_only() const { return state_->options.is_append_only; }

Result<std::unique_ptr<File>> FaultFileSystem::Open(const std::string& path, const FileOptions& options) {
  const bool is_create = options.access == Access::kCreate;
  ASSERT(!is_append_only() || is_create || options.access == Access::kRead, "an append-only file is written once");
  if (const auto fault = state_->Begin(is_create ? FileOp::kCreate : FileOp::kOpen, path)) return fault->status;
  Descriptor descriptor(state_);
  if (!descriptor) return NoDescriptor(path);
  base::Lock lock(state_->mutex);
  Disk& disk = state_->disk;
  Disk::Place place = disk.Find(path);
  if (is_create) {
    if (!place.directory) return Missing(path);
    if (place.inode) return Status::InvalidArgument(path + ": open: File exists");
    const auto inode = std::make_shared<Inode>(false);
    disk.Link(place, inode);
    place.inode = inode;
  }
  if (!place.inode) return Missing(path);
  if (place.inode->is_directory) return Status::IOError(path + ": open: not a regular file");
  if (options.access == Access::kReuse && place.inode->links != 1) {
    return Status::InvalidArgument(path + ": open to write again: expected 1 name, found " +
                                   std::to_string(place.inode->links));
  }
  if (options.access == Access::kReuse && place.inode->holders > 0) {
    return Status::InvalidArgument(path + ": open to write again: a reader holds the file");
  }
  ++place.inode->handles;
  return std::unique_ptr<File>(new OpenFile(state_, place.inode, std::move(descriptor), path, options));
}

Result<env::HeldFile> FaultFileSystem::OpenHeld(const std::string& path) {
  ASSIGN_OR_RETURN(auto file, Open(path, {}));
  base::Lock lock(state_->mutex);
  const bool is_held = state_->can_hold;
  if (is_held) static_cast<OpenFile&>(*file).Hold();
  return env::HeldFile{.file = std::move(file), .is_held = is_held};
}

void FaultFileSystem::SetCanHold(bool can_hold) {
  base::Lock lock(state_->mutex);
  state_->can_hold = can_hold;
}

bool FaultFileSystem::IsHeld(const std::string& path) {
  base::Lock lock(state_->mutex);
  const std::shared_ptr<Inode> inode = state_->disk.Find(path).inode;
  return inode && (inode->holders > 0 || state_->locked.contains(inode.get()));
}

Status FaultFileSystem::Remove(const std::string& path) {
  const auto fault = state_->Begin(FileOp::kRemove, path);
  if (fault && !fault->has_happened) return fault->status;
  base::Lock lock(state_->mutex);
  const Disk::Place place = state_->disk.Find(path);
  if (!place.inode) return Missing(path);
  if (place.inode->is_directory) return Status::IOError(path + ": unlink: Is a directory");
  state_->disk.Unlink(place);
  return fault ? fault->status : Status();
}

Status FaultFileSystem::Rename(const std::string& source, const std::string& target) {
  const auto fault = state_->Begin(FileOp::kRename, source, target);
  if (fault && !fault->has_happened) return fault->status;
  base::Lock lock(state_->mutex);
  Disk& disk = state_->disk;
  const Disk::Place from = disk.Find(source);
  const Disk::Place to = disk.Find(target);
  if (!from.inode || !from.directory) return Missing(source);
  if (!to.directory) return Missing(target);
  if (to.inode && to.inode != from.inode) {
    const bool fits = to.inode->is_directory == from.inode->is_directory && to.inode->entries.empty();
    if (!fits) return Status::IOError(source + ": rename to " + target + ": the target is in the way");
  }
  if (to.inode != from.inode) {
    disk.Link(to, from.inode);
    disk.Unlink(from);
  }
  return fault ? fault->status : Status();
}

Status FaultFileSystem::Link(const std::string& source, const std::string& target) {
  if (is_append_only()) return FileSystem::Link(source, target);
  const auto fault = state_->Begin(FileOp::kLink, source, target);
  if (fault && !fault->has_happened) return fault->status;
  base::Lock lock(state_->mutex);
  const Disk::Place from = state_->disk.Find(source);
  const Disk::Place to = state_->disk.Find(target);
  if (!from.inode || from.inode->is_directory) return Missing(source);
  if (!to.directory) return Missing(target);
  if (to.inode) return Status::InvalidArgument(target + ": link: File exists");
  state_->disk.Link(to, from.inode);
  return fault ? fault->status : Status();
}

Result<std::vector<std::string>> FaultFileSystem::List(const std::string& directory) {
  if (const auto fault = state_->Begin(FileOp::kList, directory)) return fault->status;
  const Descriptor descriptor(state_);
  if (!descriptor) return NoDescriptor(directory);
  base::Lock lock(state_->mutex);
  const std::shared_ptr<Inode> inode = state_->disk.Find(directory).inode;
  if (!inode) return Missing(directory);
  if (!inode->is_directory) return Status::IOError(directory + ": opendir: Not a directory");
  std::vector<std::string> names;
  for (const auto& [name, entry] : inode->entries) names.push_back(name);
  return names;
}

Status FaultFileSystem::CreateDirectory(const std::string& path) {
  const auto fault = state_->Begin(FileOp::kCreateDirectory, path);
  if (fault && !fault->has_happened) return fault->status;
  base::Lock lock(state_->mutex);
  const Disk::Place place = state_->disk.Find(path);
  if (place.inode && !place.inode->is_directory) return Status::InvalidArgument(path + ": mkdir: File exists");
  if (!place.inode && !place.directory) return Missing(path);
  if (!place.inode) state_->disk.Link(place, std::make_shared<Inode>(true));
  return fault ? fault->status : Status();
}

Status FaultFileSystem::RemoveDirectory(const std::string& path) {
  const auto fault = state_->Begin(FileOp::kRemoveDirectory, path);
  if (fault && !fault->has_happened) return fault->status;
  base::Lock lock(state_->mutex);
  const Disk::Place place = state_->disk.Find(path);
  if (!place.inode || !place.directory) return Missing(path);
  if (!place.inode->is_directory) return Status::IOError(path + ": rmdir: Not a directory");
  if (!place.inode->entries.empty()) return Status::IOError(path + ": rmdir: Directory not empty");
  state_->disk.Unlink(place);
  return fault ? fault->status : Status();
}

Status FaultFileSystem::SyncDirectory(const std::string& directory) {
  const auto fault = state_->Begin(FileOp::kSyncDirectory, directory);
  if (fault && !fault->has_happened) return fault->status;
  const Descriptor descriptor(state_);
  if (!descriptor) return NoDescriptor(directory);
  base::Lock lock(state_->mutex);
  const std::shared_ptr<Inode> inode = state_->disk.Find(directory).inode;
  if (!inode || !inode->is_directory) return Missing(directory);
  state_->disk.SyncDirectory(inode);
  return fault ? fault->status : Status();
}

Result<uint64_t> FaultFileSystem::SizeOf(const std::string& path) {
  if (const auto fault = state_->Begin(FileOp::kSizeOf, path)) return fault->status;
  base::Lock lock(state_->mutex);
  const std::shared_ptr<Inode> inode = state_->disk.Find(path).inode;
  if (!inode) return Missing(path);
  if (inode->is_directory) return Status::InvalidArgument(path + ": stat: not a regular file");
  return inode->size();
}

Result<bool> FaultFileSystem::IsDirectory(const std::string& path) {
  if (const auto fault = state_->Begin(FileOp::kSizeOf, path)) return fault->status;
  base::Lock lock(state_->mutex);
  const std::shared_ptr<Inode> inode = state_->disk.Find(path).inode;
  return inode && inode->is_directory;
}

Result<std::unique_ptr<FileLock>> FaultFileSystem::Lock(const std::string& path) {
  if (const auto fault = state_->Begin(FileOp::kLock, path)) return fault->status;
  Descriptor descriptor(state_);
  if (!descriptor) return NoDescriptor(path);
  base::Lock lock(state_->mutex);
  Disk::Place place = state_->disk.Find(path);
  if (!place.directory) return Missing(path);
  if (!place.inode) {
    const auto inode = std::make_shared<Inode>(false);
    state_->disk.Link(place, inode);
    place.inode = inode;
  }
  if (place.inode->is_directory) return Status::InvalidArgument(path + ": lock: not a regular file");
  if (!state_->locked.insert(place.inode.get()).second) return Status::Busy(path + ": lock: held by this process");
  return std::unique_ptr<FileLock>(new HeldLock(state_, place.inode, std::move(descriptor)));
}

// ---- crashes, faults, space ----

std::unique_ptr<FaultFileSystem> FaultFileSystem::Crash(CrashMode mode, CrashModel model, uint64_t seed) const {
  auto state = std::make_shared<State>();
  base::Lock lock(state_->mutex);
  state->options = state_->options;
  state->disk = CrashImage(state_->disk, {.mode = mode, .model = model, .seed = seed});
  return std::unique_ptr<FaultFileSystem>(new FaultFileSystem(std::move(state)));
}

uint64_t FaultFileSystem::ops() const {
  base::Lock lock(state_->mutex);
  return state_->disk.op;
}

void FaultFileSystem::SetOpHook(OpHook hook) {
  base::Lock lock(state_->mutex);
  state_->hook = std::move(hook);
}

void FaultFileSystem::AddFault(const Fault& fault) {
  ASSERT(fault.nth > 0 && !fault.status.ok(), "a fault counts from 1 and needs an error");
  base::Lock lock(state_->mutex);
  state_->faults.push_back({fault});
}

void FaultFileSystem::ClearFaults() {
  base::Lock lock(state_->mutex);
  state_->faults.clear();
}

uint64_t FaultFileSystem::faults_hit() const {
  base::Lock lock(state_->mutex);
  return state_->faults_hit;
}

uint64_t FaultFileSystem::sync_after_failed_sync() const {
  base::Lock lock(state_->mutex);
  return state_->sync_after_failed_sync;
}

void FaultFileSystem::SetDescriptorsMax(uint64_t count) {
  base::Lock lock(state_->mutex);
  state_->descriptors_max = count;
}

uint64_t FaultFileSystem::descriptors() const {
  base::Lock lock(state_->mutex);
  return state_->descriptors;
}

void FaultFileSystem::SetCapacity(uint64_t bytes) {
  base::Lock lock(state_->mutex);
  state_->options.capacity_bytes = bytes;
}

uint64_t FaultFileSystem::bytes_used() const {
  base::Lock lock(state_->mutex);
  return state_->disk.used_bytes;
}

// ---- direct access for tests ----

namespace {

// Calls visit(path, inode) for every file and directory below `directory`.
template <typename Visit>
void Walk(const Inode& directory, const std::string& path, Visit&& visit) {
  for (const auto& [name, inode] : directory.entries) {
    const std::string inner = path + "/" + name;
    visit(inner, *inode);
    if (inode->is_directory) Walk(*inode, inner, visit);
  }
}

}  // namespace

std::vector<std::string> FaultFileSystem::Files() const {
  base::Lock lock(state_->mutex);
  std::vector<std::string> paths;
  Walk(*state_->disk.root, "", [&](const std::string& path, const Inode& inode) {
    if (!inode.is_directory) paths.push_back(path);
  });
  std::sort(paths.begin(), paths.end());
  return paths;
}

Result<std::string> FaultFileSystem::ReadWhole(const std::string& path) const {
  base::Lock lock(state_->mutex);
  const std::shared_ptr<Inode> inode = state_->disk.Find(path).inode;
  if (!inode || inode->is_directory) return Missing(path);
  return inode->Current().ToString();
}

Status FaultFileSystem::WriteWhole(const std::string& path, std::string_view bytes) {
  base::Lock lock(state_->mutex);
  Disk& disk = state_->disk;
  Disk::Place place = disk.Find(path);
  if (!place.directory) return Missing(path);
  if (!place.inode) {
    const auto inode = std::make_shared<Inode>(false);
    disk.Link(place, inode);
    disk.pending_names.pop_back();
    place.directory->durable_entries[place.name] = place.inode = inode;
  }
  Inode& inode = *place.inode;
  ASSERT(!inode.is_directory && !inode.memory, "not a file to be rewritten");
  const uint64_t before = Disk::Occupied(inode);
  inode.live = {};
  inode.live.Write(0, bytes);
  inode.durable = inode.durable_before = inode.live;
  inode.pending.clear();
  inode.has_lost = inode.size_changed = false;
  disk.Account(inode, before);
  return {};
}

Status FaultFileSystem::FlipBit(const std::string& path, uint64_t offset, int bit) {
  char byte = 0;
  {
    base::Lock lock(state_->mutex);
    const std::shared_ptr<Inode> inode = state_->disk.Find(path).inode;
    if (!inode || inode->is_directory) return Missing(path);
    if (offset >= inode->size()) return Status::InvalidArgument(path + ": no byte at " + std::to_string(offset));
    inode->Current().Read(offset, 1, &byte);
  }
  byte ^= static_cast<char>(1 << bit);
  return PatchBytes(path, offset, {&byte, 1});
}

Status FaultFileSystem::PatchBytes(const std::string& path, uint64_t offset, std::string_view bytes) {
  base::Lock lock(state_->mutex);
  const std::shared_ptr<Inode> inode = state_->disk.Find(path).inode;
  if (!inode || inode->is_directory) return Missing(path);
  if (offset > inode->size() || bytes.size() > inode->size() - offset) {
    return Status::InvalidArgument(path + ": no " + std::to_string(bytes.size()) + " bytes at " +
                                   std::to_string(offset));
  }
  if (inode->memory) bytes.copy(inode->memory->data() + offset, bytes.size());
  for (CowBytes* content : {&inode->live, &inode->durable}) {
    const uint64_t end = std::min<uint64_t>(offset + bytes.size(), content->size());
    if (offset < end) content->Write(offset, bytes.substr(0, end - offset));
  }
  return {};
}

bool FaultFileSystem::is_half_written() const {
  base::Lock lock(state_->mutex);
  return state_->is_half_written;
}

uint64_t FaultFileSystem::Fingerprint() const {
  base::Lock lock(state_->mutex);
  uint64_t sum = 0;
  Walk(*state_->disk.root, "", [&](const std::string& path, const Inode& inode) {
    const uint64_t content = inode.is_directory ? 1 : inode.Current().Fingerprint();
    sum = (sum ^ content ^ std::hash<std::string>{}(path)) * 0x9E3779B97F4A7C15u;
  });
  return sum;
}

}  // namespace mergedb::testing
