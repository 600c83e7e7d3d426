// A file system in memory that can inject every fault of the fault model: crashes with any permitted outcome, errors
// at the n-th call of a kind, full disks, flipped bits, syncs without effect.
//
//     FaultFileSystem fs;
//     auto db = Open({.env = {.file_system = &fs, ...}});
//     fs.SetOpHook([&](uint64_t op, const char* what, const std::string& path) {
//       auto image = fs.Crash(CrashMode::kBlockMix, CrashModel::kStrict, op);   // the power fails before this
//       CheckThatItRecovers(*image);                                            // an independent FaultFileSystem
//     });
//     fs.AddFault({.op = FileOp::kSync, .path_contains = ".seg", .nth = 3});        // the third sync fails
//
// Operations that change something have numbers from 1 (`ops`). A deterministic test gets the same numbers in every
// run. crash_image.h describes what a crash may leave. A failed sync behaves as on Linux: readers see the bytes that
// it covered, the disk never gets them, and the next sync returns OK. sync_after_failed_sync() counts such syncs,
// but not those of a file that was written again as a whole.
// The program stops at direct I/O with a misaligned offset, length or buffer, and at a write to a file with two names.
// Handles, locks and mappings may outlive the file system object.
//
// THREADS: all methods from several threads, with one lock inside. The hook runs on the calling thread, without the
// lock. The file system reads mapped memory while its owner may store to it: a test with several threads must set
// capture_mappings to false and must call Crash while no thread stores.
// Tests: tests/unit/testing/fault_file_system_test.cc.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "env/hold.h"
#include "mergedb/env.h"
#include "testing/crash_image.h"

namespace mergedb::testing {

enum class FileOp : uint8_t {
  kOpen,
  kCreate,
  kRead,
  kWrite,
  kTruncate,
  kSync,
  kClose,
  kMap,
  kSizeOf,
  kList,
  kLock,
  kRemove,
  kRename,
  kLink,
  kCreateDirectory,
  kRemoveDirectory,
  kSyncDirectory,
  kUnshare,
  kAllocate,
  kDeallocate,
  kAny,        // in a Fault: every call
  kAnyChange,  // in a Fault: every call that `ops` counts
};
const char* OpName(FileOp op);

struct Fault {
  FileOp op = FileOp::kAny;
  std::string path_contains = {};  // of a rename or a link: the source or the target
  uint64_t nth = 1;                // the first call that fails, counted from AddFault on
  bool sticky = false;             // all later calls fail too
  Status status = Status::IOError("injected");
  size_t partial_bytes = 0;   // of a write: how many bytes reach the file before it fails
  bool has_happened = false;  // the call takes effect and then reports the failure (not for reads and opens)
};

class FaultFileSystem final : public FileSystem, public env::Holds {
 public:
  struct Options {
    uint64_t capacity_bytes = std::numeric_limits<uint64_t>::max();
    bool allow_mapping = true;     // false: Map returns NotSupported
    bool maps_to_read = false;     // true: MapForReading gives the bytes that the file has at the call
    bool is_append_only = false;   // a write that is not at the end, or another forbidden call, stops the program
    bool capture_mappings = true;  // remembers earlier states of mapped memory for power cuts
    // A write to a file whose path contains this text happens in two halves. The schedule point "half-written" is
    // between them. Empty: no write is halved.
    std::string halves_writes_of = {};
  };
  FaultFileSystem() : FaultFileSystem(Options{}) {}
  explicit FaultFileSystem(const Options& options);
  ~FaultFileSystem() override;

  // ---- the interface under test ----
  Result<std::unique_ptr<File>> Open(const std::string& path, const FileOptions& options) override;
  Status Remove(const std::string& path) override;
  Status Rename(const std::string& source, const std::string& target) override;
  Status Link(const std::string& source, const std::string& target) override;
  Result<std::vector<std::string>> List(const std::string& directory) override;
  Status CreateDirectory(const std::string& path) override;
  Status RemoveDirectory(const std::string& path) override;
  Status SyncDirectory(const std::string& directory) override;
  Result<uint64_t> SizeOf(const std::string& path) override;
  Result<bool> IsDirectory(const std::string& path) override;
  Result<std::unique_ptr<FileLock>> Lock(const std::string& path) override;
  Result<env::HeldFile> OpenHeld(const std::string& path) override;
  bool IsHeld(const std::string& path) override;
  bool is_append_only() const override;
  uint64_t FreeMemoryBytes() override { return free_memory_bytes_; }
  void SetFreeMemory(uint64_t bytes) { free_memory_bytes_ = bytes; }

  // ---- crashes ----
  // The files that a restart finds if the machine (kKill: the process) stops now. The result has the same options, but
  // no locks, faults or hook.
  std::unique_ptr<FaultFileSystem> Crash(CrashMode mode, CrashModel model, uint64_t seed) const;
  uint64_t ops() const;
  // The hook runs before each operation that changes something; `op` is the number of the operation.
  using OpHook = std::function<void(uint64_t op, const char* what, const std::string& path)>;
  void SetOpHook(OpHook hook);

  // ---- errors ----
  void AddFault(const Fault& fault);
  void ClearFaults();
  uint64_t faults_hit() const;
  uint64_t sync_after_failed_sync() const;

  // ---- space ----
  void SetCapacity(uint64_t bytes);  // a write that needs more space writes the part that fits and returns NoSpace
  uint64_t bytes_used() const;       // in whole 4 KiB blocks; includes deleted files that are still open

  // ---- descriptors ----
  // The limit for open files, locks and directory listings together. If an open exceeds it, the file system closes idle
  // files (env/descriptors.h) and tries once more, then returns Busy, as the real file system does.
  void SetDescriptorsMax(uint64_t count);
  uint64_t descriptors() const;  // the number in use

  // False: from now on OpenHeld opens files and holds none, as on a file system without locks.
  void SetCanHold(bool can_hold);

  // ---- direct access for tests: not counted, no injected faults, durable at once ----
  std::vector<std::string> Files() const;  // full paths, sorted
  Result<std::string> ReadWhole(const std::string& path) const;
  // creates the file if necessary; its directory must exist
  Status WriteWhole(const std::string& path, std::string_view bytes);
  Status FlipBit(const std::string& path, uint64_t offset, int bit);
  // Overwrites existing bytes; the rest of the file stays shared with its copies.
  Status PatchBytes(const std::string& path, uint64_t offset, std::string_view bytes);
  // Whether a thread is at the schedule point "half-written".
  bool is_half_written() const;
  // Covers all names and bytes that programs see: a test needs to check only one of several images with equal
  // fingerprints.
  uint64_t Fingerprint() const;

 private:
  std::atomic<uint64_t> free_memory_bytes_{0};
  struct State;
  class Descriptor;
  class OpenFile;
  class HeldLock;
  class LiveMapping;
  explicit FaultFileSystem(std::shared_ptr<State> state);

  const std::shared_ptr<State> state_;
};

}  // namespace mergedb::testing
