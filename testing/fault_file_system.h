// A file system in memory on which every fault of the catalogue can be had for a function call: crashes with any
// outcome that the rules allow, errors on the n-th call of a kind, full disks, flipped bits, a sync that lies.
//
//     FaultFileSystem fs;
//     auto db = Open({.env = {.file_system = &fs, ...}});
//     fs.SetOpHook([&](uint64_t op, const char* what, const std::string& path) {
//       auto image = fs.Crash(CrashMode::kBlockMix, CrashModel::kStrict, op);   // the power fails before this
//       CheckThatItRecovers(*image);                                            // an independent FaultFileSystem
//     });
//     fs.AddFault({.op = Op::kSync, .path_contains = ".seg", .nth = 3});        // the third sync of a segment fails
//
// Operations that change something are numbered from 1 (`ops`); the number is the same in every run of a deterministic
// test. What a crash may leave is written in crash_image.h. A failed sync behaves as Linux does: what it covered is
// seen by readers, never reaches the disk, and the next sync says OK; sync_after_failed_sync() counts who fell for it.
// Direct I/O with misaligned offset, length or memory stops the program, and so does a write to a file with two names.
// Handles, locks and mappings may outlive the file system object.
//
// THREADS: all methods from several threads, one lock inside. The hook runs on the calling thread, without the lock.
// Mapped memory is read while its owner may store to it: with several threads turn capture_mappings off, and call Crash
// at a quiet moment.
// Tested by tests/unit/testing/fault_file_system_test.cc.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "mergedb/env.h"
#include "testing/crash_image.h"

namespace mergedb::testing {

enum class Op : uint8_t {
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
  kAny,        // in a Fault: every call
  kAnyChange,  // in a Fault: every call that `ops` counts
};
const char* OpName(Op op);

struct Fault {
  Op op = Op::kAny;
  std::string path_contains = {};  // of a rename or a link, the source or the target
  uint64_t nth = 1;                // the first that fails, counted from when the fault was added
  bool sticky = false;             // and all after it
  Status status = Status::IOError("injected");
  size_t partial_bytes = 0;   // a write: how many of its bytes reach the file before it fails
  bool has_happened = false;  // the call takes effect and then reports the failure (not for reads and opens)
};

class FaultFileSystem final : public FileSystem {
 public:
  struct Options {
    uint64_t capacity_bytes = std::numeric_limits<uint64_t>::max();
    bool allow_mapping = true;     // false: Map is NotSupported
    bool is_append_only = false;   // a write that is not at the end, or another forbidden call, stops the program
    bool capture_mappings = true;  // remember earlier states of mapped memory for power cuts
    // A write to a file with this in its path is seen half done at the schedule point "half-written". Empty: none is.
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
  bool is_append_only() const override;

  // ---- crashes ----
  // What a restart would find if the machine (kKill: the process) stopped now. No locks, no faults, no hook; the same
  // options.
  std::unique_ptr<FaultFileSystem> Crash(CrashMode mode, CrashModel model, uint64_t seed) const;
  uint64_t ops() const;
  // Called before each operation that changes something, with its number.
  using OpHook = std::function<void(uint64_t op, const char* what, const std::string& path)>;
  void SetOpHook(OpHook hook);

  // ---- errors ----
  void AddFault(const Fault& fault);
  void ClearFaults();
  uint64_t faults_hit() const;
  uint64_t sync_after_failed_sync() const;

  // ---- space ----
  void SetCapacity(uint64_t bytes);  // writes that need more get NoSpace, after writing what fits
  uint64_t bytes_used() const;       // in whole 4 KiB blocks, deleted files that are still open included

  // ---- descriptors ----
  // Open files, locks and directories that are being read, at most; as the real file system, an open that finds no room closes idle
  // files (env/descriptors.h), tries once more, and is then Busy.
  void SetDescriptorsMax(uint64_t count);
  uint64_t descriptors() const;  // in use

  // ---- the test's own hands: not counted, never failing by injection, durable at once ----
  std::vector<std::string> Files() const;  // full paths, sorted
  Result<std::string> ReadWhole(const std::string& path) const;
  Status WriteWhole(const std::string& path, std::string_view bytes);  // creates the file; its directory must exist
  Status FlipBit(const std::string& path, uint64_t offset, int bit);
  // Overwrite bytes that are there; the rest of the file stays shared with its copies.
  Status PatchBytes(const std::string& path, uint64_t offset, std::string_view bytes);
  // A thread stands at the schedule point "half-written".
  bool is_half_written() const;
  // Of all names and bytes that programs see: images with equal fingerprints need checking once.
  uint64_t Fingerprint() const;

 private:
  struct State;
  class Descriptor;
  class OpenFile;
  class HeldLock;
  class LiveMapping;
  explicit FaultFileSystem(std::shared_ptr<State> state);

  const std::shared_ptr<State> state_;
};

}  // namespace mergedb::testing
