// What happens if the system cannot read a page of a mapped file: an I/O error of the disk, or a file that became
// shorter.
//
//     a load or a store to such a page ──► SIGBUS ──► the handler of this file
//         the address is guarded:  has_failed(), faults.Note(), a page of zeros at the address; the instruction goes on
//         else:                    the handler that was there before
//
// The reader looks at its MappedFaults after the read (base/mapped_faults.h); the WAL looks at has_failed() after a
// store. docs/decisions/0072-mapped-by-default.md has the alternatives.
//
// The handler is installed with the first guard. If the program installs another one later, the next guard puts this
// one in front of it again. It runs on the thread's signal stack if it has one (Go). A thread that blocks SIGBUS is
// killed by the kernel.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/mapped_faults.h"
#include "mergedb/env.h"

namespace mergedb::env {

// Guards mapped bytes. THREADS: any. It must live as long as any thread uses them.
class FaultGuard {
 public:
  enum class Use {
    kReads,
    kWrites,         // the bytes are stored, too; the file is mapped twice in a row
    kGivesPointers,  // read only; a fault outside of a base::MappedRead goes to the handler before, which kills the process
  };
  // The file at `path` is mapped at `data`. Both `data` and `size` are multiples of the page size, or a part of a page
  // follows that nothing else uses.
  FaultGuard(const char* data, size_t size, std::string path, std::shared_ptr<base::MappedFaults> faults, Use use);
  ~FaultGuard();
  FaultGuard(const FaultGuard&) = delete;
  FaultGuard& operator=(const FaultGuard&) = delete;

  const char* data() const { return data_; }
  size_t size() const { return size_; }
  // True: some bytes are zeros that the file does not have, and what is stored there does not reach the file.
  bool has_failed() const { return has_failed_.load(std::memory_order_acquire); }

  // True: a page of zeros is at `address`. For the signal handler.
  bool TakeFault(const char* address);
  // Counts a fault at this place: its bytes are not those of the file any more.
  void Fail(uint64_t offset);

 private:
  const char* const data_;
  const size_t size_;
  const std::string path_;
  const std::shared_ptr<base::MappedFaults> faults_;
  const Use use_;
  std::atomic<bool> has_failed_{false};
};

// How many guards the process has.
size_t guarded_count();

// A file that is mapped for reading, and guarded.
class MappedFile {
 public:
  MappedFile(std::unique_ptr<ReadMapping> mapping, std::string path, std::shared_ptr<base::MappedFaults> faults,
             bool gives_pointers)
      : mapping_(std::move(mapping)),
        guard_(mapping_->data(), mapping_->size(), std::move(path), std::move(faults),
               gives_pointers ? FaultGuard::Use::kGivesPointers : FaultGuard::Use::kReads) {}

  const char* data() const { return guard_.data(); }
  size_t size() const { return guard_.size(); }
  // True: use the mapping no longer.
  bool has_failed() const { return guard_.has_failed(); }
  // The caller found bytes at `offset` that the file cannot have. WHY: if another program cuts the file within a page,
  // the kernel puts zeros in the rest of it, and raises no signal.
  void Fail(uint64_t offset) { guard_.Fail(offset); }

 private:
  const std::unique_ptr<ReadMapping> mapping_;
  FaultGuard guard_;  // destroyed first
};

}  // namespace mergedb::env
